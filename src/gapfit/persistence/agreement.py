"""What was read of a fit must agree in itself: every array has the size that the others ask for."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gapfit.persistence.container import need


def check_linear(fit: dict[str, Any]) -> None:
    """The attributes agree on the number of features d and of parts, which are problems that were solved."""
    d, coef, classes = fit["n_features_in_"], fit["coef_"], fit.get("classes_")
    thresholds = fit.get("thresholds_")  # of a single part, one less than there are classes
    several = classes is not None and (len(classes) != 2 or fit.get("multilabel_", False))
    parts = len(classes) if classes is not None and several and thresholds is None else 1
    if classes is None and np.ndim(coef) == 2:  # several targets, or several quantiles of one
        parts = len(coef)
    names = fit.get("feature_names_in_")
    agree = {
        "coef_": d > 0 and np.atleast_2d(coef).shape == (parts, d),
        "intercept_": thresholds is not None or _fits_in(fit["intercept_"], classes, coef, parts),
        **{
            name: classes is None or name not in fit or _between(fit[name], classes)
            for name in ("thresholds_", "cuts_")
        },
        "feature_names_in_": names is None or len(names) == len(set(names)) == d,
    }
    if "support_status_" in fit:  # a problem for each part; other models choose from many
        agree |= _check_problems(fit, parts)
    elif "history_" in fit:
        agree["history_"] = _of_each(fit["history_"], len(fit["certificates_"]))
    _need_all(agree, "features and classes")


def _fits_in(intercept: Any, classes: Any, coef: Any, parts: int) -> bool:
    """A number for each part; just one where there are neither classes nor parts."""
    shape: tuple[int, ...] = np.shape(intercept)
    return shape == (() if classes is None and np.ndim(coef) == 1 else (parts,))


def _between(ends: Any, classes: Any) -> bool:
    """Is there one between each level and the next, in order?"""
    return len(ends) == len(classes) - 1 and bool((np.diff(ends) >= 0).all())


def _need_all(agree: dict[str, bool], what: str) -> None:
    for name, fits_in in agree.items():
        need(fits_in, f"attribute {name} does not fit the {what}")


def _check_problems(fit: dict[str, Any], parts: int) -> dict[str, bool]:
    outputs = 1
    if len(fit["certificates_"]) == 1 and fit.get("classes_") is not None:  # all parts may be one problem
        parts, outputs = 1, len(fit["classes_"])
    elif len(fit["certificates_"]) == 1 < parts:
        parts, outputs = 1, parts
    balls = fit["balls"] = fit["balls"] or [None] * parts
    support, d = fit["support_status_"], fit["n_features_in_"]
    return {
        "certificates_": len(fit["certificates_"]) == parts,
        "history_": _of_each(fit["history_"], parts),
        "support_status_": support.ndim == 1 if parts == 1 else support.ndim == 2 and len(support) == parts,
        "balls": len(balls) in (parts, len(fit.get("thresholds_", ())))
        and all(ball is None or len(ball.centre) in (d, d * outputs) for ball in balls),
    }


def _of_each(history: list[Any], parts: int) -> bool:
    """Is it that of so many problems, a list for each of several?"""
    nested = [isinstance(part, list) for part in history]
    return not any(nested) if parts == 1 else nested == [True] * parts


def check_chains(fit: dict[str, Any]) -> None:
    """The weights of a chain model are as many as its features, labels and pairs of them."""
    d, K, rows, names = fit["n_features_in_"], len(fit["classes_"]), fit["pair_rows_"], fit["pair_names_"]
    own = len(names) or d * K
    ordered = len(rows) == d + 1 and rows[0] == 0 and rows[-1] == len(names) and (rows[1:] >= rows[:-1]).all()
    known = fit.get("feature_names_")
    agree = {
        "pair_rows_": bool(ordered) if len(names) else rows.tolist() == [0],
        "pair_names_": not len(names) or int(names.max()) < K,
        "weights_": d > 0 and len(fit["weights_"]) == own + K * K + 2 * K,
        "certificates_": len(fit["certificates_"]) == 1,
        "history_": not any(isinstance(part, list) for part in fit["history_"]),
        "feature_names_": known is None or len(known) == len(set(known)) == d,
    }
    _need_all(agree, "features and labels")


def check_weights(fit: dict[str, Any]) -> None:
    """A structure has features of its own: there is nothing but the weights of a single problem."""
    need(len(fit["coef_"]) > 0, "attribute coef_ is empty")
    need(len(fit["certificates_"]) <= 1, "attribute certificates_ holds several")
    need(not any(isinstance(part, list) for part in fit["history_"]), "attribute history_ has parts")


def check_kernel_machine(fit: dict[str, Any]) -> None:
    """The attributes agree on the samples, features, classes and support vectors."""
    (n, d), support, table = fit["shape_fit_"], fit["support_"], fit["dual_coef_"]
    classes = fit.get("classes_")
    k = 2 if classes is None else len(classes)
    pairs, m, vectors = k * (k - 1) // 2, len(support), fit["support_vectors_"]
    need(len(fit["intercept_"]) == pairs, "attribute intercept_ does not fit the classes")  # bounds `pairs`
    balls = fit["balls"] = fit["balls"] or [None] * pairs
    matrix, counts = isinstance(fit["fitted_kernel"], str), fit["n_support_"]
    names, steps, status = (
        fit.get(key) for key in ("feature_names_in_", "identified_at_", "support_status_")
    )
    each: tuple[int, ...] = (n,) if pairs == 1 else (pairs, n)
    gamma = getattr(fit["fitted_kernel"], "gamma", None)
    agree = {
        "shape_fit_": n > 0 and d > 0 and d == fit["n_features_in_"] and (not matrix or n == d),
        "support_": _distinct(support, n),
        "support_vectors_": vectors.shape == ((0, 0) if matrix else (m, d)),
        "n_support_": len(counts) == (1 if classes is None else k)
        and bool((counts >= 0).all())
        and int(counts.sum(dtype=np.int64)) == m,
        "dual_coef_": table.shape == (k - 1, m),
        "alpha_": np.shape(fit["alpha_"]) == (() if pairs == 1 else (pairs,)),
        "gamma_": fit["gamma_"] == gamma,
        "certificates_": len(fit["certificates_"]) == pairs,
        "history_": _of_each(fit["history_"], pairs),
        "support_status_": status is not None and status.shape == each,
        "identified_at_": steps is not None and steps.shape == each,
        "balls": len(balls) == pairs,
        "feature_names_in_": names is None or len(names) == len(set(names)) == d,
    }
    _need_all(agree, "samples, features and classes")


def _distinct(support: NDArray[Any], n: int) -> bool:
    return bool(((support >= 0) & (support < n)).all()) and len(np.unique(support)) == len(support)
