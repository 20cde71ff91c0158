"""Runs the benchmarks against the server that the environment names; bench/run starts one."""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks import (
    ASYNCHRONOUS,
    BENCHMARKS,
    SMALL,
    Benchmark,
    BuffersBenchmark,
    DeletionBenchmark,
    HandOverBenchmark,
    IdleBenchmark,
    LatencyBenchmark,
    MemoryBenchmark,
    QuestionBenchmark,
    RedisBenchmark,
    RewriteBenchmark,
    ToolBenchmark,
    VersionBenchmark,
)
from buffers import count_buffers
from deletion import delete
from hand_over import hand_over
from idle import rest
from latency import watch_latency
from machines import ask, rewrite
from redis_locks import against_redis
from report import Report, Result
from rounds import alternate, note, ratios, typical
from server import Load, Measured, Sessions, create_database, create_template, psql, settings, version
from tool import start_tools
from versions import rewrite_versions

SMALL_DATABASE = "bench_small"
LARGE_DATABASE = "bench_large"

# Seconds after which sessions have made their plans, and have met most pages of the large table: a session pays
# for the first sight of each page of the shared buffers.
WARM = 1
WARM_LARGE = 15
# Calls after which a session has filled its caches.
WARM_CALLS = 10_000
PATIENCE = 5

# Whether everything runs, and nothing else.
QUICK = {"rounds": 2, "seconds": 1, "records": 100_000, "calls": 20_000}


class Comparison:
    """Measures the arms of a benchmark in turn."""

    def __init__(self, benchmark: Benchmark, options: argparse.Namespace) -> None:
        self.benchmark = benchmark
        self.options = options
        self.sessions = Sessions()

    def prepare(self) -> None:
        if self.benchmark.schema:
            create_template(SMALL_DATABASE, self.benchmark.schema, {"records": self.benchmark.records})
        else:
            create_database(SMALL_DATABASE, self.benchmark.records)
        if self.benchmark.large:
            note(f"filling a table with {self.options.records:,} records")
            create_database(LARGE_DATABASE, self.options.records)

    def load(self, name: str) -> Load:
        arm = self.benchmark.arms[name]
        records = self.options.records if arm.large else self.benchmark.records or SMALL
        return Load(arm.script, arm.clients or self.benchmark.clients, {"records": str(records), "seq": "0"},
                    WARM_LARGE if arm.large else WARM, self.options.seconds, arm.transactions, arm.settings)

    def measure(self, name: str) -> Measured:
        arm = self.benchmark.arms[name]
        database = LARGE_DATABASE if arm.large else SMALL_DATABASE
        before = int(psql(database, f"{arm.before}{arm.count()}").splitlines()[-1])
        measured = self.load(name).run(database, self.sessions)
        expected = arm.adds * measured.transactions
        # The statistics of servers before 15 come a little later than the session ends.
        deadline = time.monotonic() + (PATIENCE if arm.updates or arm.twice else 0)
        while (added := int(psql(database, arm.count())) - before) != expected:
            if time.monotonic() > deadline:
                sys.exit(f"{arm.script}: {measured.transactions} transactions made {added} rows in {arm.table}")
            time.sleep(0.1)
        note(f"{self.benchmark.name}: {name} {typical(name, [{name: measured}])}")
        return measured

    def results(self) -> list[Result]:
        self.prepare()
        rounds = alternate(list(self.benchmark.arms), self.options.rounds, self.measure)
        return [
            Result(f"{self.benchmark.about}: {row.text}", ratios(row.ours, row.theirs, rounds, row.cost),
                   typical(row.ours, rounds), typical(row.theirs, rounds), row.least, row.most)
            for row in self.benchmark.rows
        ]


def watch_memory(benchmark: MemoryBenchmark, options: argparse.Namespace) -> list[Result]:
    create_database(SMALL_DATABASE, SMALL)
    total = options.calls
    warm = min(total // 2, WARM_CALLS)
    variables = {"records": str(SMALL), "calls": "0", "warm": str(warm), "total": str(total)}
    Load(benchmark.script, 1, variables, transactions=total, options=ASYNCHRONOUS).run(SMALL_DATABASE, Sessions())
    # The first sample, at the first call, paid for what the sampling itself needs.
    sampled = psql(SMALL_DATABASE, "SELECT private_kb FROM memory ORDER BY calls OFFSET 1;").splitlines()
    first, last = (int(line) for line in sampled)
    note(f"{benchmark.name}: {first} kB after {warm} calls, {last} kB after {total}")
    growth = (last - first) * 1024 / (total - warm)
    text = f"{benchmark.about}: bytes by which a session's memory grows a call, from call {warm:,} to call {total:,}"
    return [Result(text, [growth], f"{last:,} kB", f"{first:,} kB", most=benchmark.most, unit="")]


def compare(benchmark: Benchmark, options: argparse.Namespace) -> list[Result]:
    return Comparison(benchmark, options).results()


MEASURES = {
    Benchmark: compare,
    MemoryBenchmark: watch_memory,
    DeletionBenchmark: delete,
    LatencyBenchmark: watch_latency,
    BuffersBenchmark: count_buffers,
    IdleBenchmark: rest,
    RewriteBenchmark: rewrite,
    VersionBenchmark: rewrite_versions,
    QuestionBenchmark: ask,
    RedisBenchmark: against_redis,
    HandOverBenchmark: hand_over,
    ToolBenchmark: start_tools,
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run", description="Measures pg_idem against hand-written statements.")
    parser.add_argument("names", metavar="NAME", nargs="*", help="a benchmark; without a name: all of them")
    parser.add_argument("--list", action="store_true", help="name the benchmarks and measure nothing")
    parser.add_argument("--rounds", type=int, default=5, help="alternations of each comparison (%(default)s)")
    parser.add_argument("--seconds", type=int, default=6, help="seconds that each measurement counts (%(default)s)")
    parser.add_argument("--records", type=int, default=10_000_000, help="records of the large table (%(default)s)")
    parser.add_argument("--calls", type=int, default=1_000_000, help="calls of one session (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="measure next to nothing, to see whether it runs")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a floor is not met")
    parser.add_argument("--record", action="store_true", help="put the results into bench/README.md")
    if parser.parse_args().quick:
        parser.set_defaults(**QUICK)
    options = parser.parse_args()
    unknown = set(options.names) - {benchmark.name for benchmark in BENCHMARKS}
    if unknown:
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; --list names them")
    return options


def measure(options: argparse.Namespace) -> Report:
    report = Report(options, version(), settings())
    for benchmark in BENCHMARKS:
        if options.names and benchmark.name not in options.names:
            continue
        report.add(MEASURES[type(benchmark)](benchmark, options))
    return report


def main() -> int:
    options = parse_arguments()
    if options.list:
        for benchmark in BENCHMARKS:
            print(f"{benchmark.name:<22}{benchmark.about}")
        return 0
    report = measure(options)
    print(report.markdown())
    return 1 if options.check and report.missed() else 0


if __name__ == "__main__":
    sys.exit(main())
