"""What was measured, in CSV files that grow by a line as soon as something is known: a run can be resumed."""

import csv

FIELDS = {
    "results": (
        "key", "section", "data", "loss", "penalty", "alpha", "intercept", "tol", "column", "peer",
        "peer_intercept", "outcome", "ratio", "ratio_cpu", "ours_seconds", "ours_cpu", "ours_megabytes",
        "ours_suboptimality", "ours_rounds", "peer_setting", "peer_seconds", "peer_cpu", "peer_megabytes",
        "peer_suboptimality", "peer_rounds", "peer_best", "limit",
    ),
    "runs": ("task", "solver", "setting", "seconds", "objective"),
    "history": ("task", "tol", "seconds", "gap"),
    "references": ("task", "bound", "gap"),
}  # fmt: skip


class Store:
    """The folder with the results."""

    def __init__(self, folder, fresh=False):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        if fresh:
            for name in FIELDS:
                self._path(name).unlink(missing_ok=True)
        self.results = {row["key"]: row for row in self.read("results")}
        self.references = {
            row["task"]: (float(row["bound"]), float(row["gap"])) for row in self.read("references")
        }
        self.histories = {(row["task"], row["tol"]) for row in self.read("history")}

    def read(self, name):
        if not self._path(name).exists():
            return []
        with self._path(name).open(newline="") as file:
            return list(csv.DictReader(file))

    def keep_result(self, row):
        row = {field: _text(row.get(field)) for field in FIELDS["results"]}
        self._append("results", [row])
        self.results[row["key"]] = row

    def keep_run(self, task, solver, setting, seconds, value):
        row = dict(task=task, solver=solver, setting=setting, seconds=seconds, objective=repr(float(value)))
        self._append("runs", [row])

    def points(self, task, solver):
        """Seconds and suboptimality of all runs of a peer, by the best bound that is known now."""
        bound, _ = self.references[task]
        runs = [row for row in self.read("runs") if (row["task"], row["solver"]) == (task, solver)]
        values = [(float(row["seconds"]), float(row["objective"])) for row in runs]
        return [(seconds, (value - bound) / max(abs(value), abs(bound))) for seconds, value in values]

    def keep_history(self, task, tol, run):
        """The certified gaps of a fit; what came before its first step (validation) delays them all."""
        if (str(task), f"{tol:g}") in self.histories or not run.history:
            return
        self.histories.add((str(task), f"{tol:g}"))
        delay = run.seconds - run.history[-1][0]
        self._append(
            "history",
            [
                dict(task=task, tol=f"{tol:g}", seconds=seconds + delay, gap=gap)
                for seconds, gap in run.history
            ],
        )

    def reference(self, task):
        return self.references.get(str(task))

    def keep_reference(self, task, bound, gap):
        self.references[str(task)] = bound, gap
        self._append("references", [dict(task=task, bound=repr(float(bound)), gap=gap)])

    def _path(self, name):
        return self.folder / f"{name}.csv"

    def _append(self, name, rows):
        new = not self._path(name).exists()
        with self._path(name).open("a", newline="") as file:
            writer = csv.DictWriter(file, FIELDS[name], lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerows({key: _text(value) for key, value in row.items()} for row in rows)


def _text(value):
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
