"""What a model file may hold: the classes, their parameters and what a fit of them leaves behind."""

from inspect import signature
from typing import Any

import numpy as np

from gapfit.errors import ModelFileError
from gapfit.estimators import (
    KernelNoveltyDetector,
    KernelSVC,
    KernelSVR,
    LinearClassifier,
    LinearRegressor,
    MetricClassifier,
    NoveltyDetector,
    OrdinalClassifier,
    Ranker,
    SequenceLabeler,
    StructuredClassifier,
)
from gapfit.persistence import fits, kernel_fits, objects, structures, values
from gapfit.persistence.container import need, show
from gapfit.persistence.values import Kind, Shelf

PARAMETERS: dict[str, Kind] = {
    "alpha": values.ONE_OR_SEVERAL,
    "loss": objects.LOSS,
    "metric": objects.METRIC,
    "penalty": objects.PENALTY,
    "solver": objects.SOLVER,
    "class_weight": objects.CLASS_WEIGHT,
    "kernel": kernel_fits.KERNEL_NAME,
    "structure": structures.STRUCTURE,
}  # all others are plain
OF_THE_PROGRAM = ("checkpoint",)  # parameters that no file holds: one from elsewhere shall name no path here
NEEDED = {  # by predictions, and what to do where it cannot be stored
    "kernel": "Use kernel='precomputed' with its matrix, or joblib",
    "structure": "joblib stores it where its class can be imported",
}

_LINEAR: dict[str, Kind] = {
    "n_features_in_": values.COUNT,
    "feature_names_in_": values.NAMES,
    "objective_": values.NUMBER,
    "dual_objective_": values.NUMBER,
    "dual_gap_": values.NUMBER,
    "converged_": values.FLAG,
    "status_": values.STATUS,
    "n_iter_": values.COUNT,
    "alpha_": values.NUMBER,
    "C_": values.NUMBER,
    "coef_": values.floats(1),
    "intercept_": values.FINITE,
    "certificates_": fits.CERTIFICATES,
    "history_": fits.HISTORY,
    "support_status_": fits.SUPPORT,
    "_balls": fits.BALLS,
}
_OF_ONE_PROBLEM = ("history_", "support_status_", "_balls")
_CLASSIFIER = {
    **_LINEAR,
    "coef_": values.floats(2),
    "intercept_": values.floats(1),
    "classes_": values.LABELS,
}
_METRIC = {
    **{name: kind for name, kind in _CLASSIFIER.items() if name not in _OF_ONE_PROBLEM},
    "strategy_": values.TEXT,
    "score_": values.NUMBER,
    "cv_results_": fits.TRIED,
}
_ORDINAL = {
    **{name: kind for name, kind in _LINEAR.items() if name != "intercept_"},
    "thresholds_": values.floats(1),
    "classes_": values.LABELS,
}

_SEQUENCES: dict[str, Kind] = {
    **{
        name: kind
        for name, kind in _LINEAR.items()
        if name not in ("feature_names_in_", "C_", "coef_", "intercept_", "support_status_", "_balls")
    },
    "classes_": values.LABELS,
    "weights_": values.floats(1),
    "feature_names_": values.NAMES,
    "pair_rows_": values.indices("<u4"),
    "pair_names_": values.indices("<u2"),
}

_STRUCTURED: dict[str, Kind] = {
    name: kind
    for name, kind in _LINEAR.items()
    if name not in ("n_features_in_", "feature_names_in_", "C_", "intercept_", "support_status_", "_balls")
}

_KERNEL: dict[str, Kind] = {
    **{name: kind for name, kind in _LINEAR.items() if name not in ("C_", "coef_")},
    "alpha_": kernel_fits.NUMBERS,
    "intercept_": values.floats(1),
    "support_": kernel_fits.SUPPORT,
    "support_vectors_": kernel_fits.SAMPLES,
    "n_support_": kernel_fits.SUPPORT,
    "dual_coef_": values.floats(2),
    "gamma_": values.PLAIN,
    "shape_fit_": kernel_fits.SHAPE,
    "fit_status_": values.COUNT,
    "identified_at_": kernel_fits.STEPS,
    "_fitted_kernel": kernel_fits.KERNEL,
    "_balls": kernel_fits.BALLS,
}

