"""What a case of an area says when it is done."""

from dataclasses import dataclass, field

from soak.rules import Failure


@dataclass
class Outcome:
    """Checks made, rules broken, and the area's worst figure."""

    checks: int = 0
    failures: list[Failure] = field(default_factory=list)
    worst: float = 0.0

    def expect(self, holds: object, kind: str, text: str) -> None:
        """Count a check."""
        self.checks += 1
        if not holds:
            self.failures.append(Failure(kind, text))

    def take(self, failures: list[Failure], worst: float = 0.0) -> None:
        """Count a check that was made elsewhere."""
        self.checks += 1
        self.failures += failures
        self.worst = max(self.worst, worst)
