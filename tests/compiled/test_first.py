"""The first fit runs as Python: the same answers, nothing half done, and compiled code from the second on."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core.caching import NullCache

from gapfit import limits
from gapfit.compiled import _first
from gapfit.compiled._first import beside, fits
from gapfit.compiled._jit import jit

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


class Sums(NamedTuple):
    total: Any
    count: Any
    values: Any


@jit
def _rise(values, by):
    for i in range(len(values)):
        values[i] += by


@jit(inline=True)
def _rise_in_line(values, by):
    i = 0
    while i < len(values):
        values[i] += by
        i += 1


def slow_in_line(values):
    """The same, by a function that compiled code calls for every row."""
    for _ in range(len(values) ** 2):
        _rise_in_line(values, 1.0)
    return values[0]


def slow(values):
    """So many calls that Python takes long."""
    for _ in range(len(values) ** 2):
        _rise(values, 1.0)
    return values[0]


def risen(sums, by):
    _rise(sums.values, by)
    return Sums(sums.values[0] + sums.total, len(sums.values), sums.values)


def inverse(values, number):
    values[0] = 5.0
    return 1.0 / number


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled beside, and nothing has run before."""
    monkeypatch.setenv("GAPFIT_COMPILE", "")
    monkeypatch.setattr(fits, "first", {})
    monkeypatch.setattr(beside, "add", lambda compiled, types: None)


def fresh(function: Any) -> Any:
    """Compiled code of its own, which no disk keeps."""
    compiled = jit(function)
    compiled._cache = NullCache()
    return compiled


@pytest.mark.usefixtures("quiet")
def test_python_in_the_first_fit_and_compiled_code_in_the_second() -> None:
    called, values = fresh(risen), np.arange(3.0)
    with limits.Started():
        for turn in (1, 2):
            found = called(Sums(1.0, 0, values), 2.0)
            assert found[:2] == (2.0 * turn + 1.0, 3) and found.values is values
            assert [type(each) for each in found[:2]] == [float, int]
        assert not called.overloads
    with limits.Started():
        assert called(Sums(1.0, 0, values), 2.0).total == 7.0
    assert len(called.overloads) == 1


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("number", "inside"),
    [
        (2.0, False),
        (np.float32(2.0), True),
        (np.ones(3, np.float32), True),
        (np.ones(_first.SMALL + 1), True),
    ],
)
def test_compiled_at_once_outside_of_a_fit_and_for_what_is_short_or_large(number: Any, inside: bool) -> None:
    called = fresh(lambda number: number * 1.0)
    if inside:
        with limits.Started():
            called(number)
    else:
        called(number)
    assert called.overloads


@pytest.mark.usefixtures("quiet")
def test_who_wants_it_compiles_at_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAPFIT_COMPILE", "at_once")
    called = fresh(inverse)
    with limits.Started():
        assert called(np.zeros(1), 2.0) == 0.5
    assert called.overloads


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("function", [slow, slow_in_line])
def test_what_takes_long_is_compiled_and_nothing_is_done_twice(
    monkeypatch: pytest.MonkeyPatch, function: Any
) -> None:
    monkeypatch.setattr(_first, "PATIENCE", 0.01)
    called, values = fresh(function), np.zeros(300)
    with limits.Started():
        assert called(values) == 300**2
        assert (values == 300**2).all() and called.overloads
        assert fits.spent[limits.began()] >= 0.01
        other = fresh(risen)
        other(Sums(0.0, 0, values), 1.0)
        assert other.overloads  # no patience is left in this fit


@pytest.mark.usefixtures("quiet")
def test_what_python_cannot_do_is_left_to_compiled_code() -> None:
    called, values = fresh(inverse), np.zeros(1)
    with limits.Started():
        assert called(values, 0.0) == np.inf
    assert called.overloads and values[0] == 5.0


def interrupted(values):
    values[0] = 5.0
    _stop(values)


def _stop(values):
    raise KeyboardInterrupt


@pytest.mark.usefixtures("quiet")
def test_an_interrupt_leaves_no_array_half_done() -> None:
    """Compiled code hears of none before it is done."""
    values = np.zeros(1)
    with limits.Started(), pytest.raises(KeyboardInterrupt):
        fresh(interrupted)(values)
    assert values[0] == 0.0


@pytest.mark.usefixtures("quiet")
def test_threads_do_not_share_their_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has taken long leaves another its time, and the other does not give it more."""
    monkeypatch.setattr(_first, "PATIENCE", 0.5)
    here = {}

    def fit(name: str) -> None:
        with limits.Started():
            fits.spent[limits.began()] = 0.4 if name == "long" else 0.0
            here[name] = [fits.left(name) for _ in range(2)]

    for name in ("long", "short", "long"):
        thread = threading.Thread(target=fit, args=(name,))
        thread.start()
        thread.join()
        fits.first.clear()
    assert here["short"] == [0.5, 0.5] and here["long"] == pytest.approx([0.1, 0.1])


def test_compiled_beside_when_it_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAPFIT_COMPILE", "")
    monkeypatch.setattr(_first, "QUIET", 0.01)
    called = fresh(risen)
    with limits.Started():
        called(Sums(1.0, 0, np.ones(2)), 2.0)
        assert isinstance(beside.thread, threading.Thread)
        beside.thread.join(60.0)
        assert len(called.overloads) == 1 and not beside.pending


def test_nothing_is_compiled_at_the_end_that_no_disk_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    called = fresh(risen)
    types = tuple(map(numba.typeof, (Sums(1.0, 0, np.ones(2)), 2.0)))
    monkeypatch.setattr(beside, "pending", [(called, types)])
    beside.leave()
    assert not beside.pending and not called.overloads


FITS = """
import json, sys
import numpy as np
from gapfit import LinearClassifier, LinearRegressor, OrdinalClassifier, KernelSVC
from gapfit.compiled._first import fits
from scipy import sparse

