"""A cluster of two workers on this machine, which speaks to nobody else."""

import os
import subprocess
import sys
from contextlib import contextmanager

import dask
import pytest

# warnings that are Dask's own: none is about what is tested
QUIET = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@contextmanager
def cluster(workers=2, **options):
    """Its client; processes, so that they can be killed."""
    from distributed import Client, LocalCluster

    settings = {
        "distributed.worker.daemon": False,
        "distributed.comm.timeouts.connect": "10s",
        "distributed.deploy.lost-worker-timeout": "300s",
        "distributed.scheduler.allowed-failures": 10,
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
            host=None if "security" in options else "127.0.0.1", **options,
        ) as made,
        Client(made, set_as_default=True) as client,
    ):  # fmt: skip
        client.wait_for_workers(workers)
        yield client


@contextmanager
def processes(folder, workers=1):
    """A client of a scheduler that is a process of its own, as on a real cluster; and that process."""
    from distributed import Client

    file, quiet = str(folder / "scheduler.json"), {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)  # workers run what is tested here

    def started(command, *more):
        words = ["-m", f"distributed.cli.{command}", "--scheduler-file", file, "--no-dashboard"]
        return subprocess.Popen(
            [sys.executable, *words, *more], cwd=folder, env={**os.environ, "PYTHONPATH": paths}, **quiet
        )

    made = [started("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-show")]
    made += [
        started("dask_worker", "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1") for _ in range(workers)
    ]
    try:
        with Client(scheduler_file=file, timeout="60s", set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
            yield client, made[0]
    finally:
        for process in made:
            process.kill()
            process.wait()