CLASSES: dict[str, tuple[Any, dict[str, Kind]]] = {
    "LinearClassifier": (LinearClassifier, {**_CLASSIFIER, "multilabel_": values.FLAG}),
    "MetricClassifier": (MetricClassifier, _METRIC),
    "LinearRegressor": (LinearRegressor, {**_LINEAR, "_exponential_mean": values.FLAG}),
    "NoveltyDetector": (NoveltyDetector, {**_LINEAR, "offset_": values.FINITE}),
    "Ranker": (Ranker, _LINEAR),
    "SequenceLabeler": (SequenceLabeler, _SEQUENCES),
    "StructuredClassifier": (StructuredClassifier, _STRUCTURED),
    "OrdinalClassifier": (OrdinalClassifier, _ORDINAL),
    "KernelSVC": (KernelSVC, {**_KERNEL, "C_": kernel_fits.NUMBERS, "classes_": values.LABELS}),
    "KernelSVR": (KernelSVR, {**_KERNEL, "C_": values.NUMBER, "epsilon_": values.FINITE}),
    "KernelNoveltyDetector": (KernelNoveltyDetector, {**_KERNEL, "offset_": values.FINITE}),
}
# What a file may lack. Attributes that a later version adds belong here, so that older files still load.
OPTIONAL = {"feature_names_", "feature_names_in_", "multilabel_"}
# What no file holds: the state of a warm start, callbacks, and requests for metadata. They belong to the
# program that fits, and their names begin with an underscore.


def describe(model: Any) -> tuple[dict[str, Any], list[Any]]:
    """The model as a header and arrays. TypeError names what cannot be stored."""
    name = next((name for name, (known, _) in CLASSES.items() if type(model) is known), None)
    if name is None:
        known = ", ".join(CLASSES)
        raise TypeError(f"a model file holds one of {known}, not {type(model).__name__}; use joblib for that")
    shelf, kinds = Shelf(), CLASSES[name][1]
    given = {key: value for key, value in model.get_params(deep=False).items() if key not in OF_THE_PROGRAM}
    parameters = {key: _write_parameter(key, value, shelf) for key, value in given.items()}
    for key in vars(model):
        if key not in kinds and key not in {*parameters, *OF_THE_PROGRAM} and not key.startswith("_"):
            raise TypeError(f"{key} is not an attribute of {name}, and a model file has no place for it")
    there = {key: kind for key, kind in kinds.items() if key in vars(model)}  # in this order: equal bytes
    fitted = {_key(key): _write_attribute(key, vars(model)[key], there[key], shelf) for key in there}
    return {"class": name, "parameters": parameters, "fitted": fitted or None}, shelf.arrays


def _write_parameter(name: str, value: Any, shelf: Shelf) -> Any:
    try:
        return PARAMETERS.get(name, values.PLAIN).write(value, shelf)
    except TypeError as error:
        if name in NEEDED:
            raise TypeError(
                f"parameter {name}={value!r} cannot be stored ({error}): a model file holds data and no "
                f"code, and predictions need the {name}. {NEEDED[name]}"
            ) from error
        raise TypeError(
            f"parameter {name}={value!r} cannot be stored ({error}): a model file holds data and no code. "
            f"Predictions do not need it: save(copy(model).set_params({name}=...), path) stores a copy with "
            "another value, and joblib stores it all"
        ) from error


def _write_attribute(name: str, value: Any, kind: Kind, shelf: Shelf) -> Any:
    try:
        return kind.write(value, shelf)
    except TypeError as error:
        raise TypeError(f"attribute {name} cannot be stored: {error}; joblib stores it all") from error


