"""Fits on two workers behind links that are slow, that lose packets, that break: what becomes of them.

    python benchmarks/cluster_network.py [slow lossy resets flaps cut]

Each worker is in a network namespace of its own, with a link to this machine (root may make these; others
get two workers on loopback). All that goes to a worker, and all that it sends to the scheduler, passes a
small relay here, which can hold every piece of data back (latency), some of them for as long as TCP takes to
send lost ones again (loss), and break connections. `flaps` takes a link down for some seconds and up again,
`cut` for good, without a word to either side. Tells for each how the fits ended, and how long they took.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress

import numpy as np

PYTHON = [sys.executable, "-m"]
AGAIN = 0.25  # seconds until a lost packet is sent again


class Relay:
    """Forwards connections from an address here to another one."""

    def __init__(self, host, target):
        self.host, self.target = host, target
        self.delay = self.loss = 0.0
        self.silent, self.open, self.rng = False, set(), np.random.default_rng(0)
        self.loop, ready = asyncio.new_event_loop(), threading.Event()
        threading.Thread(target=self._run, args=(ready,), daemon=True).start()
        ready.wait()

    def _run(self, ready):
        async def begin():
            server = await asyncio.start_server(self._accept, self.host, 0)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()

        self.loop.create_task(begin())
        self.loop.run_forever()

    async def _accept(self, reader, writer):
        while self.silent:  # nobody answers
            await asyncio.sleep(0.1)
        try:
            there = await asyncio.open_connection(*self.target)
        except OSError:
            writer.close()
            return
        pair = (writer, there[1])
        self.open.add(pair)
        await asyncio.gather(self._pass(reader, there[1]), self._pass(there[0], writer))
        self.open.discard(pair)

    async def _pass(self, reader, writer):
        with suppress(OSError):
            while data := await reader.read(2**16):
                while self.silent:
                    await asyncio.sleep(0.1)
                packets = 1 + len(data) // 1500
                lost = self.rng.random() < 1 - (1 - self.loss) ** packets
                await asyncio.sleep(self.delay + (AGAIN if lost else 0.0))
                writer.write(data)
                await writer.drain()
        with suppress(OSError):
            writer.close()

    def reset(self):
        """Break all connections."""

        def close():
            for pair in list(self.open):
                for writer in pair:
                    writer.transport.abort()

        self.loop.call_soon_threadsafe(close)

    @property
    def address(self):
        return f"tcp://{self.host}:{self.port}"


def run(*words):
    subprocess.run(words, check=True, capture_output=True)


class Host:
    """A network namespace with a link to here, or loopback."""

    def __init__(self, number):
        self.name, self.link = f"gapfit{number}", f"gapfit{number}"
        self.here, self.there, self.inside = f"10.77.{number}.1", f"10.77.{number}.2", []
        try:
            run("ip", "netns", "add", self.name)
            run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "away", "netns", self.name)
            run("ip", "addr", "add", f"{self.here}/24", "dev", self.link)
            run("ip", "link", "set", self.link, "up")
            self.inside = ["ip", "netns", "exec", self.name]
            run(*self.inside, "ip", "addr", "add", f"{self.there}/24", "dev", "away")
            run(*self.inside, "ip", "link", "set", "away", "up")
            run(*self.inside, "ip", "link", "set", "lo", "up")
            run(*self.inside, "ip", "route", "add", "default", "via", self.here)
        except (OSError, subprocess.CalledProcessError) as error:
            told = getattr(error, "stderr", b"") or b""
            print(f"no namespaces here, so loopback: {error} {told.decode().strip()}", flush=True)
            self.close()
            self.here = self.there = "127.0.0.1"
            self.inside = []

    def set_link(self, state):
        if self.inside:
            run("ip", "link", "set", self.link, state)

    def close(self):
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True)
        subprocess.run(["ip", "link", "del", self.link], capture_output=True)


@contextmanager
def two_hosts():
    """A client, and for each worker its host and its relay."""
    from distributed import Client

    hosts = [Host(1), Host(2)]
    processes, quiet = [], {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = hosts[0].here, 18786
    try:
        command = ["distributed.cli.dask_scheduler", "--host", scheduler[0], "--port", str(scheduler[1])]
        processes.append(subprocess.Popen([*PYTHON, *command, "--no-dashboard", "--no-show"], **quiet))
        links = []
        for k, host in enumerate(hosts):
            port = 18790 + k
            out, back = Relay(host.here, scheduler), Relay(host.here, (host.there, port))
            command = [
                "distributed.cli.dask_worker", out.address, "--nthreads", "1", "--no-dashboard", "--no-nanny",
                "--listen-address", f"tcp://{host.there}:{port}", "--contact-address", back.address,
                "--local-directory", tempfile.mkdtemp(prefix="gapfit-worker-"),
            ]  # fmt: skip
            environment = {**os.environ, "DASK_DISTRIBUTED__WORKER__PROFILE__INTERVAL": "1s"}
            processes.append(subprocess.Popen([*host.inside, *PYTHON, *command], env=environment, **quiet))
            links.append((host, [out, back]))
        with Client(f"tcp://{scheduler[0]}:{scheduler[1]}", timeout="60s") as client:
            client.wait_for_workers(2, timeout=90)
            yield client, links
    finally:
        for process in processes:
            process.send_signal(signal.SIGKILL)
        for host in hosts:
            host.close()


def later(seconds, *steps):
    """Do these things one after the other, with pauses, while somebody else fits."""

    def follow():
        for step in steps:
            time.sleep(seconds)
            step()

    threading.Thread(target=follow, daemon=True).start()


def trouble(kind, links):
    """Begin it."""
    relays = [relay for _, pair in links for relay in pair]
    host, mine = links[0]
    if kind == "slow":
        for relay in relays:
            relay.delay = 0.02
    elif kind == "lossy":
        for relay in relays:
            relay.loss = 0.01
    elif kind == "resets":
        later(2.0, *[relay.reset for relay in (*mine, *mine)])
    elif kind == "flaps":
        later(3.0, lambda: host.set_link("down"), lambda: host.set_link("up"))
    elif kind == "cut":

        def silence():
            host.set_link("down")
            for relay in mine:
                relay.silent = True

        later(3.0, silence)


def samples(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) + 0.5 > 0, 1.0, -1.0)


def main():
    import dask.array as da

    from gapfit import Problem, solve
    from gapfit.cluster import as_design
    from gapfit.errors import ClusterLost

    X, y = samples(20_000, 30)
    here = solve(Problem(X, y, "hinge", alpha=1e-4), tol=1e-6).certificate
    for kind in ("none", *(sys.argv[1:] or ("slow", "lossy", "resets", "flaps", "cut"))):
        with two_hosts() as (client, links):
            trouble(kind, links)
            began, ends, rounds = time.monotonic(), [], 0
            while time.monotonic() - began < 12 or not ends:
                try:
                    design = as_design(da.from_array(X, chunks=(2500, 30)), client, patience=120)
                    found = solve(Problem(design, y, "hinge", alpha=1e-4), "bundle", tol=1e-3)
                    assert found.certificate.dual <= here.primal  # whatever was lost on the way
                    ends.append(found.status.name)
                    rounds += found.cost.passes
                except ClusterLost as error:
                    ends.append(f"ClusterLost: {error}")
                    break
            seconds = time.monotonic() - began
            told = ", ".join(f"{ends.count(end)} {end}" for end in dict.fromkeys(ends))
            print(
                f"{kind}: {told}; {seconds:.1f} s, {1e3 * seconds / max(rounds, 1):.0f} ms a round",
                flush=True,
            )


if __name__ == "__main__":
    main()
