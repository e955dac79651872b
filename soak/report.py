"""The one table, and a line for each case that failed."""

from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module

from rich.table import Table

from soak.pool import Done


@dataclass
class Row:
    """One area, added up."""

    area: str
    cases: int = 0
    checks: int = 0
    failed: list[Done] = field(default_factory=list)
    worst: float = 0.0
    seconds: float = 0.0

    def add(self, done: Done) -> None:
        self.cases += 1
        self.checks += done.outcome.checks
        self.worst = max(self.worst, done.outcome.worst)
        self.seconds += done.seconds
        if done.outcome.failures:
            self.failed.append(done)

    def kinds(self) -> str:
        """How many cases broke which rule."""
        count = Counter(kind for done in self.failed for kind in _kinds(done))
        return ", ".join(f"{kind} {number}" for kind, number in count.most_common())


def table(rows: list[Row]) -> Table:
    """A row an area."""
    made = Table(title="gapfit soak")
    for name in ("area", "cases", "checks", "failed", "worst figure", "seconds", "failed by kind"):
        made.add_column(
            name, justify="left" if name in ("area", "worst figure", "failed by kind") else "right"
        )
    for row in rows:
        figure = f"{row.worst:.3g} {import_module(f'soak.areas.{row.area}').FIGURE}"
        made.add_row(
            row.area, str(row.cases), str(row.checks), str(len(row.failed)), figure, f"{row.seconds:.0f}",
            row.kinds(),
        )  # fmt: skip
    return made


def lines(row: Row) -> list[str]:
    """From each line the case can be run again."""
    return [
        f"python -m soak --only {row.area} --seed {done.job.seed} --case {done.job.case}"
        f"  # {', '.join(_kinds(done))}: {done.outcome.failures[0].text}"
        for done in row.failed
    ]


def _kinds(done: Done) -> list[str]:
    return list(dict.fromkeys(failure.kind for failure in done.outcome.failures))
