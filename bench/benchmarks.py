"""What is compared with what. The arms of a benchmark are measured in turn; its rows are ratios between two of them."""

from __future__ import annotations

from dataclasses import dataclass

SMALL = 10_000

ASYNCHRONOUS = "-c synchronous_commit=off"
BY_SQL = "-c idem.direct_access=off"

EMPTY = "TRUNCATE idem_records, requests, orders;\nCHECKPOINT;\n"
INDEXED = EMPTY + "CREATE INDEX IF NOT EXISTS requests_created_at_idx ON requests (created_at);\n"
BARE = EMPTY + "DROP INDEX IF EXISTS requests_created_at_idx;\n"
REFILL = f"\\set records {SMALL}\n\\i bench/fill.sql\nCHECKPOINT;\n"


@dataclass(frozen=True)
class Arm:
    """One side of a comparison."""

    script: str
    before: str = ""  # psql's input before each measurement
    # How many rows a transaction adds to the table, so that a script that quietly fails is noticed.
    table: str = "idem_records"
    adds: int = 0
    settings: str = ""
    large: bool = False
    # Transactions of each client, where a measurement of some length would change the size of the table.
    transactions: int = 0


@dataclass(frozen=True)
class Row:
    """Throughput of one arm as a multiple of another's, or cost: the same the other way round."""

    text: str
    ours: str
    theirs: str
    least: float | None = None
    most: float | None = None
    cost: bool = False


@dataclass(frozen=True)
class Benchmark:
    name: str
    about: str
    arms: dict[str, Arm]
    rows: list[Row]
    clients: int = 4
    records: int = 0  # finished keys in the small database at the start
    large: bool = False


def begin_finish(name: str, commit: str, settings: str) -> Benchmark:
    return Benchmark(
        name,
        f"begin + finish in one transaction, {commit}",
        {
            "pg_idem": Arm("begin_finish_idem", EMPTY, adds=1, settings=settings),
            "by hand": Arm("begin_finish_hand", INDEXED, "requests", 1, settings),
            "by hand, no index": Arm("begin_finish_hand", BARE, "requests", 1, settings),
        },
        [
            Row("against a hand-written table", "pg_idem", "by hand", least=1.0),
            Row("against one without the index for its cleanup", "pg_idem", "by hand, no index"),
        ],
    )


def execute(name: str, commit: str, settings: str) -> Benchmark:
    return Benchmark(
        name,
        f"idem_execute, {commit}",
        {
            "idem_execute": Arm("execute_idem", EMPTY, adds=1, settings=settings),
            "separate": Arm("execute_separate", EMPTY, adds=1, settings=settings),
            "by hand": Arm("execute_hand", INDEXED, "requests", 1, settings),
        },
        [
            Row("against separate statements", "idem_execute", "separate", least=1.5),
            Row("against separate statements and a hand-written table", "idem_execute", "by hand"),
        ],
    )


def replay(name: str, about: str, records: int, clients: int) -> Benchmark:
    return Benchmark(
        name,
        about,
        {
            "pg_idem": Arm("replay_idem"),
            "by hand": Arm("replay_hand", table="requests"),
            "all columns": Arm("replay_all_idem"),
            "same columns": Arm("replay_all_select"),
            "by SQL": Arm("replay_idem", settings=BY_SQL),
        },
        [
            Row("against SELECT by primary key", "pg_idem", "by hand", least=1.0),
            Row("all columns against SELECT of the same columns", "all columns", "same columns"),
            Row("all columns against SELECT by primary key", "all columns", "by hand"),
            Row("idem.direct_access = off against SELECT by primary key", "by SQL", "by hand"),
        ],
        clients=clients,
        records=records,
    )


