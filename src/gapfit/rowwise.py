"""Vectors with a number for each sample. Of these a fit should have few, for samples may be very many.

A number that is the same for all of many samples is stored once: NumPy sees an array of full length, whose
entries all lie in the same place. Compiled loops want arrays without gaps, and are given `short` ones.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gapfit._types import Vector
from gapfit.elsewhere import extremes, loops_of

__all__ = ["MANY", "SHORT", "is_repeated", "of_each", "once", "repeated", "shares", "short", "whole"]

MANY = 2**16  # samples, from which on a number is stored once for all of them
SHORT = 512  # entries of an array that stands for one of full length in compiled loops


def repeated(value: float, n: int, like: Any = None) -> Vector:
    """The same number for n samples, where `like` is."""
    if like is not None and loops_of(like) is not None:
        return like.repeated(value, n) if n > MANY else np.full_like(like, value)
    if n > MANY:
        return np.broadcast_to(np.float64(value), n)
    if not value:
        return np.zeros(n)  # no memory until it is written
    same = np.empty(n)
    same.fill(value)
    return same


def is_repeated(x: Vector) -> bool:
    """Is it one number that is stored once?"""
    known = isinstance(x, np.ndarray) or loops_of(x) is not None
    return known and x.ndim == 1 and x.size > 1 and x.strides[0] == 0


def once(x: Vector) -> Vector:
    """The vector; stored once, if it is the same number for many samples."""
    same = x.size > MANY and not is_repeated(x) and _is_one_number(x)
    return repeated(x[0], len(x), like=x) if same else x


def _is_one_number(x: Vector) -> bool:
    if loops_of(x) is not None:  # to ask for two entries takes longer than to look at all
        least, largest = extremes(x)
        return least == largest
    return bool(x[0] == x[-1] and (x == x[0]).all())


def of_each(function: Callable[..., Vector], *vectors: Vector) -> Vector:
    """A function that goes sample by sample; of numbers that are stored once it is computed once."""
    if all(map(is_repeated, vectors)):
        return repeated(function(*(x[:1] for x in vectors))[0], len(vectors[0]), like=vectors[0])
    return function(*vectors)


def shares(weight: Vector) -> Vector:
    """Weights, divided by their sum."""
    total = weight.sum()
    return of_each(lambda w: w / total, weight)


def whole(x: Vector) -> Vector:
    """For compiled loops that want every number, one beside the other."""
    plain = isinstance(x, np.ndarray)
    return x if (x.flags.c_contiguous if plain else loops_of(x) is not None) else np.ascontiguousarray(x)


def short(x: Vector) -> Vector:
    """For compiled loops that know how to read it: the number SHORT times, if it is stored once."""
    return np.array(x[:SHORT]) if is_repeated(x) else x
