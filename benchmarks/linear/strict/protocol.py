"""The rules of the race.

Ours is timed to its *certified* gap, default settings, validation and proof included. A peer is timed to the
same *true* suboptimality, J - (best lower bound known), and may stop for free when it is there: the number of
iterations is swept at tolerance zero, or the tolerance for peers that have only that (both, where the one
steers the other), and the fastest setting counts that is accurate enough. Then ours and the peer run in turn,
and the minimum of the rounds counts.
"""

import time
from itertools import count

from linear.strict.cases import OURS
from linear.strict.components import load, load_objective
from linear.strict.worker import TooSlow, Unavailable, Worker

from gapfit import solve

ROUNDS = 3
LONG = 5.0  # seconds: a run that takes longer is not repeated
TIMES_OURS, AT_MOST, AT_LEAST = 20.0, 60.0, 2.0  # a peer may take 20 times ours, within these seconds,
TIMES_AUTO = 4.0  # and another solver of ours so many times: it is not the best if it is slower
OURS_AT_MOST = 120.0
REFERENCE_TIME = 60.0


class Course:
    """A data set with everything that runs on it: workers, lower bounds, and what was measured on the way."""

    def __init__(self, data, store, say, patience=AT_MOST):
        self.data, self.store, self.say, self.patience = data, store, say, patience
        self.workers, self.objectives, self.bounds, self.swept, self.peaks = {}, {}, {}, {}, {}

    def close(self):
        for worker in self.workers.values():
            worker.close()

    def race(self, comparison, rounds):
        """The row of the table. Its outcome: ok, never (the peer), no: why (the peer), ours: why."""
        task, tol, peer = comparison.task, comparison.tol, comparison.peer
        theirs = comparison.peer_task or task
        ours, peers, row = [], [], dict(outcome="ok")
        try:
            first = self._ours(task, tol)  # also what a peer's patience is measured by
            if not first.certified:
                row["outcome"] = "ours: not certified"
            times = TIMES_AUTO if peer is not None and peer.file == OURS.file else TIMES_OURS
            patience = times * first.seconds if first.certified else self.patience
            rounds = 1 if first.seconds > LONG else rounds
        except (TooSlow, Unavailable) as why:
            row["outcome"], patience, rounds = f"ours: {str(why) or 'too slow'}", self.patience, 1
        works = row["outcome"] == "ok"
        row["limit"] = limit = min(max(patience, AT_LEAST), self.patience)
        setting = None
        try:
            if peer is not None:
                setting, row["peer_best"] = self._setting(peer, theirs, tol, limit)
            while len(ours if works else peers) < rounds:
                if works:
                    ours.append(self._ours(task, tol))
                if setting is not None:
                    peers.append(self._run(peer, theirs, setting, OURS_AT_MOST))
                    if peers[-1].seconds > LONG:
                        break
                elif not works:
                    break
        except TooSlow:
            setting = None if not peers else setting
        except Unavailable as why:
            row["outcome"] = f"no: {why}" if works else row["outcome"]
        if works and peer is not None and not peers and row["outcome"] == "ok":
            row["outcome"] = "never"
        if works:
            row |= self._summary("ours", OURS, task, ours or [first])
        if peers:
            row |= self._summary("peer", peer, theirs, peers) | dict(peer_setting=setting)
        return row

    # -- runs -----------------------------------------------------------------------------------------

    def _ours(self, task, tol):
        run = self._run(OURS, task, tol, OURS_AT_MOST)
        self._learn(task, run.result["bound"])
        return run

    def _run(self, solver, task, stop, limit):
        run = self._posed(solver, task).run(stop, limit)
        # later runs reuse what earlier ones left to the process: only the largest peak tells
        self.peaks[solver, task] = max(run.megabytes or 0.0, self.peaks.get((solver, task), 0.0))
        if solver == OURS:
            self.store.keep_history(task, stop, run)
        return run

    def _posed(self, solver, task):
        """The solver's worker with the task before it; Unavailable if it does not do that."""
        if solver not in self.workers:
            self.workers[solver] = Worker(solver, self.data)
        self.workers[solver].pose(self._objective(task).get_objective())
        return self.workers[solver]

    def _setting(self, solver, task, tol, limit):
        """The fastest setting that is accurate enough (None if there is none), and the best accuracy seen."""
        self._reference(task, tol)
        if solver.file == OURS.file:
            points = self._certified(solver, task, tol, limit)
        else:
            points = self._sweep(solver, task, tol, limit)
        accurate = [(seconds, stop) for stop, (seconds, _, good) in points.items() if good]
        best = min((gap for _, gap, _ in points.values()), default=float("inf"))
        return (min(accurate)[1] if accurate else None), best

    def _certified(self, solver, task, tol, limit):
        """One of our own solvers has one setting: the tolerance, which it proves."""
        try:
            run = self._run(solver, task, tol, limit)
        except TooSlow:
            return {}
        return {tol: (run.seconds, self._gap(task, self._value(task, run)), run.certified)}

    def _sweep(self, solver, task, tol, limit):
        """Settings, each with its seconds, its suboptimality, and whether that is enough."""
        self._posed(solver, task)  # so that whoever does not do this says so first
        points = {}
        for settings in _knobs(load("Solver", solver)):
            points |= self._turn(settings, solver, task, tol, limit)
        return points

    def _turn(self, settings, solver, task, tol, limit):
        """The points of one knob, from rough to fine, and one more near the first that is accurate enough."""
        points, gaps, stuck = {}, set(), 0
        for stop in settings:
            point = self._point(solver, task, stop, limit)
            if point is None:
                return points
            seconds, gap = point
            points[stop] = seconds, gap, gap <= tol and seconds <= limit
            stuck = stuck + 1 if gap in gaps else 0
            gaps.add(gap)
            if gap <= tol:
                break
            if seconds > limit or (stuck == 4 and isinstance(stop, int)):
                return points
        # a tolerance between the last two may do, and more iterations may be no slower
        near = stop * 10**0.25 if isinstance(stop, float) else next(iter(settings), stop)
        point = self._point(solver, task, near, limit)
        if point is not None:
            points[near] = *point, point[1] <= tol and point[0] <= limit
        return points

    def _point(self, solver, task, stop, limit):
        """Seconds and suboptimality at a setting; None if that takes too long."""
        known = self.swept.setdefault((solver, task), {})
        if stop not in known:
            try:
                run = self._run(solver, task, stop, limit)
            except TooSlow:
                return None
            known[stop] = run.seconds, self._value(task, run)
            self.store.keep_run(task, solver, stop, *known[stop])
        seconds, value = known[stop]
        return seconds, self._gap(task, value)  # anew: a better bound may be known by now

    # -- bounds ---------------------------------------------------------------------------------------

    def _objective(self, task):
        if task not in self.objectives:
            objective = load_objective(task)
            objective.set_data(**self.data)
            self.objectives[task] = objective
        return self.objectives[task]

    def _value(self, task, run):
        return self._objective(task).evaluate_result(**run.result)["value"]

    def _gap(self, task, value):
        """The relative suboptimality of a point with this objective, at most."""
        bound = self.bounds[task][0]
        return (value - bound) / max(abs(value), abs(bound))

    def _learn(self, task, bound):
        old, tightness = self.bounds.get(task, (float("-inf"), float("inf")))
        self.bounds[task] = max(old, bound), tightness

    def _reference(self, task, tol):
        """A lower bound a hundred times tighter than what is asked of peers, if a minute is enough."""
        if self.bounds.get(task, (0, float("inf")))[1] <= tol / 100:
            return
        known = self.store.reference(task)
        if known is None or known[1] > tol / 100:
            began = time.perf_counter()
            problem = self._objective(task).problem
            certificate = solve(problem, tol=tol / 100, max_time=REFERENCE_TIME).certificate
            known = certificate.dual, certificate.relative_gap
            self.store.keep_reference(task, *known)
            self.say(f"    optimum known to {known[1]:.1e} after {time.perf_counter() - began:.1f} s")
        self._learn(task, known[0])
        self.bounds[task] = self.bounds[task][0], known[1]

    def _summary(self, whose, solver, task, runs):
        """The fastest of the rounds."""
        if task not in self.bounds:
            self._learn(task, runs[0].result["bound"])
        best = min(runs, key=lambda run: run.seconds)
        return {
            f"{whose}_seconds": best.seconds,
            f"{whose}_cpu": min(run.cpu for run in runs),
            f"{whose}_megabytes": self.peaks[solver, task],
            f"{whose}_suboptimality": self._gap(task, self._value(task, best)),
            f"{whose}_rounds": len(runs),
        }


def _knobs(solver):
    """What a peer is told, for each knob that it has; numbers of iterations are int, tolerances float."""
    tolerances = (10.0 ** (-step / 2) for step in range(1, 25))
    if solver.sampling_strategy == "tolerance":
        return [tolerances]
    if solver.sampling_strategy == "iteration":
        return [_iterations(), tolerances] if solver.both_knobs else [_iterations()]
    return [[1]]  # it has none


def _iterations():
    """1, 2, 3, 4, 6, 8, 12, 16, 24, ..."""
    yield 1
    for power in count(1):
        yield from (2**power, 3 * 2 ** (power - 1))