rng = np.random.default_rng(int(sys.argv[1]))
fits.left = lambda needed: 60.0
found = []
for loss, penalty, intercept, share in ORDER:
    n, d = int(rng.integers(20, 60)), int(rng.integers(2, 9))
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < share)
    y = X[:, 0] + rng.standard_normal(n)
    X = sparse.csr_array(X) if share < 1 else X
    y = {"poisson": np.exp(y).round(), "softmax": np.digitize(y, (-0.5, 0.5))}.get(loss, y)
    kind = LinearRegressor
    if loss in ("hinge", "squared_hinge", "logistic", "softmax"):
        kind, y = LinearClassifier, y if loss == "softmax" else y > 0
    model = kind(loss=loss, penalty=penalty, fit_intercept=intercept, alpha=10.0 ** rng.uniform(-4, 0))
    model.fit(X, y)
    found.append([model.objective_, model.dual_objective_, model.converged_, np.ravel(model.coef_).tolist()])
from gapfit.compiled import small_calls
compiled = sum(len(f.overloads) for f in vars(small_calls).values() if hasattr(f, "overloads"))
print(json.dumps({"found": found, "calls": compiled}))
"""


def fitted(seed: int, order: Any, **environment: str) -> Any:
    """What fits find in a fresh process."""
    script = FITS.replace("ORDER", repr(order))
    done = subprocess.run(
        [sys.executable, "-c", script, str(seed)], capture_output=True, text=True, check=True,
        env=os.environ | environment,
    )  # fmt: skip
    return json.loads(done.stdout)


LOSSES = (
    "hinge", "squared_hinge", "logistic", "softmax", "squared", "huber", "quantile", "epsilon_insensitive",
    "poisson",
)  # fmt: skip


def test_first_fits_are_certified_and_find_what_compiled_ones_find() -> None:
    rng = np.random.default_rng(seed := 4217)
    order = [
        (loss, str(rng.choice(["l2", "l1", "elastic_net"])) if loss != "softmax" else "l2",
         bool(rng.integers(2)), float(rng.choice([1.0, 0.3])))
        for loss in LOSSES
    ]  # fmt: skip
    as_python = fitted(seed, order, GAPFIT_COMPILE="", GAPFIT_CACHE="0")
    compiled = fitted(seed, order, GAPFIT_COMPILE="at_once")
    assert as_python["calls"] == 0 < compiled["calls"]
    for mine, other, what in zip(as_python["found"], compiled["found"], order, strict=True):
        (value, bound, certified, w), (other_value, other_bound, other_certified, other_w) = mine, other
        assert certified and other_certified, what
        assert max(bound, other_bound) <= min(value, other_value) * (1 + 1e-12), what
        np.testing.assert_allclose([value, bound], [other_value, other_bound], 1e-6, err_msg=str(what))
        np.testing.assert_allclose(w, other_w, rtol=1e-5, atol=1e-7, err_msg=str(what))


ONCE = """
import os, sys
import numpy as np
from gapfit import LinearClassifier
from gapfit.compiled.small_calls import by_hessian
X = np.random.default_rng(0).standard_normal((60, 4))
model = LinearClassifier(alpha=0.1).fit(X, X[:, 0] > 0)
counts = by_hessian.stats
print(sum(counts.cache_hits.values()), sum(counts.cache_misses.values()))
"""
FORKED = """
import os, time
from gapfit.compiled import _first
_first.QUIET = 0.0
exec(ONCE)
time.sleep(0.3)  # into the compilation
child = os.fork()
if not child:
    LinearClassifier(alpha=0.1).fit(X, X[:, 0] > 0)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


def run(script: str, folder: Path, **environment: str) -> list[str]:
    given = {"GAPFIT_COMPILE": "", "NUMBA_CACHE_DIR": str(folder)} | environment
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120.0,
        env=os.environ | given,
    )  # fmt: skip
    return done.stdout.split()


def test_a_process_leaves_machine_code_to_the_next(tmp_path: Path) -> None:
    assert run(ONCE, tmp_path) == ["0", "0"]
    assert any("by_hessian" in path.name for path in tmp_path.rglob("*.nbc"))
    assert run(ONCE, tmp_path) == ["1", "0"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_of_a_process_that_compiles_beside_can_compile(tmp_path: Path) -> None:
    assert run(f"ONCE = {ONCE!r}\n{FORKED}", tmp_path) == ["0", "0"]
