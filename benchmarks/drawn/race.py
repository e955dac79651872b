"""The rules: a peer counts at its loosest setting that reaches the tolerance, by its best run.

Anybody's runs of under 20 milliseconds are timed in loops; the best of those that were timed alone, after a
pause, is kept beside.

Accuracy is (J - floor) / |J|, J computed in objective.py from the answer, floor a proved lower bound. The
first run of anybody, which may compile, is not counted. A peer that is clearly slower at a setting that is
not yet accurate enough will not win at a tighter one, and is left alone.
"""

from .worker import Gone

RUNS, ENOUGH = 5, 0.5  # runs at most, and seconds after which the best of at least two will do
CLEARLY = 3.0  # times our seconds: slower than that, and not there yet, a peer is given up
PATIENCE = 8.0  # times our seconds, and some seconds more, are waited for a peer or for another solver
GRACE = 5.0
FIRST = 90.0  # seconds for a first fit of ours, or for the proof of a floor
ROOM = 0.02  # of the tolerance, by which the floor itself may be off


def race(worker, drawn, regret=True):
    """A record of one problem: our seconds, everybody's else, and those of our other solvers."""
    record = {"ours": None, "peers": {}, "solvers": {}, "failed": None}
    try:
        facts = worker.ask(FIRST, "facts", drawn)
        worker.ask(2 * FIRST, "floor", drawn)
        ours = _best(worker, FIRST, drawn, "ours")
    except (Gone, RuntimeError) as error:
        return {**record, "failed": str(error).strip().rpartition("\n")[2]}
    record.update(ours=ours, shape=facts["shape"])
    if not reached(ours, drawn):
        record["failed"] = f"error {ours['error']:.2e}, {ours['status']}"
    limit = PATIENCE * ours["seconds"] + GRACE
    for name, settings in facts["peers"]:
        record["peers"][name] = _peer(worker, limit, drawn, name, settings, ours["seconds"])
    for name in facts["solvers"] if regret else ():
        try:
            record["solvers"][name] = _best(worker, limit, drawn, "ours", name)
        except (Gone, RuntimeError) as error:
            record["solvers"][name] = {"told": str(error)[-200:]}
    return record


def reached(run, drawn):
    """Is it as accurate as asked?"""
    return run.get("error", float("inf")) <= drawn.tol * (1 + ROOM)


def _best(worker, limit, drawn, verb, *rest):
    """The best of some runs, the first not counted."""
    first, error, status, _ = worker.ask(limit, verb, drawn, *rest)
    runs, alone = [], []
    while len(runs) < RUNS and (len(runs) < 2 or sum(runs) < ENOUGH):
        seconds, error, status, before = worker.ask(limit, verb, drawn, *rest)
        runs.append(seconds)
        alone.append(before)
    return {"seconds": min(runs), "alone": min(alone), "first": first, "error": error, "status": status}


def _peer(worker, limit, drawn, name, settings, ours):
    told = "not accurate at any setting"
    for setting in settings:
        try:
            seconds, error, *_ = worker.ask(limit, "peer", drawn, name, setting)
            if error <= drawn.tol * (1 + ROOM):
                return {**_best(worker, limit, drawn, "peer", name, setting), "setting": setting}
            seconds, *_ = worker.ask(limit, "peer", drawn, name, setting)  # the first may have compiled
        except Gone as gone:
            return {"told": f"slower: {gone}"}
        except RuntimeError as raised:
            return {"told": str(raised)[-200:]}
        if seconds > CLEARLY * ours:
            return {"told": f"slower: {seconds:.3g} s for an error of {error:.1e}"}
    return {"told": told}
