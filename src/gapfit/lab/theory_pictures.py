"""The pictures of the theorems: what is measured beside what is proved."""

from pathlib import Path
from typing import Any

import numpy as np

from gapfit.lab import examples
from gapfit.lab.accelerated import bound, gaps, lipschitz, pragam_steps
from gapfit.lab.nearby import sample
from gapfit.lab.page import Picture
from gapfit.lab.pairs import SEEDS, machine
from gapfit.lab.rates import Rate
from gapfit.lab.runs import ls_bmrm, qp_bmrm
from gapfit.lab.style import (
    BLACK,
    BLUE,
    CYCLE,
    DASHES,
    GREEN,
    GREY,
    VERMILION,
    picture,
    plain_ticks,
    shared_legend,
)
from gapfit.lab.upper_bounds import curvature_bound, random_problem, slope_bound


def draw(folder: Path, rates: list[Rate]) -> list[Picture]:
    """All of them."""
    return [
        picture(folder, "four-points", _four_points, columns=2),
        picture(folder, "counter-examples", _counter_examples, columns=3),
        picture(folder, "upper-bounds", _upper_bounds, columns=2),
        picture(folder, "pragam", _accelerated, columns=2),
        picture(folder, "smo", _pairs, width=5.2, height=3.0),
        picture(folder, "nearby", _nearby, columns=2),
        picture(folder, "rates", _rates, rates, width=5.2, height=3.6),
    ]


def _four_points(figure: Any, axes: Any) -> None:
    """ls-bmrm on the four points: k (J(w_k) - J*) tends to 1/8, not to 1/4 as printed."""
    example = examples.four_points()
    k = np.arange(1, 3001)
    run = ls_bmrm(example.problem, example.start, 3000)
    left, right = axes[0]
    w = np.linspace(-0.5, 4, 400)
    J = w**2 / 32 + np.maximum(1 - w / 2, 0) / 2 + np.maximum(1 - w, 0) / 2
    left.plot(w, J, color=BLUE)
    for i, point in enumerate(run.w[2:8], start=2):
        left.plot(point[0], run.J[i], "o", color=VERMILION, ms=4)
        left.annotate(f"$w_{i}$", (point[0], run.J[i]), (0, 7), textcoords="offset points", ha="center")
    left.set(xlabel="w", ylabel="J(w)", title="Around the kink at w* = 2", xlim=(1, 3), ylim=(0.11, 0.25))
    right.semilogx(k, k * (run.J[1:] - 0.125), color=BLUE, label="measured")
    right.axhline(1 / 8, color=BLACK, ls="--", lw=1, label="1/8")
    right.axhline(1 / 4, color=GREY, ls=":", lw=1, label="1/4, as printed")
    right.set(xlabel="k", ylabel="$k\\,(J(w_k) - J^*)$", ylim=(0, 0.4), title="The constant of Theorem 2")
    right.legend()
    figure.suptitle("Four points: the line search zigzags for ever")


def _counter_examples(figure: Any, axes: Any) -> None:
    """qp-bmrm on the three counter-examples: measured gaps lie on the closed forms. What is slow is the
    certificate; the printed Hadamard example is solved in two steps."""
    shown: list[tuple[str, examples.Example]] = [
        ("SVM, n = 40", examples.svm(40)), ("F1, n = 40", examples.f1(40)),
        ("orthonormal maximum, d = 40", examples.orthonormal(40)),
    ]  # fmt: skip
    for axis, (title, example) in zip(axes[0], shown, strict=True):
        run = qp_bmrm(example.problem, example.start, example.last)
        k = np.arange(1, example.last + 1)
        formula = [float(example.gap(int(i))) for i in k]
        axis.loglog(k, run.J[1:] - float(example.minimum), "o", ms=3, color=BLUE, label="$J(w_k) - J^*$")
        axis.loglog(k, formula, color=BLACK, lw=1, label="closed form")
        axis.loglog(k, run.eps[1:], "s", ms=3, color=VERMILION, label="certificate, $w_0$ included")
        axis.set(xlabel="k", ylabel="gap", title=title, ylim=(5e-3, 1.0))
    printed = qp_bmrm(examples.hadamard(64), np.zeros(64), 3)
    t = np.arange(1, 4)
    axes[0, 2].loglog(t, np.maximum(printed.eps[1:], 1e-3), "v:", ms=4, color=GREEN,
                      label="printed Hadamard example (0 from k = 2)")  # fmt: skip
    shared_legend(figure, axes)
    figure.suptitle("qp-bmrm on the counter-examples: about 1/(2k), by the closed forms")


