"""What it costs to have statuses judged by a state machine, in one large statement."""

from __future__ import annotations

import argparse
import os
import sys

from benchmarks import QuestionBenchmark, RewriteBenchmark
from cleanup import share
from report import Result
from rounds import alternate, note, ratios, typical
from server import Measured, Sessions, create_template, psql

DATABASE = "bench_machines"
SHAPES = {"narrow": "primary key only", "orders": "orders with three indexes"}
VARIANTS = {
    "attached": "state machine",
    "kept": "state machine with history",
    "guarded": "PL/pgSQL trigger with the transitions in a list",
    "triggered": "C trigger that does nothing",
}

EMPTIED = "TRUNCATE idem_history;\nVACUUM {variant}.orders;\nCHECKPOINT;\n"

# The session has seen the table before the clock starts, and all rows have the same status. The counts say whether
# all of them were changed, and whether the history has them.
REWRITE = """
SET search_path = {variant}, public;
SELECT CASE min(status) WHEN 'pending' THEN 'paid' ELSE 'pending' END AS target FROM orders \\gset
SELECT clock_timestamp() AS began, processor_ticks() AS used \\gset
UPDATE orders SET status = :'target';
SELECT extract(epoch FROM clock_timestamp() - :'began') AS seconds, processor_ticks() - :used AS used \\gset
SELECT count(*), (SELECT count(*) FROM idem_history), :seconds, :used FROM orders WHERE status = :'target';
"""

QUESTIONS = """
CREATE TABLE questions AS
SELECT states[1 + n % 7] AS from_state, states[1 + n / 7 % 7] AS to_state
FROM generate_series(1, {calls}) AS n,
    (SELECT array_agg(state) FROM idem_machine_states('order')) AS machine (states);
VACUUM (FREEZE, ANALYZE) questions;
"""

ASK = """
SET jit = off;
SELECT count({function}('order', from_state, to_state)) FROM questions \\g /dev/null
SELECT clock_timestamp() AS began, processor_ticks() AS used \\gset
SELECT count({function}('order', from_state, to_state)) AS asked FROM questions \\gset
SELECT :asked, extract(epoch FROM clock_timestamp() - :'began'), processor_ticks() - :used;
"""


def measured(times: int, seconds: str, ticks: str) -> Measured:
    used = int(ticks) / os.sysconf("SC_CLK_TCK")
    return Measured(times, times / float(seconds), used * 1e6 / times)


def rewrite_once(variant: str, rows: int, sessions: Sessions) -> Measured:
    psql(DATABASE, EMPTIED.format(variant=variant))
    sessions.wait_for_end()
    changed, kept, seconds, ticks = psql(DATABASE, REWRITE.format(variant=variant)).split("|")
    if int(changed) != rows or int(kept) != (rows if variant == "kept" else 0):
        sys.exit(f"{variant}: changed {changed} rows of {rows}, and {kept} of them are in the history")
    return measured(rows, seconds, ticks)


def rewrite(benchmark: RewriteBenchmark, options: argparse.Namespace) -> list[Result]:
    results = []
    rows = share(options)
    for shape, text in SHAPES.items():
        note(f"filling five tables with {rows:,} rows, {text}")
        create_template(DATABASE, shape, {"records": rows})
        sessions = Sessions()

        def measure(variant: str, shape: str = shape, sessions: Sessions = sessions) -> Measured:
            done = rewrite_once(variant, rows, sessions)
            note(f"{benchmark.name}, {shape}: {variant} {typical(variant, [{variant: done}])}")
            return done

        rounds = alternate(["bare", *VARIANTS], options.rounds, measure)
        results += [
            Result(f"{benchmark.about}, {rows:,} rows, {text}: {what}, cost", ratios(variant, "bare", rounds, True),
                   typical(variant, rounds), typical("bare", rounds), most=benchmark.most.get(variant))
            for variant, what in VARIANTS.items()
        ]
    return results


def ask(benchmark: QuestionBenchmark, options: argparse.Namespace) -> list[Result]:
    create_template(DATABASE, "narrow", {"records": 1})
    psql(DATABASE, QUESTIONS.format(calls=options.calls))

    def measure(function: str) -> Measured:
        asked, seconds, ticks = psql(DATABASE, ASK.format(function=function)).split("|")
        if int(asked) != options.calls:
            sys.exit(f"{function} answered {asked} questions of {options.calls}")
        return measured(options.calls, seconds, ticks)

    rounds = alternate([benchmark.about, "no_op"], options.rounds, measure)
    more = [1e6 / one[benchmark.about].throughput - 1e6 / one["no_op"].throughput for one in rounds]
    text = f"{benchmark.about}: time of a call beyond that of a function that does nothing"
    return [Result(text, more, typical(benchmark.about, rounds), typical("no_op", rounds), most=benchmark.most,
                   unit=" µs")]
