"""The experiments of the papers: which curves there are, and a store that never runs one twice."""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from gapfit.atomic import replacing
from gapfit.lab import curves
from gapfit.lab.curves import Curve
from gapfit.lab.data import RECIPES, Split, load

Say = Callable[[str], Any]

TEXTS = ("imdb", "reuters")  # in place of astro-ph and reuters-ccat
GAP_ALPHAS = (1e-3, 1e-4, 1e-5, 1e-6)
OBJECTIVE_ALPHAS = {"imdb": 2e-4, "reuters": 1e-4}  # of the 2007 paper's second experiment
OBJECTIVE_METHODS = ("qp-bmrm", "level bundle", "ls-bmrm", "Pegasos-n")
RACE_METHODS = tuple(curves.METHODS)


class Job(NamedTuple):
    """A curve to be measured: a method (or "reference") on a data set with an alpha."""

    data: str
    method: str
    alpha: float

    @property
    def key(self) -> str:
        """The name of its file."""
        return f"{self.data} {self.method} {self.alpha:.4g}".replace(" ", "_").lower()


def jobs(names: Sequence[str]) -> list[Job]:
    """Everything that the figures of these data sets need, data set by data set."""
    found: dict[Job, None] = {}
    for name in names:
        alphas = {RECIPES[name].alpha: RACE_METHODS}
        if name in TEXTS:
            alphas |= dict.fromkeys(GAP_ALPHAS, ("qp-bmrm",))
            alphas[OBJECTIVE_ALPHAS[name]] = OBJECTIVE_METHODS
        for alpha, methods in alphas.items():
            found[Job(name, "reference", alpha)] = None
            found |= {Job(name, method, alpha): None for method in methods}
    return list(found)


class Store:
    """Measured curves in a folder, one file each. A run that was stopped goes on where it was."""

    def __init__(self, folder: Path, source: Path | None, limit: float, tol: float) -> None:
        self.folder, self.source, self.limit, self.tol = folder / "curves", source, limit, tol

    def get(self, job: Job) -> dict[str, Any] | None:
        """What is known of the job, under the present settings."""
        try:
            found: dict[str, Any] = json.loads(self._path(job).read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return found if (found["limit"], found["tol"]) == (self.limit, self.tol) else None

    def curve(self, job: Job) -> Curve | None:
        """The curve of a job that has been run."""
        found = self.get(job)
        return None if found is None else Curve(*found["curve"])

    def bounds(self, name: str, alpha: float) -> tuple[float, float] | None:
        """(lower bound, objective) of the reference."""
        found = self.get(Job(name, "reference", alpha))
        return None if found is None else (found["dual"], found["primal"])

    def generated(self, name: str) -> bool:
        """Were stand-ins used for these data?"""
        return any((self.get(job) or {}).get("generated", False) for job in jobs([name]))

    def run(self, todo: Sequence[Job], say: Say) -> None:
        """Measure what is missing."""
        missing = [job for job in todo if self.get(job) is None]
        say(f"{len(todo)} curves, {len(todo) - len(missing)} of them known already")
        done = len(todo) - len(missing)
        for name, group in groupby(missing, key=lambda job: job.data):
            say(f"{name}: reading")
            data = load(name, self.source)
            if data.generated:
                say(f"{name}: the files are absent; a stand-in was generated")
            for job in group:
                done += 1
                self._keep(job, self._measure(job, data))
                say(f"[{done}/{len(todo)}] {self._told(job)}")

    def _measure(self, job: Job, data: Split) -> dict[str, Any]:
        known = {"limit": self.limit, "tol": self.tol, "generated": data.generated}
        if job.method == "reference":
            dual, primal = curves.reference(data, job.alpha, 3 * self.limit)
            return known | {"dual": dual, "primal": primal}
        return known | {"curve": curves.trace(job.method, data, job.alpha, self.limit, self.tol)}

    def _told(self, job: Job) -> str:
        found = self.get(job) or {}
        title = f"{job.data}, {job.method}, lambda {job.alpha:.3g}"
        if job.method == "reference":
            return f"{title}: {found['dual']:.8g} <= min J <= {found['primal']:.8g}"
        curve = Curve(*found["curve"])
        return f"{title}: J {curve.J[-1]:.6g} after {curve.step[-1]:.0f} steps, {curve.seconds[-1]:.1f} s"

    def _keep(self, job: Job, found: dict[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self._path(job)) as file:
            file.write(json.dumps({"job": job, **found}).encode())

    def _path(self, job: Job) -> Path:
        return self.folder / f"{job.key}.json"


def race_curves(store: Store, name: str) -> Iterator[tuple[str, Curve, float]]:
    """(method, curve, lower bound) of one data set at the papers' lambda; with its own bound for Pragam-b."""
    alpha = RECIPES[name].alpha
    bounds = store.bounds(name, alpha)
    for method in RACE_METHODS:
        curve = store.curve(Job(name, method, alpha))
        if curve is not None and bounds is not None:
            yield method, curve, bounds[0]
