"""The calls of `small_fit`, one for each kind of step: they make the room that a fit writes to, which takes
Python as long as some fits."""

from typing import Any, NamedTuple

import numpy as np

from gapfit.compiled._jit import jit
from gapfit.compiled.columns import Model
from gapfit.compiled.small import MOST, Losses, Place
from gapfit.compiled.small_column_model import Columns
from gapfit.compiled.small_corners import Corners
from gapfit.compiled.small_fit import Room, fit
from gapfit.compiled.small_products import Products
from gapfit.compiled.small_rows import SUMS, Passed, are_dense


class Found(NamedTuple):
    """A point, a dual point, what is proved, and J and the gap at points that were passed, by guess."""

    w: Any
    b: Any
    v: Any
    proved: Any
    way: Any
    slope: Any  # X'v,
    spread: Any  # and how far each entry may be from the exact one


@jit(inner=True)
def fitted(data, net, kind, tol, d, side, corners, X, columns, products):
    """Make room, and fit. What is None is not for these steps; their Hessian has so many rows."""
    n = len(data.weight)
    of_samples, of_weights, way = np.zeros((14, n)), np.zeros((7, d)), np.empty((2, MOST))
    place = Place(
        of_weights[0], of_samples[0], of_samples[1], of_weights[1], of_samples[2], of_samples[3],
        of_samples[4], of_weights[2], of_samples[5], np.zeros((side, side)), of_weights[3],
        np.zeros(n + 3, np.int64), np.zeros(1, np.int64), way[0], way[1],
    )  # fmt: skip
    losses = Losses(
        of_samples[7], of_samples[8], of_samples[9], of_samples[10], of_samples[11], of_samples[12],
        of_samples[13],
    )  # fmt: skip
    room = Room(of_weights[4], losses, of_samples[6], of_weights[5], of_weights[6], np.empty((2, 2 * n)))
    b, proved = fit(data, net, kind, tol, room, place, corners, X, columns, products)
    way = way[:, : place.passed[0]].copy()
    return Found(place.w.copy(), b, room.v.copy(), proved, way, room.slope.copy(), room.spread.copy())


@jit
def by_hessian(data, net, kind, tol, d):
    """Newton's method in the weights, under the L2 penalty."""
    X = np.empty((len(data.weight), d))
    return fitted(data, net, kind, tol, d, d, None, X, None, None)


@jit
def by_corners(data, net, kind, tol, d):
    """The same, where the penalty has corners."""
    X = np.empty((len(data.weight), d))
    corners = Corners(np.zeros(d), np.zeros((d, d)), np.zeros(d), np.zeros(d, np.int64))
    return fitted(data, net, kind, tol, d, d, corners, X, None, None)


@jit
def by_columns(data, net, kind, tol, d, stored, most):
    """Column by column, over so many passes at most."""
    n = len(data.weight)
    of_weights, of_samples = np.zeros((3, d)), np.zeros((3, n))
    columns = Columns(
        stored, np.zeros(d, np.int64), of_weights[0],
        Model(of_weights[1], of_weights[2], of_samples[0], of_samples[1], 0.0),
        (np.full(d, -np.inf), np.full(d, np.inf)), np.zeros((5, d)), of_samples[2], np.ones(1),
        np.full(1, most),
    )  # fmt: skip
    return fitted(data, net, kind, tol, d, 0, None, None, columns, None)


@jit
def by_products(data, net, kind, tol, d, parabola, most):
    """By conjugate gradients, with so many products at most."""
    n = len(data.weight)
    sums = np.empty(0 if are_dense(data.rows, n, d) else SUMS * d)
    passed = Passed(data.rows, sums, np.zeros(n + 3, np.int64), np.zeros(n))
    products = Products(passed, np.zeros((5, d)), parabola, np.full(1, most))
    return fitted(data, net, kind, tol, d, 0, None, None, None, products)