def rebuild(header: dict[str, Any], arrays: list[Any]) -> Any:
    """The model, if everything in the header is something that the class is known to have."""
    name, parameters, fitted = values.fields(header, "class", "parameters", "fitted")
    make, kinds = CLASSES[values.one_of(name, CLASSES)]
    shelf = Shelf(arrays)
    names = [key for key in signature(make).parameters if key not in OF_THE_PROGRAM]
    known = {key: PARAMETERS.get(key, values.PLAIN) for key in names}
    model = make(**_read_all("parameter", parameters, known, shelf))
    if fitted is not None:
        found = _read_all("attribute", fitted, {_key(key): kind for key, kind in kinds.items()}, shelf)
        missing = {_key(key) for key in kinds.keys() - OPTIONAL} - found.keys()
        need(not missing, f"{', '.join(sorted(missing))} is missing")
        _check_fit(found)
        for key in kinds:
            if _key(key) in found:
                setattr(model, key, found[_key(key)])
        if hasattr(model, "_restore"):
            model._restore()
    need(all(array is None for array in shelf.arrays), "there are arrays that nothing uses")
    return model


def _read_all(what: str, found: Any, kinds: dict[str, Kind], shelf: Shelf) -> dict[str, Any]:
    need(isinstance(found, dict), f"there is no object of {what}s")
    result = {}
    for name, value in found.items():
        need(name in kinds, f"{what} {show(name)} is unknown")
        try:
            result[name] = kinds[name].read(value, shelf)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"{what} {name}: {error}") from error
    return result


def _check_chains(fit: dict[str, Any]) -> None:
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
    for name, fits_in in agree.items():
        need(fits_in, f"attribute {name} does not fit the features and labels")


def _check_fit(fit: dict[str, Any]) -> None:
    """The attributes agree on the number of features d and of parts, which are problems that were solved."""
    if "pair_rows_" in fit:
        _check_chains(fit)
        return
    if "n_features_in_" not in fit:  # a structure has features of its own
        need(len(fit["coef_"]) > 0, "attribute coef_ is empty")
        need(len(fit["certificates_"]) <= 1, "attribute certificates_ holds several")
        need(not any(isinstance(part, list) for part in fit["history_"]), "attribute history_ has parts")
        return
    if "dual_coef_" in fit:
        kernel_fits.check_kernel_machine(fit)
        return
    d, coef, classes = fit["n_features_in_"], fit["coef_"], fit.get("classes_")
    thresholds = fit.get("thresholds_")  # of a single part, one less than there are classes
    several = classes is not None and (len(classes) != 2 or fit.get("multilabel_", False))
    parts = len(classes) if classes is not None and several and thresholds is None else 1
    names = fit.get("feature_names_in_")
    agree = {
        "coef_": d > 0 and np.atleast_2d(coef).shape == (parts, d),
        "intercept_": classes is None or thresholds is not None or len(fit["intercept_"]) == parts,
        "thresholds_": thresholds is None
        or classes is None
        or (len(thresholds) == len(classes) - 1 and bool((np.diff(thresholds) >= 0).all())),
        "feature_names_in_": names is None or len(names) == len(set(names)) == d,
    }
    if "history_" in fit:  # a problem for each part; other models choose from many
        agree |= _check_problems(fit, parts)
    for name, fits_in in agree.items():
        need(fits_in, f"attribute {name} does not fit the features and classes")


def _check_problems(fit: dict[str, Any], parts: int) -> dict[str, bool]:
    outputs = 1
    if len(fit["certificates_"]) == 1 and fit.get("classes_") is not None:  # all parts may be one problem
        parts, outputs = 1, len(fit["classes_"])
    balls = fit["balls"] = fit["balls"] or [None] * parts
    support, nested = fit["support_status_"], [isinstance(part, list) for part in fit["history_"]]
    d = fit["n_features_in_"]
    return {
        "certificates_": len(fit["certificates_"]) == parts,
        "history_": not any(nested) if parts == 1 else nested == [True] * parts,
        "support_status_": support.ndim == 1 if parts == 1 else support.ndim == 2 and len(support) == parts,
        "balls": len(balls) in (parts, len(fit.get("thresholds_", ())))
        and all(ball is None or len(ball.centre) in (d, d * outputs) for ball in balls),
    }


def _key(attribute: str) -> str:
    """The name in a file, which shall not depend on what is private today."""
    return attribute.removeprefix("_")
