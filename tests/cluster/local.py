"""A cluster of two workers on this machine, which speaks to nobody else."""

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
