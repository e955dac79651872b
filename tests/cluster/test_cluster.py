"""Rows on a cluster: the optimum of memory, whoever dies on the way."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

pytest.importorskip("distributed", reason="clusters need distributed: pip install 'gapfit[dask]'")
pytest.importorskip("dask.array", reason="clusters need dask: pip install 'gapfit[dask]'")

import dask
import dask.array as da
from local import QUIET, cluster, processes

from gapfit import AlphaSearchCV, LinearClassifier, LinearRegressor, MetricClassifier, Problem, Status, solve
from gapfit.cluster import as_design
from gapfit.design.parted import PartedDesign
from gapfit.design.parts import MemoryParts
from gapfit.errors import ClusterLost
from gapfit.testing import check_design

pytestmark = QUIET

LOSSES = ["hinge", "logistic", "quantile", "crammer_singer", "roc_area", "f_beta"]


@pytest.fixture(scope="module")
def client():
    with cluster() as made:
        yield made


def samples(n=300, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 0.5 * rng.normal(size=n)


def targets(loss, real):
    if loss == "quantile":
        return real
    if loss == "crammer_singer":
        return np.digitize(real, [-1.0, 1.0]).astype(float)
    return np.where(real > 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_of_memory(client, loss):
    X, real = samples()
    y = targets(loss, real)
    there = solve(Problem(da.from_array(X, chunks=(90, 2)), y, loss, alpha=1e-2), tol=1e-11, max_time=60)
    here = solve(Problem(X, y, loss, alpha=1e-2), tol=1e-11, max_time=60)
    assert abs(there.certificate.primal - here.certificate.primal) <= 1e-10
    assert there.certificate.relative_gap <= 1e-9
    assert there.cost.passes > 1 and there.cost.bytes > 0


def test_the_same_parts_give_the_same_bytes(client):
    X, real = samples()
    y, found = targets("hinge", real), []
    for _ in range(2):  # tasks are on other workers each time
        problem = Problem(da.from_array(X, chunks=(30, 5)), y, "hinge", alpha=1e-2)
        found.append(solve(problem, "bundle", tol=1e-6))
    assert found[0].w.tobytes() == found[1].w.tobytes() and found[0].certificate == found[1].certificate
    parts = PartedDesign(MemoryParts([X[k : k + 30] for k in range(0, 300, 30)]))
    here = solve(Problem(parts, y, "hinge", alpha=1e-2), "bundle", tol=1e-6)
    np.testing.assert_allclose(here.w, found[0].w, rtol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_contract_of_designs(client, kind):
    X, _ = samples(40)
    Z = da.from_array(X, chunks=(12, 5))
    if kind == "sparse":
        Z = Z.map_blocks(sparse.csr_matrix)
    check_design(as_design(Z), other=as_design(2 * Z), trials=1)


def test_estimators_take_collections(client):
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    X, real = samples()
    y = targets("hinge", real)
    here = LinearClassifier(alpha=1e-2, tol=1e-6).fit(X, y)
    X_there, y_there = da.from_array(X, chunks=(80, 5)), da.from_array(y, chunks=80)
    there = LinearClassifier(alpha=1e-2, tol=1e-6).fit(X_there, y_there)
    assert there.converged_ and abs(there.objective_ - here.objective_) <= 1e-6
    predicted = there.predict(X_there)
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), there.predict(X))
    np.testing.assert_allclose(there.decision_function(X_there).compute(), there.decision_function(X))
    table = frames.from_pandas(pandas.DataFrame(X, columns=list("abcde")), npartitions=4)
    regressor = LinearRegressor(alpha=1e-2, tol=1e-6).fit(table, real)
    np.testing.assert_allclose(
        regressor.coef_, LinearRegressor(alpha=1e-2, tol=1e-6).fit(X, real).coef_, atol=1e-4
    )
    np.testing.assert_allclose(regressor.predict(table).compute(), regressor.predict(X))
    classes = LinearClassifier(loss="logistic", alpha=1e-2).fit(X_there, np.digitize(real, [-1.0, 1.0]))
    assert classes.predict_proba(X_there).compute().shape == (300, 3)


def test_errors_of_the_data_are_told_as_they_are(client):
    X, real = samples(60)
    X[30, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        Problem(da.from_array(X, chunks=(20, 5)), targets("hinge", real), "hinge")


def test_without_a_client_blocks_are_computed_here():
    X, real = samples(60)
    y = targets("hinge", real)
    with dask.config.set(scheduler="synchronous"):
        design = as_design(da.from_array(X, chunks=(20, 5)), client=None)
        found = solve(Problem(design, y, "hinge", alpha=1e-2), tol=1e-6)
    assert (
        abs(found.certificate.primal - solve(Problem(X, y, "hinge", alpha=1e-2)).certificate.primal) <= 1e-6
    )


def test_workers_load_shards(client, tmp_path):
    pytest.importorskip("pyarrow", reason="shards need pyarrow")
    from gapfit.datasets import open_shards
    from gapfit.shards import ShardWriter
    from gapfit.shards.arrow import Columns

    X, real = samples()
    y, writer = targets("hinge", real), ShardWriter(tmp_path / "s", {})
    for k in range(0, 300, 100):
        writer.add(Columns(sparse.csr_array(X[k : k + 100]), y[k : k + 100]))
    writer.finish()
    model = LinearClassifier(alpha=1e-2, tol=1e-6).fit(open_shards(tmp_path / "s", client=client))
    assert abs(model.objective_ - LinearClassifier(alpha=1e-2, tol=1e-6).fit(X, y).objective_) <= 1e-6


def test_fits_over_tls():
    pytest.importorskip("cryptography", reason="temporary certificates need cryptography")
    from distributed import Client
    from distributed.security import Security

    X, real = samples(60)
    y, security = targets("hinge", real), Security.temporary()
    with cluster(workers=1, security=security, protocol="tls") as client:
        assert client.scheduler.address.startswith("tls://")
        design = as_design(da.from_array(X, chunks=(20, 5)), client)
        assert solve(Problem(design, y, "hinge", alpha=1e-2), tol=1e-4).status is Status.CERTIFIED
        with pytest.raises((OSError, TypeError, TimeoutError)):  # nobody gets in without a certificate
            Client(client.scheduler.address, timeout="2s", set_as_default=False)


# -- losses on the way ------------------------------------------------------------------------------------


class Killer(threading.Thread):
    """Kills a registered worker every now and then, while somebody else fits."""

    def __init__(self, client, kills, seed=0):
        super().__init__(daemon=True)
        self.client, self.left, self.rng, self.done = client, kills, np.random.default_rng(seed), 0
        self.over = threading.Event()

    def run(self):
        while self.left and not self.over.wait(self.rng.uniform(0.2, 1.0)):
            known = self.client.run(os.getpid, on_error="ignore")
            if known:
                os.kill(int(self.rng.choice(list(known.values()))), signal.SIGKILL)
                self.left, self.done = self.left - 1, self.done + 1


def test_workers_may_die():
    X, real = samples(2000, 20)
    with cluster() as client:
        killer = Killer(client, 2)
        killer.start()
        statuses, fits = [], 0
        while killer.left and fits < 60:
            y = targets("hinge", real)
            design = as_design(da.from_array(X, chunks=(250, 20)), client, patience=120)
            statuses.append(solve(Problem(design, y, "hinge", alpha=1e-4), "bundle", tol=1e-4).status)
            fits += 1
        killer.over.set()
        killer.join(20)
        assert killer.done == 2 and set(statuses) == {Status.CERTIFIED}


def test_a_lost_scheduler_is_an_error():
    X, real = samples()
    with cluster() as client:
        design = as_design(da.from_array(X, chunks=(100, 5)), client)
        problem = Problem(design, targets("hinge", real), "hinge", alpha=1e-2)
        began = time.monotonic()
        client.close()
        with pytest.raises(ClusterLost, match="scheduler"):
            solve(problem, "bundle")
        assert time.monotonic() - began < 60


def test_a_scheduler_that_is_killed_is_an_error(tmp_path):
    """A process, killed by a signal in the middle of a fit."""
    X, real = samples(2000, 20)
    with processes(tmp_path) as (client, scheduler):
        design = as_design(da.from_array(X, chunks=(250, 20)), client)
        problem = Problem(design, targets("hinge", real), "hinge", alpha=1e-9)
        killed = []

        def kill():
            killed.append(time.monotonic())
            os.kill(scheduler.pid, signal.SIGKILL)

        timer = threading.Timer(1.0, kill)
        timer.start()
        with pytest.raises(ClusterLost, match="scheduler"):
            solve(problem, "bundle", tol=1e-14, max_time=120)
        assert killed and time.monotonic() - killed[0] < 60


def count_loads(design, loaded):
    """Note whenever the parts of a design are loaded from their source."""
    loads = design.parts.loads

    def counted():
        loaded.append(len(design.parts.slices))
        return loads()

    design.parts.loads, design.parts.loaded = counted, None


def test_several_fits_share_the_parts(client):
    """One against the rest, a search over alphas and a pool of models load each row once."""
    X, real = samples(240, 4)
    design = as_design(da.from_array(X, chunks=(80, 4)), client)
    classes, loaded = np.digitize(real, [-1.0, 1.0]), []
    count_loads(design, loaded)
    model = LinearClassifier(loss="logistic", alpha=1e-2).fit(design, classes)
    assert model.converged_ and model.coef_.shape == (3, 4) and loaded == [3]
    search = AlphaSearchCV(LinearClassifier(loss="logistic"), alpha_range=(1e-2, 1.0), eps=0.2, cv=2)
    here = clone(search).fit(X, real > 0)
    there = search.fit(design, real > 0)
    assert there.best_error_ <= here.best_error_ + 0.2 and there.proven_regret_ <= 0.2 and loaded == [3]
    pool = MetricClassifier(strategy="cost_path", alpha=(1e-1, 1e-2), cv=2)
    same = clone(pool).fit(X, real > 0)
    pool.fit(design, real > 0)
    assert pool.converged_ and loaded == [3]
    assert abs(pool.score_ - same.score_) < 0.05 and (pool.predict(X) == same.predict(X)).mean() > 0.95


def test_a_round_has_a_deadline():
    X, real = samples()
    with cluster(workers=1) as client:
        design = as_design(da.from_array(X, chunks=(100, 5)), client, patience=120.0)
        problem = Problem(design, targets("hinge", real), "hinge", alpha=1e-2)
        design.parts.patience = 3.0
        client.cluster.scale(0)
        began = time.monotonic()
        with pytest.raises(ClusterLost, match="not answered"):
            solve(problem, "bundle")
        assert time.monotonic() - began < 60


def test_a_time_limit_ends_a_fit():
    X, real = samples()
    with cluster(workers=1) as client:
        design = as_design(da.from_array(X, chunks=(100, 5)), client)
        problem = Problem(design, targets("hinge", real), "hinge", alpha=1e-9)
        found = solve(problem, "bundle", tol=1e-14, max_time=0.05)  # some rounds, of about thirty
        assert found.status is Status.TIME_LIMIT
