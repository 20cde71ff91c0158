"""What the launcher of cleanup workers costs when there is nothing to do."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import IdleBenchmark
from report import Result, first_match
from rounds import note
from server import configure, psql

DATABASE = "bench_idle"


@dataclass(frozen=True)
class Used:
    switches: int
    seconds: float


class Launcher:
    def __init__(self) -> None:
        self.process = Path("/proc", psql("postgres", "SELECT pid FROM pg_stat_activity"
                                                      " WHERE backend_type = 'pg_idem cleanup launcher';"))

    def used(self) -> Used:
        switches = first_match(self.process / "status", r"^voluntary_ctxt_switches:\s*(\d+)")
        nanoseconds = first_match(self.process / "schedstat", r"^(\d+)")
        return Used(int(switches), int(nanoseconds) / 1e9)


def rest(benchmark: IdleBenchmark, options: argparse.Namespace) -> list[Result]:
    results = []
    psql("postgres", f"DROP DATABASE IF EXISTS {DATABASE};\nCREATE DATABASE {DATABASE};")
    psql(DATABASE, "CREATE EXTENSION pg_idem;")
    for naptime, length in benchmark.naptimes.items():
        configure({"idem.cleanup": "on", "idem.cleanup_naptime": naptime})
        launcher = Launcher()
        # Databases that it has not met yet get a visit, the next one ten of these naptimes later.
        time.sleep(benchmark.warm)
        seconds = max(10 * options.seconds, 2 * length)
        before = launcher.used()
        time.sleep(seconds)
        after = launcher.used()
        wakes = (after.switches - before.switches) * length / seconds
        percent = (after.seconds - before.seconds) / seconds * 100
        text = f"{benchmark.about}, naptime {naptime}"
        used = f"{percent:.4f} % of a core"
        results.append(Result(f"{text}: wake-ups of the launcher in a naptime", [wakes], used, "",
                              most=benchmark.most, unit=""))
        note(f"{text}: {wakes:.2f} wake-ups in a naptime, {used}")
    configure({})
    return results
