"""
When cutting planes are slow
============================

A cutting plane method collects tangents of the risk and minimises their maximum plus the penalty. On most
data that is quick. There are problems on which it is not, and ``gapfit.lab`` has them ready-made, each with
the formula of what happens on it.
"""

import matplotlib.pyplot as plt
import numpy as np

from gapfit import lab, solve

BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#777777"

# %%
# Four points on a line. The variant with a line search in place of the exact master problem jumps from one
# side of the kink to the other for ever: ``k (J(w_k) - J*)`` tends to 1/8.

four = lab.four_points()
run = lab.ls_bmrm(four.problem, four.start, 1000)
print("w =", ", ".join(f"{w[0]:.6f}" for w in run.w[1:6]))
print("k (J(w_k) - J*) =", 1000 * (run.J[-1] - float(four.minimum)))

# %%
# The exact master solves that in three steps. To slow it down, the oracle must choose badly at kinks. On
# ``lab.svm(n)`` every iterate lies on the margin of some samples, and the oracle returns the tangent of one
# of them at a time. The gap is then exactly ``1/(2k) + 1/(4n)``.

svm = lab.svm(40)
slow = lab.qp_bmrm(svm.problem, svm.start, svm.last)
k = np.arange(1, svm.last + 1)
exact = np.array([float(svm.gap(int(i))) for i in k])
print("largest difference from the formula:", np.abs(slow.J[1:] - float(svm.minimum) - exact).max())

# %%
# The problem itself is easy. The default bundle method cuts elsewhere, and so is not caught.

quick = solve(svm.problem, "bundle", tol=1e-9)
print(quick.status.value, "after", quick.n_iter, "steps")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
steps = np.arange(1, 1001)
left.semilogx(steps, steps * (run.J[1:] - 0.125), color=BLUE, lw=2, label="measured")
left.axhline(1 / 8, color=GREY, ls="--", label="1/8")
left.set(xlabel="k", ylabel=r"$k\,(J(w_k) - J^*)$", ylim=(0, 0.3), title="Four points, line search")
left.legend()
right.loglog(k, slow.J[1:] - float(svm.minimum), "o", color=VERMILION, ms=5, label="papers' bundle method")
right.loglog(k, exact, color=GREY, lw=1, label=r"$1/(2k) + 1/(4n)$")
gaps = [(record.n_iter, record.primal - float(svm.minimum)) for record in quick.history]
right.loglog(
    *zip(*((i, max(gap, 1e-6)) for i, gap in gaps), strict=True), "s-", color=GREEN, label="level bundle"
)
right.set(xlabel="k", ylabel=r"$J(w_k) - J^*$", title=f"SVM example, n = {svm.last}, exact master")
right.legend()
figure.suptitle("Lower bounds are attained, to the last digit")
plt.show()