def _upper_bounds(figure: Any, axes: Any) -> None:
    """Certified gaps on random problems, below the bounds for non-smooth and smooth risks."""
    left, right = axes[0]
    problem = random_problem(1, alpha=0.004)
    t = np.arange(1, 121)
    for k, (name, method) in enumerate((("qp-bmrm", qp_bmrm), ("ls-bmrm", ls_bmrm))):
        run = method(problem, problem.start(), 120)
        left.loglog(t, np.maximum(run.eps[1:], 1e-15), DASHES[k], color=CYCLE[k], label=name)
    G = slope_bound(problem)
    left.loglog(t, 8 * G**2 / (problem.alpha * (t + 15)), color=BLACK, lw=1, label="$8 G^2 / (α (t + 15))$")
    left.set(xlabel="t", ylabel="certified gap", title="hinge", ylim=(1e-8, None))
    smooth = random_problem(1, "logistic", alpha=0.02)
    rate = 1 - smooth.alpha / (4 * curvature_bound(smooth))
    for k, method in enumerate((qp_bmrm, ls_bmrm)):
        run = method(smooth, smooth.start(), 80)
        right.semilogy(np.arange(1, 81), np.maximum(run.eps[1:], 1e-15), DASHES[k], color=CYCLE[k])
    right.semilogy(np.arange(1, 81), run.eps[1] * rate ** np.arange(80), color=BLACK, lw=1,
                   label="$(1 - α / (4 H))^t$")  # fmt: skip
    right.set(xlabel="t", ylabel="certified gap", title="logistic: a linear rate")
    right.legend()
    left.legend()
    figure.suptitle("Upper bounds: certified gaps stay below them")


def _accelerated(figure: Any, axes: Any) -> None:
    """Pragam on a random hinge problem: the gap J(w_k) - D(alpha_k) and its bound (26)."""
    steps = 300
    for axis, intercept in zip(axes[0], (False, True), strict=True):
        problem = random_problem(0, alpha=0.001, intercept=intercept)
        k = np.arange(1, steps + 2)
        shown = (
            ("L given", lipschitz(problem), BLUE, "-"),
            ("L found on the way", None, VERMILION, "--"),
        )
        for label, L, colour, dash in shown:
            gap = gaps(problem, pragam_steps(problem, steps, L))
            axis.loglog(k, np.maximum(gap, 1e-15), dash, color=colour, label=label)
        axis.loglog(k, bound(problem, steps), color=BLACK, lw=1, label="$4 L D_2 / ((k+1)(k+2))$")
        axis.set(xlabel="k + 1", ylabel="gap", title="with intercept" if intercept else "without intercept")
    shared_legend(figure, axes)
    figure.suptitle("Pragam: the gap falls faster than its bound, which falls like 1/k²")


def _pairs(_figure: Any, axes: Any) -> None:
    """Steps on pairs by the second-order rule: the dual objective falls linearly. From the dot on the
    variables at their bounds are those of the optimum."""
    axis = axes[0, 0]
    for k, seed in enumerate(SEEDS):
        m = machine(seed)
        excess = np.maximum([m.f(v) - m.least for v in m.run], 1e-16)
        excess = excess[: 1 + int(np.argmax(excess < 1e-13))]
        axis.semilogy(excess, DASHES[k % 4], color=CYCLE[k], label=f"data {seed + 1}")
        axis.plot(m.identified(), excess[m.identified()], "o", color=CYCLE[k], ms=5)
    axis.set(
        xlabel="steps on pairs", ylabel="f - min f", title="SMO: a linear rate; dots: support identified"
    )
    axis.legend()


def _nearby(figure: Any, axes: Any) -> None:
    """What one loose fit (dot) says of a score at all alphas: between the dashed lines by balls, in the band
    by the Newton certificate; on the right over ranges of alphas, by their ends alone."""
    one = sample(3, alpha=0.05, tol=1e-3)
    row, alphas = one.X[4:5], np.geomspace(0.025, 0.1, 61)
    exact = [one.optimum(float(alpha))[4] for alpha in alphas]
    points, ranges = np.column_stack([alphas, alphas]), np.column_stack([alphas[:-1:10], alphas[10::10]])
    for axis, cells, corners in zip(axes[0], (points, ranges), (1, 2), strict=True):
        where = cells[:, :corners].ravel()
        for tool, colour, label in (
            (one.newton(), BLUE, "Newton certificate"),
            (one.balls(), VERMILION, "balls"),
        ):
            bounds = np.array([np.ravel(tool.between(*cell).score_bounds(row)) for cell in cells])
            least, most = np.repeat(bounds, corners, axis=0).T
            if colour == BLUE:
                axis.fill_between(where, least, most, color=colour, alpha=0.35, lw=0, label=label)
            else:
                axis.plot(where, least, "--", color=colour, lw=1, label=label)
                axis.plot(where, most, "--", color=colour, lw=1)
        axis.plot(alphas, exact, color=BLACK, lw=1, label="exact optimum")
        axis.set(xscale="log", xlabel="α", ylabel="score of one sample")
        plain_ticks(axis)
    own = float(row[0] @ one.fit.w + one.fit.intercept)
    axes[0, 0].plot(one.problem.alpha, own, "o", color=GREEN, label="the fit")
    axes[0, 0].set_title("At every alpha")
    axes[0, 1].set_title("Over ranges of alphas")
    shared_legend(figure, axes)
    figure.suptitle("Where the optimum is, by one fit at α = 0.05")


def _rates(_figure: Any, axes: Any, rates: list[Rate]) -> None:
    """Steps T(eps) against 1/eps on the problems of the table, with the fitted slopes."""
    axis = axes[0, 0]
    shown = [rate for rate in rates if rate.cell[:2] != ("ls-bmrm", "A2")]
    for k, rate in enumerate(shown):
        label = f"{rate.cell.algorithm}, {rate.cell.assumption}: {rate.slope:.2f}"
        axis.loglog(1 / rate.eps, rate.steps, "o" + DASHES[k % 4], ms=4, color=CYCLE[k], label=label)
    axis.set(xlabel="1/ε", ylabel="steps T(ε)", title="Steps to reach ε, and fitted slopes")
    axis.legend()
