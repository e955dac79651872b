"""The losses that are not means over samples, with parameters and targets, for tests. Plain data."""

import numpy as np


def cohen(tp, fp, fn, tn):
    """1 - Cohen's kappa."""
    n = tp + fp + fn + tn
    chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / n**2
    return 1 - ((tp + tn) / n - chance) / (1 - chance)


def jagged(tp, fp, fn, tn):
    """Nothing is known of this one."""
    return 0.1 * np.sin(3 * tp + 5 * fp) + (fp + 2 * fn) / (tp + fp + fn + tn)


def missed_squared(tp, fp, fn, tn):
    """Concave in fp."""
    return np.sqrt(fp / (fp + tn)) + (fn / (tp + fn)) ** 2


# name in the registry, with a remark in brackets: parameters
CONTINGENCY = {
    "f_beta": {"beta": 1.0},
    "f_beta(0.3)": {"beta": 0.3},
    "f_beta(4)": {"beta": 4.0, "score_weight": 2.5},
    "jaccard": {},
    "jaccard(weighted)": {"score_weight": 0.3},
    "matthews": {},
    "error_rate": {},
    "balanced_accuracy": {"score_weight": 1.7},
    "precision_at_k": {"k": 2},
    "recall_at_k": {"k": 2},
    "recall_at_k(weighted)": {"k": 3, "score_weight": 3.0},
    "lift": {"k": 2},
    "break_even": {},
    "precision_at_recall": {"floor": 0.6},
    "precision_at_recall(all)": {"floor": 1.0, "score_weight": 3.0},
    "recall_at_precision": {"floor": 0.5},
    "recall_at_precision(high)": {"floor": 0.8, "score_weight": 0.5},
    "contingency": {"f": jagged},
    "contingency(fp)": {"f": missed_squared, "structure": "fp", "score_weight": 0.5},
    "contingency(predicted)": {"f": cohen, "structure": "predicted"},
    "contingency(linear)": {"f": cohen, "structure": "linear", "score_weight": 2.0},
}
RANKING = {
    "roc_area": {},
    "partial_roc_area": {"max_fpr": 0.3},
    "pairwise_ranking": {},
    "pairwise_ranking(queries)": {"mean": "queries"},
    "ordinal_pairs": {},
    "ordinal_pairs(table)": {"cost": [[0, 1, 5, 6], [0, 0, 2, 0], [0, 0, 0, 1], [0, 0, 0, 0]]},
}
LISTS = {"ndcg": {"k": None}, "ndcg(3)": {"k": 3}}
AVERAGE_PRECISION = {"mean_average_precision": {}, "mean_average_precision(1)": {"threshold": 1.0}}
THRESHOLDS = {
    f"ordinal_thresholds({kind}, {base})": {"kind": kind, "base": base}
    for kind in ("all", "immediate")
    for base in ("hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential")
}
METRICS = {**LISTS, **AVERAGE_PRECISION, **THRESHOLDS, **CONTINGENCY, **RANKING}


def registry_name(metric: str) -> str:
    """The name in the registry: "f_beta" for "f_beta(4)"."""
    return metric.partition("(")[0]


def targets(metric, n, rng):
    """Labels -1 and +1, both there, or levels 0 to 3, two of them there."""
    if metric.startswith(("pairwise", "ordinal", "ndcg", "mean_average")):
        y = rng.integers(0, 4, n).astype(float)
        y[0], y[-1] = 0, 3
    else:
        y = np.where(rng.random(n) < rng.uniform(0.2, 0.8), 1.0, -1.0)
        y[0], y[-1] = -1, 1
    return y
