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

# Tables of machines.sql with fewer orders, for statements that change one of them.
ORDERS = 100_000
VACUUMED = (
    "TRUNCATE idem_records, idem_history, events;\n"
    "VACUUM bare.orders, attached.orders, kept.orders;\n"
    "CHECKPOINT;\n"
)


# What a lock left behind is gone, and no row has a history of old versions.
NO_LOCKS = "TRUNCATE idem_records, locks;\nCHECKPOINT;\n"
NO_IDS = "TRUNCATE by_snowflake, by_nextval;\nCHECKPOINT;\n"


# Batches that the producer with a long history has behind it.
ACCEPTED = 1_000_000
USED_PRODUCERS = "VACUUM idem_producers, progress;\nCHECKPOINT;\n"
# What came with the schema stays known.
NO_NEW_MESSAGES = (
    f"DELETE FROM idem_records WHERE length(key) > length('orders:{SMALL}');\n"
    f"DELETE FROM seen WHERE length(message) > length('{SMALL}');\n"
    "VACUUM idem_records, seen;\nCHECKPOINT;\n"
)


@dataclass(frozen=True)
class Arm:
    """One side of a comparison."""

    script: str
    before: str = ""  # psql's input before each measurement
    # How many rows a transaction adds to the table, so that a script that quietly fails is noticed.
    table: str = "idem_records"
    adds: int = 0
    updates: bool = False  # it changes rows of the table, and adds none
    twice: bool = False  # it writes each of those rows twice, whichever way
    settings: str = ""
    large: bool = False
    # Transactions of each client, where a measurement of some length would change the size of the table.
    transactions: int = 0
    clients: int = 0  # 0: as many as the benchmark says

    def count(self) -> str:
        if self.updates:
            return f"SELECT pg_stat_get_tuples_updated('{self.table}'::regclass);"
        if self.twice:
            return ("SELECT (n_tup_ins + n_tup_upd + n_tup_del) / 2 FROM pg_stat_user_tables"
                    f" WHERE relid = '{self.table}'::regclass;")
        return f"SELECT count(*) FROM {self.table};"


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
    records: int = 0  # finished keys in the small database at the start, or whatever its schema has
    large: bool = False
    schema: str = ""  # a script that fills the small database instead


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


def in_schema(variant: str, settings: str) -> str:
    """Of machines.sql: the scripts say orders, and the search path which ones."""
    return f"-c search_path={variant},public {settings}"


def update_status(name: str, commit: str, settings: str) -> Benchmark:
    arms = {
        f"{variant}, {clients}": Arm("update_status", VACUUMED, f"{variant}.orders", 1, updates=True,
                                     settings=in_schema(variant, settings), clients=clients)
        for clients in (1, 2)
        for variant in ("bare", "attached", "kept")
    }
    rows = []
    for clients, text in ((1, "one client"), (2, "two clients")):
        rows += [
            Row(f"state machine, {text}, cost", f"attached, {clients}", f"bare, {clients}", most=1.05, cost=True),
            Row(f"with history, {text}, cost", f"kept, {clients}", f"bare, {clients}", cost=True),
        ]
    return Benchmark(name, f"UPDATE of one status, {commit}", arms, rows, records=ORDERS, schema="orders")


def fire() -> Benchmark:
    bare, attached = in_schema("bare", ASYNCHRONOUS), in_schema("attached", ASYNCHRONOUS)
    return Benchmark(
        "machine_fire",
        "idem_fire, asynchronous commits",
        {
            "idem_fire": Arm("fire_idem", VACUUMED, "attached.orders", 1, updates=True, settings=attached),
            "statements": Arm("fire_hand", VACUUMED, "bare.orders", 1, updates=True, settings=bare),
            "function": Arm("fire_function", VACUUMED, "bare.orders", 1, updates=True, settings=bare),
            "idem_fire once": Arm("fire_once_idem", VACUUMED, adds=1, settings=attached),
            "statements once": Arm("fire_once_hand", VACUUMED, "events", 1, settings=bare),
            "function once": Arm("fire_once_function", VACUUMED, "events", 1, settings=bare),
        },
        [
            Row("against SELECT … FOR UPDATE, check, UPDATE", "idem_fire", "statements"),
            Row("against a PL/pgSQL function with the same", "idem_fire", "function"),
            Row("with event id, against INSERT … ON CONFLICT and the same", "idem_fire once", "statements once"),
            Row("with event id, against a PL/pgSQL function with all that", "idem_fire once", "function once"),
        ],
        clients=2,
        records=ORDERS,
        schema="orders",
    )


def lock_arm(script: str, table: str = "idem_records", settings: str = "", adds: int = 1) -> Arm:
    """Both taking a lock and giving it back writes its row."""
    return Arm(script, NO_LOCKS, table, adds, twice=True, settings=settings)