def growth() -> Benchmark:
    few = {"before": REFILL, "adds": 1, "transactions": 4000}
    many = {"large": True, "adds": 1}
    return Benchmark(
        "growth",
        "many records against 10,000",
        {
            "begin, few": Arm("begin_idem", **few),
            "begin, many": Arm("begin_idem", **many),
            "begin, few, asynchronous": Arm("begin_idem", settings=ASYNCHRONOUS, **few),
            "begin, many, asynchronous": Arm("begin_idem", settings=ASYNCHRONOUS, **many),
            "INSERT, few, asynchronous": Arm("begin_hand", table="requests", settings=ASYNCHRONOUS, **few),
            "INSERT, many, asynchronous": Arm("begin_hand", table="requests", settings=ASYNCHRONOUS, **many),
            "replay, few": Arm("replay_idem", REFILL),
            "replay, many": Arm("replay_idem", large=True),
            "SELECT, few": Arm("replay_hand", REFILL, "requests"),
            "SELECT, many": Arm("replay_hand", table="requests", large=True),
        },
        [
            Row("cost of begin", "begin, many", "begin, few", most=1.25, cost=True),
            Row("cost of begin, asynchronous commit", "begin, many, asynchronous", "begin, few, asynchronous",
                most=1.25, cost=True),
            Row("cost of a hand-written INSERT, asynchronous commit", "INSERT, many, asynchronous",
                "INSERT, few, asynchronous", cost=True),
            Row("cost of replay", "replay, many", "replay, few", most=1.25, cost=True),
            Row("cost of a hand-written SELECT", "SELECT, many", "SELECT, few", cost=True),
        ],
        large=True,
    )


@dataclass(frozen=True)
class MemoryBenchmark:
    """Private memory of one session before and after very many calls. Growth is in bytes per call."""

    name: str
    about: str
    script: str
    most: float


@dataclass(frozen=True)
class DeletionBenchmark:
    """The cleanup worker against a DELETE in batches of the same size."""

    name: str
    about: str
    settings: str  # of the database
    least: float


@dataclass(frozen=True)
class LatencyBenchmark:
    """begin + finish while the cleanup worker deletes, against without."""

    name: str
    about: str
    clients: int
    rate: int  # transactions per second
    rows_per_second: int
    most: float


@dataclass(frozen=True)
class BuffersBenchmark:
    """Buffers that the cleanup worker looks at while an old snapshot is open, against without."""

    name: str
    about: str
    rounds: int  # the numbers hardly vary
    most: float


@dataclass(frozen=True)
class IdleBenchmark:
    """What the launcher does when there is nothing to do."""

    name: str
    about: str
    naptimes: dict[str, int]  # as set, and in seconds
    warm: int
    most: float


AnyBenchmark = (
    Benchmark | MemoryBenchmark | DeletionBenchmark | LatencyBenchmark | BuffersBenchmark | IdleBenchmark
)

BENCHMARKS: list[AnyBenchmark] = [
    begin_finish("begin_finish", "durable commits", ""),
    begin_finish("begin_finish_async", "asynchronous commits", ASYNCHRONOUS),
    execute("execute", "durable commits", ""),
    execute("execute_async", "asynchronous commits", ASYNCHRONOUS),
    replay("replay", "replay", SMALL, 4),
    replay("hot_key", "64 clients replay one key", 1, 64),
    growth(),
    MemoryBenchmark("memory_begin_finish", "begin + finish", "memory_begin_finish", most=1.0),
    MemoryBenchmark("memory_replay", "replay", "memory_replay", most=1.0),
    DeletionBenchmark("cleanup", "one of ten records deleted, durable commits", "synchronous_commit = on", least=0.9),
    DeletionBenchmark("cleanup_async", "one of ten records deleted, asynchronous commits", "synchronous_commit = off",
                      least=0.9),
    LatencyBenchmark("cleanup_latency", "99th percentile of begin + finish, 1,000 a second", clients=4, rate=1000,
                     rows_per_second=10_000, most=1.3),
    BuffersBenchmark("cleanup_buffers", "buffers of a batch with an old snapshot open, against without", rounds=1,
                     most=1.5),
    IdleBenchmark("cleanup_idle", "idle", naptimes={"1min": 60, "1s": 1}, warm=20, most=1.0),
]
