"""What it costs to have versions raised and checked, in one large statement."""

from __future__ import annotations

import argparse
import sys

from benchmarks import VersionBenchmark
from cleanup import share
from machines import measured
from report import Result
from rounds import alternate, note, ratios, typical
from server import Measured, Sessions, create_template, psql

DATABASE = "bench_versions"
VARIANTS = {
    "checked": "idem_version_attach",
    "guarded": "PL/pgSQL trigger",
    "triggered": "C trigger that changes nothing",
}
RAISES = ("checked", "guarded")

EMPTIED = "VACUUM {variant}.orders;\nCHECKPOINT;\n"

# The session has seen the table before the clock starts. The answer says whether every row was changed once more, and
# whether every version was raised.
REWRITE = """
SET search_path = {variant}, public;
SELECT sum(version) AS versions, sum(amount) AS amounts FROM orders \\gset
SELECT clock_timestamp() AS began, processor_ticks() AS used \\gset
UPDATE orders SET amount = amount + 1;
SELECT extract(epoch FROM clock_timestamp() - :'began') AS seconds, processor_ticks() - :used AS used \\gset
SELECT sum(amount) - :amounts, sum(version) - :versions, :seconds, :used FROM orders;
"""


def rewrite_once(variant: str, rows: int, sessions: Sessions) -> Measured:
    psql(DATABASE, EMPTIED.format(variant=variant))
    sessions.wait_for_end()
    changed, raised, seconds, ticks = psql(DATABASE, REWRITE.format(variant=variant)).split("|")
    if float(changed) != rows or int(raised) != (rows if variant in RAISES else 0):
        sys.exit(f"{variant}: changed {changed} rows of {rows}, and raised {raised} versions")
    return measured(rows, seconds, ticks)


def rewrite_versions(benchmark: VersionBenchmark, options: argparse.Namespace) -> list[Result]:
    rows = share(options)
    note(f"filling four tables with {rows:,} rows")
    create_template(DATABASE, "versions", {"records": rows})
    sessions = Sessions()

    def measure(variant: str) -> Measured:
        done = rewrite_once(variant, rows, sessions)
        note(f"{benchmark.name}: {variant} {typical(variant, [{variant: done}])}")
        return done

    rounds = alternate(["bare", *VARIANTS], options.rounds, measure)
    results = [
        Result(f"{benchmark.about}, {rows:,} rows: {what}, cost", ratios(variant, "bare", rounds, True),
               typical(variant, rounds), typical("bare", rounds), most=benchmark.most.get(variant))
        for variant, what in VARIANTS.items()
    ]
    for other in ("guarded", "triggered"):
        text = f"{benchmark.about}, {rows:,} rows: {VARIANTS['checked']} against {VARIANTS[other]}, cost"
        results.append(Result(text, ratios("checked", other, rounds, True), typical("checked", rounds),
                              typical(other, rounds), most=benchmark.most_of.get(other)))
    return results
