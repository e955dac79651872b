"""The benchmark's own classes by name: there is no second implementation of any solver."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchopt.benchmark import Benchmark
from benchopt.utils.dynamic_modules import _load_class_from_module

FOLDER = Path(__file__).resolve().parents[1]


class Component(NamedTuple):
    """A data set or a solver: the name of its file, and parameters."""

    file: str
    options: tuple = ()

    def __str__(self):
        inside = ",".join(f"{key}={value}" for key, value in self.options)
        return f"{self.file}[{inside}]" if inside else self.file


def component(file, **options):
    return Component(file, tuple(sorted(options.items())))


class Task(NamedTuple):
    """What is to be minimised, on which data."""

    data: Component
    loss: str
    alpha: float | str
    penalty: str = "l2"
    intercept: str = "none"

    def __str__(self):
        bias = "" if self.intercept == "none" else f", {self.intercept} intercept"
        return f"{label(self.data)}, {self.loss} + {self.penalty}, alpha {alpha_text(self.alpha)}{bias}"


def label(data):
    """A short name of a data set."""
    if data.file != "simulated":
        return {"news20": "20news"}.get(data.file, data.file)
    options = dict(data.options)
    return f"{options['n_samples']:,} x {options['n_features']}"


def alpha_text(alpha):
    if isinstance(alpha, str):
        return alpha
    mantissa, exponent = _binary(alpha)
    return f"2^{exponent}" if mantissa == 1 and exponent < -9 else short(alpha)


def short(number):
    """1e-5 rather than 1e-05."""
    return f"{number:.0e}".replace("e-0", "e-")


def _binary(number):
    exponent = 0
    while number < 1:
        number, exponent = number * 2, exponent - 1
    return number, exponent


@cache
def _benchmark():
    return Benchmark(FOLDER)  # makes benchmark_utils importable


def load(kind, wanted):
    """An instance of a "Dataset" or "Solver"."""
    _benchmark()
    file = FOLDER / f"{kind.lower()}s" / f"{wanted.file}.py"
    loaded = _load_class_from_module(FOLDER, file, kind)
    loaded.is_installed(raise_on_not_installed=True, quiet=True)
    return loaded.get_instance(**dict(wanted.options))


def load_objective(task):
    return (
        _benchmark()
        .get_benchmark_objective()
        .get_instance(loss=task.loss, penalty=task.penalty, alpha=task.alpha, intercept=task.intercept)
    )