def lock(name: str, commit: str, settings: str) -> Benchmark:
    return Benchmark(
        name,
        f"lock + unlock, {commit}",
        {
            "pg_idem": lock_arm("lock_idem", settings=settings),
            "by hand, UPDATE": lock_arm("lock_update", "locks", settings),
            "by hand, DELETE": lock_arm("lock_delete", "locks", settings),
            "pg_idem, new names": lock_arm("lock_new_idem", settings=settings),
            "by hand, new names": lock_arm("lock_new_delete", "locks", settings),
            "advisory": Arm("lock_advisory", NO_LOCKS, settings=settings),
        },
        [
            Row("against a hand-written table, UPDATE to release", "pg_idem", "by hand, UPDATE", least=1.0),
            Row("against a hand-written table, DELETE to release", "pg_idem", "by hand, DELETE", least=1.0),
            Row("new names, against a hand-written table, DELETE to release", "pg_idem, new names",
                "by hand, new names", least=1.0),
            Row("against pg_try_advisory_lock", "pg_idem", "advisory"),
        ],
        schema="locks",
    )


def accept(name: str, commit: str, settings: str) -> Benchmark:
    def arm(script: str, table: str, clients: int = 0, by: str = settings) -> Arm:
        return Arm(script, USED_PRODUCERS, table, 1, updates=True, settings=by, clients=clients)

    return Benchmark(
        name,
        f"idem_accept, {commit}",
        {
            "pg_idem": arm("accept_idem", "idem_producers"),
            "UPDATE": arm("accept_update", "progress"),
            "with window": arm("accept_window", "progress"),
            "by SQL": arm("accept_idem", "idem_producers", by=f"{settings} {BY_SQL}"),
            "after few": arm("accept_few_idem", "idem_producers", 1),
            "after many": arm("accept_many_idem", "idem_producers", 1),
        },
        [
            Row("against UPDATE … WHERE last_seq = $1 - 1", "pg_idem", "UPDATE", least=1.0),
            Row("against SELECT … FOR UPDATE, UPDATE with a window", "pg_idem", "with window", least=1.0),
            Row("idem.direct_access = off against UPDATE … WHERE last_seq = $1 - 1", "by SQL", "UPDATE"),
            Row("cost after 1,000,000 batches against after 10", "after many", "after few", most=1.1, cost=True),
        ],
        records=ACCEPTED,
        schema="streams",
    )


