"""A local cluster of two workers: cost of a round, kills, and dask-ml's LogisticRegression beside ours.

    python benchmarks/cluster.py rounds | kills [NUMBER] | peers | spark

`rounds` tells the CPU time of this process, scheduler included, for a round of an adjoint at 2, 8, 32 parts.
`kills` fits again and again while workers are killed at random times, until so many have died. `peers` fits
the logistic loss by both libraries to the same data on the same cluster: seconds, and the objective of each
(ours does not penalise the intercept; dask-ml's does, so that its optimum is a little above). `spark` fits
the hinge beside Spark's LinearSVC on two local executors' threads (pip install pyspark, and a Java).
"""

import os
import signal
import sys
import threading
import time
import warnings

import dask
import dask.array as da
import numpy as np

from gapfit import LinearClassifier, Problem, Status, solve
from gapfit.cluster import as_design

LOSSES = ("hinge", "logistic", "roc_area", "f_beta")


def samples(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) * np.sqrt(d) / 2 + 0.5 > 0, 1.0, -1.0)


def started():
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.deploy.lost-worker-timeout": "300s"})
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    )
    return Client(cluster)


def rounds(client):
    X, _ = samples(64_000, 50)
    for parts in (2, 8, 32):
        design = as_design(da.from_array(X, chunks=(64_000 // parts, 50)), client)
        design.largest  # noqa: B018  # loaded by now
        u, repeats = np.ones(64_000), 20
        began, clock = time.process_time(), time.perf_counter()
        for _ in range(repeats):
            design.adjoints(u)  # which is not remembered
        cpu, wall = time.process_time() - began, time.perf_counter() - clock
        print(f"{parts} parts: {1e3 * cpu / repeats:.1f} ms CPU, {1e3 * wall / repeats:.1f} ms a round")


def kills(client, number):
    X, y = samples(20_000, 30)
    rng, left, over = np.random.default_rng(), [number], threading.Event()

    def kill():
        while left[0] and not over.wait(rng.uniform(0.5, 2.0)):
            known = client.run(os.getpid, on_error="ignore")
            if len(known) == 2:  # registered, both of them
                os.kill(int(rng.choice(list(known.values()))), signal.SIGKILL)
                left[0] -= 1

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    done = certified = 0
    began = time.perf_counter()
    while left[0]:
        loss = LOSSES[done % len(LOSSES)]
        design = as_design(da.from_array(X, chunks=(2500, 30)), client)
        found = solve(Problem(design, y, loss, alpha=1e-4), "bundle", tol=1e-4)
        here = solve(Problem(X, y, loss, alpha=1e-4), tol=1e-6)
        assert found.certificate.dual <= here.certificate.primal
        done, certified = done + 1, certified + (found.status is Status.CERTIFIED)
    over.set()
    print(f"{number} kills: {certified} of {done} fits certified, {time.perf_counter() - began:.0f} s")


def peers(client):
    from dask_ml.linear_model import LogisticRegression

    warnings.simplefilter("ignore")
    print("| rows x columns | alpha | method | seconds | J, ours |")
    print("|---|---|---|---|---|")
    for n, d in ((100_000, 50), (400_000, 100)):
        X, y = samples(n, d)
        A, t = da.from_array(X, chunks=(n // 8, d)).persist(), da.from_array(y, chunks=n // 8).persist()
        for alpha in (1e-4, 1e-6):

            def J(w, b, X=X, y=y, alpha=alpha):
                return alpha / 2 * float(w @ w) + float(np.logaddexp(0, -y * (X @ w + b)).mean())

            began = time.perf_counter()
            ours = LinearClassifier(loss="logistic", alpha=alpha, tol=1e-4).fit(A, t)
            seconds, value = time.perf_counter() - began, J(ours.coef_[0], ours.intercept_[0])
            gap = f"{value:.8f}, certified to {ours.dual_gap_ / value:.0e}"
            print(f"| {n} x {d} | {alpha:g} | gapfit | {seconds:.1f} | {gap} |")
            for solver in ("lbfgs", "newton", "admm"):
                began = time.perf_counter()
                try:
                    peer = LogisticRegression(C=1 / (alpha * n), solver=solver).fit(A, (t + 1) / 2)
                    value = J(np.ravel(peer.coef_), float(np.ravel(peer.intercept_)[0]))
                    told = f"{time.perf_counter() - began:.1f} | {value:.8f}"
                except Exception as error:
                    told = f"- | {type(error).__name__}"
                print(f"| {n} x {d} | {alpha:g} | dask-ml {solver} | {told} |", flush=True)


def spark():
    """LinearSVC on two threads of a local Spark, beside a fit on two local workers."""
    from pyspark.ml.classification import LinearSVC
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col

    n, d = 100_000, 50
    X, y = samples(n, d)
    session = SparkSession.builder.master("local[2]").config("spark.driver.bindAddress", "127.0.0.1")
    session = session.config("spark.ui.enabled", "false").config("spark.driver.memory", "3g").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    import pandas as pd

    session.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    table = session.createDataFrame(pd.DataFrame({"x": list(X), "label": (y + 1) / 2}))
    table = table.select(array_to_vector(col("x")).alias("features"), "label").repartition(8).cache()
    table.count()
    print("| rows x columns | alpha | method | seconds | J |\n|---|---|---|---|---|")
    for alpha in (1e-2, 1e-4):

        def J(w, b, alpha=alpha):
            return alpha / 2 * float(w @ w) + float(np.maximum(0, 1 - y * (X @ w + b)).mean())

        with started() as client:
            A = da.from_array(X, chunks=(n // 8, d)).persist()
            as_design(A, client)
            began = time.perf_counter()
            ours = LinearClassifier(loss="hinge", alpha=alpha, tol=1e-4).fit(A, y)
            seconds, value = time.perf_counter() - began, J(ours.coef_[0], ours.intercept_[0])
        told = f"{value:.8f}, certified to {ours.dual_gap_ / value:.0e}"
        print(f"| {n} x {d} | {alpha:g} | gapfit | {seconds:.1f} | {told} |", flush=True)
        for steps in (100, 1000):
            began = time.perf_counter()
            peer = LinearSVC(regParam=alpha, maxIter=steps, tol=1e-6, standardization=False).fit(table)
            seconds, value = time.perf_counter() - began, J(peer.coefficients.toArray(), peer.intercept)
            told = f"Spark, {steps} steps | {seconds:.1f} | {value:.8f}"
            print(f"| {n} x {d} | {alpha:g} | {told} |", flush=True)
    session.stop()


def main():
    what, *more = sys.argv[1:] or ["rounds"]
    if what == "spark":
        spark()
        return
    with started() as client:
        if what == "kills":
            kills(client, int(more[0]) if more else 30)
        else:
            {"rounds": rounds, "peers": peers}[what](client)


if __name__ == "__main__":
    main()
