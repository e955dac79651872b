"""What the papers print, what is right, and where that can be seen.

The table of docs/errata.md is made from this list; `check` names the statement of `gapfit lab theorems`
that shows it.
"""

from typing import NamedTuple

PAPERS = {
    "2007": "Smola, Vishwanathan, Le: Bundle Methods for Machine Learning",
    "2009": "Saha, Zhang, Vishwanathan: Lower Bounds for BMRM and Faster Rates for Training SVMs",
    "2010": "Zhang, Saha, Vishwanathan: Lower Bounds on Rate of Convergence of Cutting Plane Methods",
    "SMO": "She, Schmidt: Linear Convergence and Support Vector Identification of Sequential Minimal "
    "Optimization",
}


class Erratum(NamedTuple):
    """One slip of a paper."""

    paper: str
    place: str
    printed: str
    correct: str
    check: str = ""  # the statement that shows it; empty: by the derivation alone


ERRATA = (
    Erratum("2010", "Algorithm 2, line 3", "+|A a|^2 / (2 lambda) + <a, b>", "the square has a minus"),
    Erratum("2010", "Section 4.1, dJ(2)", "2/16 - s/2", "2/16 - s/4"),
    Erratum(
        "2010", "(12)", "the factor multiplies a_(2k-1)", "it multiplies a_2k", "four-points-recursion"
    ),
    Erratum("2010", "Theorem 2", "k (J(w_k) - J*) -> 1/4", "1/8", "four-points-rate"),
    Erratum(
        "2010", "Lemma 4", "k a_(2k-1) -> 1/4, k |2 - w_k| -> 2", "1/8 and 1", "four-points-limits"
    ),
    Erratum(
        "2010", "(4) for ls-bmrm", "the gap to J_k(w_k)", "the gap to D_k: J_k(w_k) may exceed J*",
        "four-points-false-gap",
    ),
    Erratum("2010", "Theorem 5", "n = ceil(1/eps)", "n = floor(1/eps)", "svm-floor"),
    Erratum(
        "2010", "Theorems 5 and 6", "at least so many steps to an eps-accurate point",
        "w_0 is one already; the iterates k >= 1 and the certificate are slow", "svm-certificate",
    ),
    Erratum("2010", "after Theorem 5", "subgradients of norm 1", "of norm sqrt(1 + 1/n)"),
    Erratum("2010", "Section 5.1", "the negative entropy is -sum a log a", "+sum a log a, which is convex"),
    Erratum(
        "2007", "Corollary 3", "|a|_1 = 1", "|a|_1 <= 1, or a column for the plane 0"
    ),
    Erratum(
        "2007", "Algorithm 1", "w_0 = 0; the test comes after t is increased",
        "w_0 = grad Omega*(0); evaluate, test, then solve",
    ),
    Erratum("2007", "after Theorem 4", "the former ... the former", "the second is the latter"),
    Erratum("2007", "(13)", "- 4", "- 1 is safe for whole steps (as in 2010)", "steps-nonsmooth"),
    Erratum(
        "2007", "(14)", "max(0, H - 8 G^2 H* / lambda)", "max(0, 8 G^2 H* / lambda - H)", "smooth-sign"
    ),
    Erratum("2007", "Section 3.4", "a sum over the samples", "their mean, to match (1)"),
    Erratum(
        "2007", "Section 4", "entropic and l_p penalties have a bounded second derivative",
        "on the compact set of mixtures; for l_p only if p <= 2",
    ),
    Erratum(
        "2007", "Section 4", "the number of steps increases with lambda", "with 1 / lambda, as (13) says"
    ),
    Erratum("2007", "Section 5", "w'A a = lambda |w|^2", "-lambda |w|^2"),
    Erratum("2007", "Section 6", "Omega = lambda/2 |w|^2, and phi", "Omega = 1/2 |w|^2, and lambda"),
    Erratum("2009", "Theorem 5", "Theorem 4 of the 2007 paper", "its Theorem 5"),
    Erratum("2009", "(12)", "max over i in [n]", "over i in [t]"),
    Erratum(
        "2009", "Theorems 6 and 7", "orthonormal columns, eps_t and delta_t at least 1 / (2 lambda t)",
        "the columns come in pairs a, -a, and two steps suffice", "hadamard-false",
    ),
    Erratum(
        "2009", "Theorems 6 and 7, repaired", "max_i <a_i, w>",
        "max(0, max_i <a_i, w>) with orthonormal a_i and no zero plane", "orthonormal-max",
    ),
    Erratum("2009", "Theorem 6, proof", "the Hessian of Omega* has norm 1/2", "1"),
    Erratum(
        "2009", "Appendix A, third condition", "{x : f(x, y) < s} is convex", "{x : f(x, y) > s} is convex"
    ),
    Erratum("2009", "Section 5", "ls-bmrm is coordinate descent", "it is Frank-Wolfe", "frank-wolfe"),
    Erratum(
        "2009", "(20), subgradient", "(nothing is said of ties)",
        "weights with sum u = 0, fractional at the tied breakpoint", "balanced-subgradient",
    ),
    Erratum("2009", "Algorithm 1", "a random start in Q_2", "the prox centre, or the invariant breaks"),
    Erratum(
        "2009", "Section 4.1", "k > R / sqrt(lambda eps)", "k >= sqrt(2) R / sqrt(lambda eps)",
        "pragam-steps",
    ),
    Erratum(
        "2009", "Section 4.1", "L = largest singular value of YX, squared", "divided by lambda besides",
        "pragam-bound",
    ),
    Erratum(
        "2009", "Algorithm 2", "kinks d^2 l', d^2 u'; the pivot is kept", "dbar^2; dropped, or ties loop"
    ),
    Erratum(
        "2009", "(35a), (35c), (38), dD/dmu", "signs, a missing term, d_t^2",
        "+ in (35a); (35c) subtracts the other clique's marginal; d_t^-2; the second sum is subtracted",
    ),
    Erratum(
        "2009", "(32)", "e_(e, y_i); n l m^2 rows; projections as in E.1",
        "e_(i, y_i); n (l - 1) m^2 rows; the problem is unconstrained",
    ),
    Erratum("SMO", "(2)", "D = -2 mu argmin", "-2 L min"),
    Erratum("SMO", "(3)", "L/2 |.|_H^2", "1/2 |.|_H^2"),
    Erratum("SMO", "Lemma 2", "h(x - d)", "h(x + d)", "smo-conformal"),
    Erratum("SMO", "zeta", "j = 1 .. n", "j different from i: it is zero otherwise"),
)  # fmt: skip
