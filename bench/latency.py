"""What others notice of the cleanup worker while it deletes."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import LatencyBenchmark
from cleanup import CLUSTERED, DATABASE, ONE_VISIT, SPREAD, Cleanup, provide_template
from report import Result
from rounds import alternate, note
from server import Load, configure, psql


def percentile(micros: list[int]) -> float:
    return sorted(micros)[int(len(micros) * 0.99)]


@dataclass(frozen=True)
class Latencies:
    """Of the transactions that ended in some time, from their begin, and from when they were due."""

    seconds: float
    micros: list[int]
    with_wait: list[int]

    def p99(self) -> float:
        return percentile(self.micros)

    def p99_with_wait(self) -> float:
        return percentile(self.with_wait)

    def text(self) -> str:
        return (f"{self.p99() / 1000:.2f} ms ({self.p99_with_wait() / 1000:.2f} ms),"
                f" {len(self.micros) / self.seconds:,.0f}/s")


def logged(directory: Path, start: float, end: float) -> Latencies:
    """The transactions that ended in between, from the logs of pgbench's threads."""
    latencies = Latencies(end - start, [], [])
    for log in directory.glob("latency.*"):
        for line in log.read_text(encoding="ascii").splitlines():
            fields = line.split()
            if start <= int(fields[4]) + int(fields[5]) / 1e6 <= end:
                latencies.micros.append(int(fields[2]) - int(fields[6]))
                latencies.with_wait.append(int(fields[2]))
        log.unlink()
    if not latencies.micros:
        sys.exit("no transaction ended while cleanup ran")
    return latencies


@dataclass(frozen=True)
class Meanwhile:
    template: str
    rows_per_second: int | None  # 0: no limit; None: no cleanup


class Foreground:
    """begin + finish, logged by pgbench, in a copy of the records that may be cleaned meanwhile."""

    WARM = 2

    def __init__(self, benchmark: LatencyBenchmark, options: argparse.Namespace) -> None:
        self.benchmark = benchmark
        self.options = options
        self.directory = Path(os.environ["IDEM_CLUSTER_DIR"], "out")
        self.arms = {
            "alone": Meanwhile(CLUSTERED, None),
            "side by side": Meanwhile(CLUSTERED, 0),
            "limited": Meanwhile(CLUSTERED, benchmark.rows_per_second),
            "all over": Meanwhile(SPREAD, 0),
        }

    def load(self) -> subprocess.Popen[str]:
        load = Load("begin_finish_idem", self.benchmark.clients, {}, self.WARM, self.options.seconds)
        command = [*load.command(DATABASE), "-R", str(self.benchmark.rate), "-l",
                   f"--log-prefix={self.directory / 'latency'}"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def measure(self, arm: str) -> Latencies:
        meanwhile = self.arms[arm]
        configure({**ONE_VISIT, "idem.cleanup_rows_per_second": str(meanwhile.rows_per_second or 0)})
        cleanup = Cleanup(meanwhile.template)
        with self.load() as pgbench:
            time.sleep(self.WARM)
            start = time.time()
            if meanwhile.rows_per_second is not None:
                cleanup.start()
            output, _ = pgbench.communicate()
        end = time.time()
        if pgbench.returncode != 0:
            sys.exit(f"pgbench failed:\n{output}")
        if meanwhile.rows_per_second is not None:
            start, end = self.window(cleanup, end)
        latencies = logged(self.directory, start, end)
        note(f"{self.benchmark.name}: {arm} {latencies.text()} in {latencies.seconds:.1f} s")
        return latencies

    def window(self, cleanup: Cleanup, end: float) -> tuple[float, float]:
        psql(DATABASE, "SELECT idem_cleanup_pause();")
        cleanup.sessions.wait_for_end()
        start, finish, error = cleanup.ask("extract(epoch FROM started_at), extract(epoch FROM finished_at),"
                                           " last_error")
        if error:
            sys.exit(f"cleanup failed: {error}")
        return float(start), min(end, float(finish or end))


def watch_latency(benchmark: LatencyBenchmark, options: argparse.Namespace) -> list[Result]:
    for template in (CLUSTERED, SPREAD):
        provide_template(template, options)
    foreground = Foreground(benchmark, options)
    rounds = alternate(list(foreground.arms), options.rounds, foreground.measure)

    def results(arm: str, text: str) -> list[Result]:
        middle = {name: sorted((measured[name] for measured in rounds), key=Latencies.p99)[len(rounds) // 2].text()
                  for name in (arm, "alone")}
        ratios = [measured[arm].p99() / measured["alone"].p99() for measured in rounds]
        with_wait = [measured[arm].p99_with_wait() / measured["alone"].p99_with_wait() for measured in rounds]
        text = f"{benchmark.about}: while {text}, against without"
        return [Result(text, ratios, middle[arm], middle["alone"], most=benchmark.most),
                Result(f"{text}, waiting in line included", with_wait, middle[arm], middle["alone"])]

    configure({})
    return [
        *results("side by side", "expired records side by side go"),
        *results("limited", f"{benchmark.rows_per_second:,} of them go a second"),
        *results("all over", "expired records all over the table go"),
    ]
