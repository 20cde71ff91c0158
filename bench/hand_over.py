"""How long it takes until the next one in line has a lock that was given back."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from benchmarks import HandOver, HandOverBenchmark
from program import compiled, directory
from report import Result
from rounds import alternate, note
from server import create_template, run

DATABASE = "bench_locks"
TIMES_A_SECOND = 10

SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{place}'
shared_preload_libraries = ''
shared_buffers = 128MB
autovacuum = off
"""


@contextmanager
def not_preloaded() -> Iterator[dict[str, str]]:
    """A second server, without pg_idem in its shared memory; says where it is."""
    with tempfile.TemporaryDirectory(dir=directory()) as place:
        data = str(Path(place, "data"))
        run(["initdb", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-sync", data])
        with Path(data, "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(Path(os.environ["TEMP_CONFIG"]).read_text(encoding="utf-8") + SETTINGS.format(place=place))
        # A server holds on to what it inherits, and a pipe of ours would have no end.
        run(["pg_ctl", "start", "--wait", "--silent", f"--pgdata={data}", f"--log={place}/log"])
        where = {"PGHOST": place, "PGDATABASE": "postgres"}
        try:
            run(["psql", "-X", "-q", "-c", "CREATE EXTENSION pg_idem"], **where)
            yield where
        finally:
            run(["pg_ctl", "stop", "--mode=fast", "--silent", f"--pgdata={data}"])


@dataclass(frozen=True)
class Delays:
    """Milliseconds from the answer to the unlock, and from when it was sent."""

    answered: list[float]
    sent: list[float]

    def text(self) -> str:
        worst = quantiles(self.answered, n=100, method="inclusive")[98]
        return f"99th percentile {worst:.2f} ms, {median(self.sent):.2f} ms from sending it"


class Lines:
    def __init__(self, benchmark: HandOverBenchmark, options: argparse.Namespace, without: dict[str, str]) -> None:
        self.benchmark = benchmark
        self.times = str(TIMES_A_SECOND * options.seconds)
        self.without = without
        libraries = [run([os.environ["PG_CONFIG"], f"--{what}"]).strip() for what in ("includedir", "libdir")]
        self.program = compiled("hand_over", f"-I{libraries[0]}", f"-L{libraries[1]}", "-lpq")

    def measure(self, name: str) -> Delays:
        arm = self.benchmark.arms[name]
        where = {"PGDATABASE": DATABASE} if arm.preloaded else self.without
        output = run([self.program, str(arm.waiters), self.times, arm.lock, arm.unlock],
                     **where, PGOPTIONS=arm.settings)
        times = [[float(micros) / 1000 for micros in line.split()] for line in output.splitlines()]
        delays = Delays([answered for answered, _ in times], [sent for _, sent in times])
        note(f"{self.benchmark.name}: {name} {median(delays.answered):.3f} ms, {delays.text()}")
        return delays


def result(benchmark: HandOverBenchmark, name: str, arm: HandOver, rounds: list[dict[str, Delays]]) -> Result:
    middle = sorted((one[name] for one in rounds), key=lambda delays: median(delays.answered))[len(rounds) // 2]
    return Result(f"{benchmark.about}: {name}", [median(one[name].answered) for one in rounds], middle.text(), "",
                  most=arm.most, unit=" ms")


def hand_over(benchmark: HandOverBenchmark, options: argparse.Namespace) -> list[Result]:
    create_template(DATABASE, "locks", {})
    with not_preloaded() as without:
        lines = Lines(benchmark, options, without)
        rounds = alternate(list(benchmark.arms), options.rounds, lines.measure)
    return [result(benchmark, name, arm, rounds) for name, arm in benchmark.arms.items()]
