"""What was meant by a name that is not known: as other libraries call it, or nearly spelt."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

# names elsewhere, and what the same thing is called here
ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "absolute": ("absolute_error", "mae", "l1_loss", "lad"),
    "crammer_singer": ("multiclass_hinge", "multi_margin"),
    "dual_cd": ("liblinear", "sdca", "cd", "coordinate_descent"),
    "elastic_net": ("elasticnet", "enet", "l1_l2"),
    "epsilon_insensitive": ("svr", "epsilon"),
    "exponential": ("boosting", "exp"),
    "f_beta": ("f1", "f1_score", "fbeta"),
    "f1": ("f1_score", "f_score", "f_measure"),
    "l1": ("lasso",),
    "l2": ("ridge", "tikhonov"),
    "lbfgs": ("bfgs", "l-bfgs", "l_bfgs"),
    "least_squares": ("cholesky", "svd", "lsqr"),
    "logistic": ("log_loss", "log", "logloss", "bce", "binary_crossentropy", "deviance"),
    "matthews": ("mcc", "matthews_corrcoef"),
    "newton": ("newton-cholesky", "irls"),
    "newton_cg": ("newton-cg", "tron"),
    "novelty": ("one_class", "oneclass", "one_class_svm"),
    "quantile": ("pinball", "pinball_loss", "tilted"),
    "poly": ("polynomial",),
    "rbf": ("gaussian", "gauss", "radial", "squared_exponential"),
    "roc_area": ("auc", "roc_auc", "auroc"),
    "smoothed_hinge": ("modified_huber",),
    "smo": ("libsvm",),
    "softmax": ("multinomial", "cross_entropy", "crossentropy", "categorical_crossentropy"),
    "squared": ("squared_error", "squared_loss", "mse", "l2_loss", "least_squares", "ols"),
    "squared_hinge": ("l2svm", "hinge_squared"),
}


def meant(name: str, known: Iterable[str]) -> str:
    """A question to be put behind an error: which of the known names was meant? Empty without a guess."""
    known, asked = list(known), name.lower().replace(" ", "_")
    guess = next((own for own, others in ELSEWHERE.items() if own in known and asked in others), None)
    if guess is None:
        near = get_close_matches(asked.replace("-", "_"), known, n=1, cutoff=0.6)
        guess = near[0] if near else None
    return "" if guess is None else f"; did you mean {guess!r}?"
