"""How the pictures of the gallery look: legible at a distance, on white, in colours for all eyes."""

import matplotlib
from cycler import cycler

# Okabe and Ito's colours, told apart by people with any kind of colour vision
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def apply(gallery_conf, fname):
    """Called by sphinx-gallery before each example."""
    del gallery_conf, fname
    matplotlib.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=COLOURS),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlesize": 13,
            "axes.labelsize": 12,
            "font.size": 12,
            "figure.facecolor": "white",
            "figure.titlesize": 15,
            "legend.frameon": False,
            "savefig.facecolor": "white",
        }
    )


class Order:
    """Examples in the order in which one would read them; others follow by name."""

    FIRST = (
        "cutting_planes",
        "lower_bounds",
        "gap_closing",
        "pragam",
        "intercept",
        "certified_predictions",
        "support_status",
        "one_fit_all_alphas",
        "alpha_search",
        "leave_one_out",
        "conformal",
        "path_and_selection",
        "quantile_band",
        "robust_regression",
        "sparse_weights",
        "novelty",
        "kernel_svc",
        "reliability",
        "metric_classifier",
        "ranking",
        "ordinal",
        "rows_in_parts",
        "device",
        "multiclass",
        "sequences",
        "words",
        "chunking",
    )

    def __init__(self, folder):
        del folder

    def __call__(self, filename):
        """A key to sort by."""
        name = filename.removeprefix("plot_").removesuffix(".py")
        return (self.FIRST.index(name) if name in self.FIRST else len(self.FIRST), name)
