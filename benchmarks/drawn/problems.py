"""What is drawn: a loss, a penalty, data, and how they are to be solved. All of it follows from a seed."""

from dataclasses import asdict, dataclass

import numpy as np

LABELS = ("hinge", "squared_hinge", "logistic")
REAL = ("squared", "absolute", "quantile", "epsilon_insensitive", "squared_epsilon_insensitive", "huber")
# loss and penalty, and how often they are drawn
LINEAR = {
    **{(loss, "l2"): 2 for loss in ("hinge", "squared_hinge", "logistic", "squared")},
    **{(loss, "l2"): 1 for loss in (*REAL[1:], "poisson")},
    **{(loss, "l1"): 1 for loss in ("squared", "logistic", "squared_hinge", "quantile", "huber", "poisson")},
    **{(loss, "elastic_net"): 1 for loss in ("squared", "logistic")},
}
KERNEL = {(machine, "kernel"): 1 for machine in ("svc", "multiclass_svc", "nu_svc", "svr", "one_class")}
CLASSES = {(loss, "l2"): 1 for loss in ("softmax", "crammer_singer", "one_vs_rest", "ordinal")}
FAMILIES = {**LINEAR, **KERNEL, **CLASSES}

ENTRIES = (500, 2e8)
TINY = 20_000  # entries, up to which a problem counts as tiny
SAMPLES = (100, 1_000_000)
FEATURES = (2, 200_000)
KERNEL_SAMPLES = (100, 4_000)
REAL_SHARE = 0.3  # of the problems have real data
SPARSE_SHARE = 0.3  # of those that are generated, and have room for it


@dataclass(frozen=True)
class Drawn:
    """One problem. Whoever has this record can make it again."""

    seed: int
    case: int
    loss: str
    penalty: str
    source: str  # "generated", or a file
    n: int
    d: int
    density: float
    correlation: float
    spread: float  # of the sizes of columns, in powers of ten
    noise: float
    strength: (
        float  # of the penalty: a share of what makes w vanish (l1), or of the mean square of a row (l2)
    )
    intercept: bool
    tol: float

    @property
    def family(self) -> str:
        return f"{self.loss} {self.penalty}"

    @property
    def entries(self) -> float:
        return self.n * self.d * self.density

    @property
    def size(self) -> str:
        """In words."""
        if self.penalty == "kernel":
            return "kernel, n <= 1,000" if self.n <= 1000 else "kernel, n > 1,000"
        if self.entries <= TINY:
            return "tiny"
        if self.density < 1:
            return "sparse"
        return "wide" if self.d > self.n else "tall" if self.n > 200 * self.d else "square"

    def __str__(self) -> str:
        part = f", {100 * self.density:.2g} %" if self.density < 1 else ""
        rest = "intercept" if self.intercept else "no intercept"
        data = f"{self.source} {self.n} x {self.d}{part}"
        return f"{self.family}, {data}, {self.strength:.1e}, {rest}, {self.tol:g}"


def as_dict(drawn: Drawn) -> dict:
    """For a file."""
    return asdict(drawn)


def draw(seed: int, case: int, files: list[str], largest: float, only: str | None) -> Drawn:
    """The case-th problem of a seed; `files` are those that there are, `largest` the most entries."""
    rng = np.random.default_rng([seed, case])
    names = [family for family in FAMILIES if only is None or only in " ".join(family)]
    odds = np.array([FAMILIES[family] for family in names], float)
    loss, penalty = names[rng.choice(len(names), p=odds / odds.sum())]
    known = [name for name in files if fits(name, loss)]
    source = str(rng.choice(known)) if known and rng.random() < REAL_SHARE else "generated"
    density = float(10 ** rng.uniform(-4, -1)) if rng.random() < SPARSE_SHARE and penalty != "kernel" else 1.0
    entries = _between(rng, ENTRIES[0], min(ENTRIES[1], largest))
    n, d = _shape(rng, entries / density, density)
    if penalty == "kernel":
        n, d = int(_between(rng, *KERNEL_SAMPLES)), int(_between(rng, 2, 100))
    if loss in ("softmax", "crammer_singer", "one_vs_rest", "ordinal"):
        n, d = max(n // 4, 100), max(d // 2, 2)
    return Drawn(
        seed, case, loss, penalty, source, n, d, density,
        correlation=float(rng.choice([0.0, 0.5, 0.95])), spread=float(rng.choice([0.0, 0.0, 1.0])),
        noise=float(10 ** rng.uniform(-1, 1)),
        strength=float(10 ** rng.uniform(*((-3, -0.3) if penalty in ("l1", "elastic_net") else (-5, 0)))),
        intercept=bool(rng.random() < 0.6) and loss != "crammer_singer",
        tol=float(rng.choice([1e-3, 1e-4, 1e-6], p=[0.3, 0.5, 0.2])),
    )  # fmt: skip


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    return float(10 ** rng.uniform(np.log10(low), np.log10(high)))


def _shape(rng: np.random.Generator, cells: float, density: float) -> tuple[int, int]:
    """n and d with so many cells; sparse problems are wider."""
    aspect = float(10 ** rng.uniform(-1.5, 3.0 if density == 1 else 1.0))
    n = np.clip(np.sqrt(cells * aspect), *SAMPLES)
    return int(n), int(np.clip(cells / n, *FEATURES))


def fits(name: str, loss: str) -> bool:
    """Have these data the targets that the loss wants?"""
    kind = name.split("/")[0]
    if loss in LABELS or loss in ("svc", "nu_svc", "one_class"):
        return kind in ("binary", "text2")
    if loss in ("softmax", "crammer_singer", "one_vs_rest", "multiclass_svc"):
        return kind == "multiclass"
    if loss == "ordinal":
        return kind == "ordinal"
    return kind == "regression" and loss != "poisson"
