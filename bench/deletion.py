"""How fast the cleanup worker deletes."""

from __future__ import annotations

import argparse
import sys

from benchmarks import DeletionBenchmark
from cleanup import CLUSTERED, DATABASE, ONE_VISIT, SPREAD, Cleanup, provide_template, share
from report import Result
from rounds import alternate, note, ratios, typical
from server import Measured, configure, psql


def by_worker(template: str, settings: str) -> Measured:
    cleanup = Cleanup(template, settings)
    used = cleanup.sessions.processor_seconds()
    cleanup.start()
    cleanup.wait()
    used = cleanup.sessions.processor_seconds() - used
    rows, seconds = cleanup.ask("rows, extract(epoch FROM finished_at - started_at)")
    return Measured(int(rows), int(rows) / float(seconds), used * 1e6 / int(rows))


def by_hand(template: str, settings: str, locking: str) -> Measured:
    cleanup = Cleanup(template, settings)
    used = cleanup.sessions.processor_seconds()
    rows, seconds = psql(DATABASE, f"CALL expire_by_hand('{locking}');").split("|")
    cleanup.sessions.wait_for_end()
    used = cleanup.sessions.processor_seconds() - used
    return Measured(int(rows), int(rows) / float(seconds), used * 1e6 / int(rows))


def delete(benchmark: DeletionBenchmark, options: argparse.Namespace) -> list[Result]:
    results = []
    configure(ONE_VISIT)
    for template, where in ((CLUSTERED, "side by side"), (SPREAD, "all over the table")):
        provide_template(template, options)

        def measure(arm: str, template: str = template) -> Measured:
            measured = (by_worker(template, benchmark.settings) if arm == "worker"
                        else by_hand(template, benchmark.settings, arm))
            if measured.transactions != share(options):
                sys.exit(f"{arm}: deleted {measured.transactions} rows of {share(options)}")
            note(f"{benchmark.name}, {where}: {arm} {typical(arm, [{arm: measured}])}")
            return measured

        rounds = alternate(["worker", "skip locked", "wait"], options.rounds, measure)
        results += [
            Result(f"{benchmark.about}, expired ones {where}: against DELETE by hand",
                   ratios("worker", "skip locked", rounds), typical("worker", rounds), typical("skip locked", rounds),
                   least=benchmark.least),
            Result(f"{benchmark.about}, expired ones {where}: against DELETE by hand that waits for locked rows",
                   ratios("worker", "wait", rounds), typical("worker", rounds), typical("wait", rounds),
                   least=benchmark.least),
        ]
    configure({})
    return results
