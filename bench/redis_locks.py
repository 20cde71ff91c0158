"""Durable locks against those of a Redis server that writes each of them to the disk, too."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks import Arm, RedisBenchmark
from program import compiled, directory
from report import Result
from rounds import alternate, note, ratios, typical
from server import Load, Measured, Sessions, create_template, psql, run, status_of

DATABASE = "bench_locks"
WARM = 1
PATIENCE = 30

# Debian's package of the server starts a service. The same program is in the package of its tools, under the name of
# a check; it goes by the name that it is called by.
PROGRAMS = ("redis-server", "redis-check-rdb")

# Every write is on the disk before it is answered, as a commit is. Nothing is rewritten in the middle of a measurement.
SETTINGS = {"port": "0", "appendonly": "yes", "appendfsync": "always", "save": "",
            "auto-aof-rewrite-percentage": "0"}


def installed() -> str | None:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Redis:
    """A throw-away server on a socket of its own, with its files on the disk where PostgreSQL has its own."""

    def __init__(self, place: Path) -> None:
        self.socket = str(place / "socket")
        options = [word for name, value in SETTINGS.items() for word in (f"--{name}", value)]
        self.process = subprocess.Popen(
            ["redis-server", "--dir", str(place), "--unixsocket", self.socket, *options],
            executable=installed(), stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)

    def wait(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not Path(self.socket).exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit("the Redis server does not start")
            time.sleep(0.01)
        for name in ("appendonly", "appendfsync"):
            if self.ask("CONFIG", "GET", name).split() != [name, SETTINGS[name]]:
                sys.exit(f"the Redis server does not take {name}")

    def ask(self, *words: str) -> str:
        return run(["redis-cli", "-s", self.socket, *words])

    def processor_seconds(self) -> float:
        user, system = status_of(str(self.process.pid))[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def redis() -> Iterator[Redis]:
    """An empty one: a lock that another client had when it was stopped would last for its time."""
    with tempfile.TemporaryDirectory(dir=directory()) as place:
        server = Redis(Path(place))
        try:
            server.wait()
            yield server
        finally:
            server.process.terminate()
            server.process.wait()


def settled(arm: Arm) -> int:
    """The statistics of servers before 15 come a little later than the session ends."""
    last, count = -1, 0
    while count != last:
        last = count
        time.sleep(0.6)
        count = int(psql(DATABASE, arm.count()))
    return count


class Sides:
    """The same number of clients asks for the same locks at either server."""

    def __init__(self, benchmark: RedisBenchmark, options: argparse.Namespace) -> None:
        self.benchmark = benchmark
        self.options = options
        self.sessions = Sessions()
        self.client = compiled("redis_client")

    def measure(self, name: str) -> Measured:
        if name in self.benchmark.arms:
            measured = self.in_postgres(name)
        else:
            measured = self.in_redis(*self.benchmark.redis[name])
        note(f"{self.benchmark.name}: {name} {typical(name, [{name: measured}])}")
        return measured

    def in_postgres(self, name: str) -> Measured:
        arm = self.benchmark.arms[name]
        before = int(psql(DATABASE, f"{arm.before}{arm.count()}").splitlines()[-1])
        load = Load(arm.script, self.benchmark.clients, {}, WARM, self.options.seconds, options=arm.settings)
        measured = load.run(DATABASE, self.sessions)
        granted = settled(arm) - before
        if granted == 0 or (arm.adds and granted != measured.transactions):
            sys.exit(f"{arm.script}: {measured.transactions} transactions had {granted} locks")
        # Where a transaction may find the lock taken, what counts is how often it was had.
        share = granted / measured.transactions
        return replace(measured, throughput=measured.throughput * share, processor=measured.processor / share)

    def in_redis(self, names: str, pause: int) -> Measured:
        threads = min(self.benchmark.clients, os.cpu_count() or 1)
        command = [self.client, "SOCKET", self.benchmark.clients, threads, WARM, self.options.seconds, names, pause]
        with redis() as server:
            command[1] = server.socket
            with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) as client:
                assert client.stdout is not None
                client.stdout.readline()
                used = server.processor_seconds()
                output = client.stdout.read()
                used = server.processor_seconds() - used
        if client.returncode != 0:
            sys.exit("redis_client failed")
        pairs, refusals, seconds = output.split()
        if int(pairs) == 0 or (names == "own" and int(refusals) > 0):
            sys.exit(f"redis_client: had {pairs} locks, and found {refusals} taken")
        return Measured(int(pairs), int(pairs) / float(seconds), used * 1e6 / int(pairs))


def against_redis(benchmark: RedisBenchmark, options: argparse.Namespace) -> list[Result]:
    if installed() is None or shutil.which("redis-cli") is None:
        note(f"{benchmark.name}: LEFT OUT, because there is no redis-server; dev/prepare bench installs one")
        return [Result(f"{benchmark.about}: **left out, no redis-server**", [], "", "")]
    create_template(DATABASE, "locks", {})
    sides = Sides(benchmark, options)
    rounds = alternate([*benchmark.arms, *benchmark.redis], options.rounds, sides.measure)
    return [
        Result(f"{benchmark.about}: {row.text}", ratios(row.ours, row.theirs, rounds), typical(row.ours, rounds),
               typical(row.theirs, rounds), row.least)
        for row in benchmark.rows
    ]
