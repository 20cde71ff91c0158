"""How long it takes until a command runs that `pgidem lock` protects, against flock(1)."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path
from statistics import median

from benchmarks import ToolBenchmark
from program import compiled, directory
from report import Result
from rounds import alternate, note
from server import HERE, create_template, run

DATABASE = "bench_locks"
PGIDEM = HERE.parent / "pgidem"
TIMES_A_SECOND = 10


# Milliseconds from the start of a tool, by what it was until then.
Delays = dict[str, float]


def started(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """The command of the tool prints when it began."""
    reading, writing = os.pipe()
    begin = time.time_ns()
    child = os.posix_spawnp(command[0], command, environment, file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1)])
    _, status = os.waitpid(child, 0)
    end = time.time_ns()
    os.close(writing)
    printed = os.read(reading, 100)
    os.close(reading)
    if status != 0 or not printed:
        sys.exit(f"{' '.join(command)} failed")
    return (int(printed) - begin) / 1e6, (end - begin) / 1e6


class Tools:
    def __init__(self, benchmark: ToolBenchmark, options: argparse.Namespace, flock: str) -> None:
        self.benchmark = benchmark
        self.times = TIMES_A_SECOND * options.seconds
        moment = compiled("moment")
        self.environment = {**os.environ, "PGDATABASE": DATABASE}
        self.arms = {
            "pgidem lock": [str(PGIDEM), "lock", "nightly", "--", moment],
            "flock": [flock, str(directory() / "nightly"), moment],
            # What does as much without pgidem.
            "psql": ["psql", "-X", "-q", "-o", os.devnull, "-c", "SELECT pg_advisory_lock(1)", "-c", f"\\! {moment}"],
        }

    def measure(self, name: str) -> Delays:
        taken = [started(self.arms[name], self.environment) for _ in range(self.times)]
        delays = {"command": median(command for command, _ in taken), "end": median(end for _, end in taken)}
        note(f"{self.benchmark.name}: {name} {delays['command']:.2f} ms, {delays['end']:.2f} ms to its end")
        return delays


def start_tools(benchmark: ToolBenchmark, options: argparse.Namespace) -> list[Result]:
    flock = shutil.which("flock")
    if not os.access(PGIDEM, os.X_OK) or flock is None:
        note(f"{benchmark.name}: LEFT OUT, because there is no {'flock' if flock is None else PGIDEM}")
        return [Result(f"{benchmark.about}: **left out, no pgidem or no flock**", [], "", "")]
    create_template(DATABASE, "locks", {})
    tools = Tools(benchmark, options, flock)
    rounds = alternate(list(tools.arms), options.rounds, tools.measure)

    def result(what: str, other: str, text: str, most: float | None = None) -> Result:
        ours, theirs = (median(one[name][what] for one in rounds) for name in ("pgidem lock", other))
        return Result(f"{benchmark.about}: start to {what}, against {text}",
                      [one["pgidem lock"][what] / one[other][what] for one in rounds],
                      f"{ours:.2f} ms", f"{theirs:.2f} ms", most=most)

    return [
        result("command", "flock", "flock", benchmark.most),
        result("command", "psql", "psql with pg_advisory_lock and \\!"),
        result("end", "flock", "flock"),
    ]
