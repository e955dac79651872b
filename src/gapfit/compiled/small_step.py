"""A Newton step in few weights, by their Hessian. See `small`."""

from gapfit.compiled._jit import jit
from gapfit.compiled.small_corners import minimise_with_l1
from gapfit.compiled.small_model import hessian, solve


@jit(fast=True, inner=True)
def step_by_hessian(X, net, place, course, corners):
    """Write the step to where the quadratic model is least, and what it changes in scores. Returns that of b.
    `corners` is None where the penalty has no l1 part."""
    w, step, slope, mean = place.w, place.step, place.z, place.mean
    n, d = X.shape
    bend = max(course.bend, net.least_bend) if net.free else 0.0
    hessian(X, place, mean, bend, net)
    for j in range(d):
        slope[j] = net.l2 * w[j] - place.z[j] - course.imbalance * mean[j]
    for j in range(d):
        step[j] = -slope[j]
    if corners is None:
        solve(place.hessian, step, d)
    else:
        minimise_with_l1(place.hessian, w, net.l1, slope, step, corners)
    db = 0.0
    if net.free:
        db = -course.imbalance / bend
        for j in range(d):
            db -= mean[j] * step[j]
    for i in range(n):
        total = db
        for j in range(d):
            total += X[i, j] * step[j]
        place.along[i] = total
    return db