def accept_id(name: str, commit: str, settings: str) -> Benchmark:
    new = {"before": NO_NEW_MESSAGES, "adds": 1, "settings": settings}
    known = {"settings": settings}
    return Benchmark(
        name,
        f"idem_accept_id, {commit}",
        {
            "new": Arm("accept_id_new_idem", **new),
            "new, by hand": Arm("accept_id_new_hand", table="seen", **new),
            "known": Arm("accept_id_known_idem", **known),
            "known, by hand": Arm("accept_id_known_hand", table="seen", **known),
        },
        [
            Row("new ids, against INSERT … ON CONFLICT DO NOTHING", "new", "new, by hand", least=1.0),
            Row("known ids, against INSERT … ON CONFLICT DO NOTHING", "known", "known, by hand", least=1.0),
        ],
        records=SMALL,
        schema="messages",
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


@dataclass(frozen=True)
class RewriteBenchmark:
    """An UPDATE of the status of all rows, by what guards it."""

    name: str
    about: str
    most: dict[str, float]  # cost of a variant as a multiple of that of the bare table


@dataclass(frozen=True)
class VersionBenchmark:
    """An UPDATE of all rows, by what raises their versions."""

    name: str
    about: str
    most: dict[str, float]  # cost of a variant as a multiple of that of the bare table
    most_of: dict[str, float]  # cost of idem_version_attach as a multiple of that of a variant


@dataclass(frozen=True)
class QuestionBenchmark:
    """idem_can_transition against a function that does nothing."""

    name: str
    about: str
    most: float  # microseconds


@dataclass(frozen=True)
class RedisBenchmark:
    """Arms of pgbench against a Redis server."""

    name: str
    about: str
    clients: int
    arms: dict[str, Arm]
    redis: dict[str, tuple[str, int]]  # whose names, and milliseconds before one that is taken is asked for again
    rows: list[Row]


def redis_lock() -> RedisBenchmark:
    return RedisBenchmark(
        "lock_redis",
        "lock + unlock, 16 clients",
        16,
        {
            "pg_idem": lock_arm("lock_idem"),
            "by hand": lock_arm("lock_update", "locks"),
            "pg_idem, in line": lock_arm("lock_line_idem"),
            "pg_idem, trying": lock_arm("lock_try_idem", adds=0),
        },
        {"Redis": ("own", 0), "Redis, one name": ("shared", 1)},
        [
            Row("a name each, against Redis", "pg_idem", "Redis", least=0.8),
            Row("a name each, hand-written table against Redis", "by hand", "Redis"),
            Row("one name for all, waiting in line, against Redis", "pg_idem, in line", "Redis, one name", least=0.8),
            Row("one name for all, trying, against Redis", "pg_idem, trying", "Redis, one name"),
        ],
    )


@dataclass(frozen=True)
class HandOver:
    """A line of sessions for a lock."""

    lock: str = "SELECT idem_lock('one for all', '10 minutes', '5 minutes')"
    unlock: str = "SELECT idem_unlock('one for all')"
    waiters: int = 1
    settings: str = ""
    preloaded: bool = True
    most: float | None = None  # milliseconds


@dataclass(frozen=True)
class HandOverBenchmark:
    """The time from the end of an unlock to that of the next lock."""

    name: str
    about: str
    arms: dict[str, HandOver]


def lock_hand_over() -> HandOverBenchmark:
    return HandOverBenchmark(
        "lock_hand_over",
        "from unlock to the next one's lock",
        {
            "durable commits": HandOver(most=2.0),
            "durable commits, eight in line": HandOver(waiters=8, most=2.0),
            "asynchronous commits": HandOver(settings=ASYNCHRONOUS, most=2.0),
            "asynchronous commits, not preloaded": HandOver(settings=ASYNCHRONOUS, preloaded=False),
            "pg_advisory_lock": HandOver("SELECT pg_advisory_lock(1)", "SELECT pg_advisory_unlock(1)"),
        },
    )


def ids(name: str, commit: str, settings: str) -> Benchmark:
    # More ids than the clock has room for: they may run ahead of it.
    ours = f"-c idem.node_id=1 -c idem.max_clock_back=20d {settings}"
    return Benchmark(
        name,
        f"ids, {commit}",
        {
            "idem_snowflake": Arm("ids_snowflake", NO_IDS, settings=ours),
            "nextval": Arm("ids_nextval", NO_IDS, settings=settings),
            "batch": Arm("ids_batch", NO_IDS, settings=ours),
            "INSERT, idem_snowflake": Arm("ids_insert_snowflake", NO_IDS, "by_snowflake", 1, settings=ours),
            "INSERT, nextval": Arm("ids_insert_nextval", NO_IDS, "by_nextval", 1, settings=settings),
            "idem_uuid7": Arm("ids_uuid7", NO_IDS, settings=settings),
            "gen_random_uuid": Arm("ids_random_uuid", NO_IDS, settings=settings),
        },
        [
            Row("ten thousand of idem_snowflake against nextval", "idem_snowflake", "nextval", least=0.9),
            Row("INSERT with a default of idem_snowflake against nextval", "INSERT, idem_snowflake", "INSERT, nextval",
                least=0.9),
            Row("a batch of ten thousand against ten thousand of idem_snowflake", "batch", "idem_snowflake", least=5.0),
            Row("ten thousand of idem_uuid7 against gen_random_uuid", "idem_uuid7", "gen_random_uuid", least=1.0),
        ],
        clients=2,
        schema="ids",
    )


@dataclass(frozen=True)
class ToolBenchmark:
    """The time until a command runs under `pgidem lock`, against flock(1)."""

    name: str
    about: str
    most: float


AnyBenchmark = (
    Benchmark
    | MemoryBenchmark
    | DeletionBenchmark
    | LatencyBenchmark
    | BuffersBenchmark
    | IdleBenchmark
    | RewriteBenchmark
    | VersionBenchmark
    | QuestionBenchmark
    | RedisBenchmark
    | HandOverBenchmark
    | ToolBenchmark
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
    RewriteBenchmark("machine_rewrite", "UPDATE of every status", most={"attached": 1.1, "kept": 1.6}),
    update_status("machine_update", "durable commits", ""),
    update_status("machine_update_async", "asynchronous commits", ASYNCHRONOUS),
    QuestionBenchmark("machine_question", "idem_can_transition", most=0.3),
    fire(),
    VersionBenchmark("version_rewrite", "UPDATE of every row", most={"checked": 1.1},
                     most_of={"triggered": 1.1, "guarded": 1.0}),
    lock("lock", "durable commits", ""),
    lock("lock_async", "asynchronous commits", ASYNCHRONOUS),
    redis_lock(),
    lock_hand_over(),
    accept("accept", "durable commits", ""),
    accept("accept_async", "asynchronous commits", ASYNCHRONOUS),
    accept_id("accept_id", "durable commits", ""),
    accept_id("accept_id_async", "asynchronous commits", ASYNCHRONOUS),
    ToolBenchmark("lock_tool", "pgidem lock", most=3.0),
    ids("ids", "durable commits", ""),
    ids("ids_async", "asynchronous commits", ASYNCHRONOUS),
]
