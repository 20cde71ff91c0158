"""The throw-away server: its databases, runs of pgbench, and the processor time of its sessions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent

# What the scripts need, whichever of them runs.
VARIABLES = {"result": '{"id": 42}', "args": "[17, 250]", "account": "17", "amount": "250"}

SHOWN_SETTINGS = ("shared_preload_libraries", "shared_buffers", "fsync", "full_page_writes", "synchronous_commit",
                  "wal_level", "max_wal_size", "checkpoint_timeout", "autovacuum", "jit")


def run(command: list[str], text: str = "", **environment: str) -> str:
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def psql(database: str, script: str) -> str:
    command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database, "-f", "-"]
    return run(command, script).strip()


def version() -> str:
    return psql("postgres", "SELECT version();")


def settings() -> str:
    return ", ".join(f"{name} = {psql('postgres', f'SHOW {name};')}" for name in SHOWN_SETTINGS)


def create_database(database: str, records: int) -> None:
    psql("postgres", f"DROP DATABASE IF EXISTS {database};\nCREATE DATABASE {database};")
    psql(database, f"\\i bench/schema.sql\n\\set records {records}\n\\i bench/fill.sql\nCHECKPOINT;")


def database_exists(database: str) -> bool:
    return psql("postgres", f"SELECT 1 FROM pg_database WHERE datname = '{database}';") == "1"


def create_template(database: str, script: str, variables: dict[str, int | str]) -> None:
    """Fills a database by a script of this directory, to be copied."""
    values = "".join(f"\\set {name} {value}\n" for name, value in variables.items())
    psql("postgres", f"DROP DATABASE IF EXISTS {database};\nCREATE DATABASE {database};")
    psql(database, f"{values}\\i bench/{script}.sql")


def copy_database(database: str, template: str) -> None:
    by_file = " STRATEGY file_copy" if int(psql("postgres", "SHOW server_version_num;")) >= 150000 else ""
    psql("postgres", f"DROP DATABASE IF EXISTS {database};\nCREATE DATABASE {database} TEMPLATE {template}{by_file};")


def configure(changed: dict[str, str]) -> None:
    """Changes settings of the running server, and takes those back that were changed before."""
    psql("postgres", "ALTER SYSTEM RESET ALL;\n"
         + "".join(f"ALTER SYSTEM SET {name} = '{value}';\n" for name, value in changed.items())
         + "SELECT pg_reload_conf();")
    deadline = time.monotonic() + 30
    # A session that begins after the postmaster has read them has them all.
    while time.monotonic() < deadline:
        if all(psql("postgres", f"SHOW {name};") == value for name, value in changed.items()):
            return
        time.sleep(0.05)
    sys.exit(f"the server does not take {changed}")


def status_of(process: str) -> list[str]:
    """What the system says about a process, after its number and name."""
    text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return text.rpartition(")")[2].split()


class Sessions:
    """The sessions of the server and their processor time."""

    def __init__(self) -> None:
        self.postmaster = Path(os.environ["PGDATA"], "postmaster.pid").read_text(encoding="utf-8").split()[0]
        self.background = self.children()

    def children(self) -> set[str]:
        found = set()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                # Processes come and go while they are listed.
                with suppress(FileNotFoundError, ProcessLookupError):
                    if status_of(entry.name)[1] == self.postmaster:
                        found.add(entry.name)
        return found

    def current(self) -> set[str]:
        return self.children() - self.background

    def used_by(self, process: str) -> int:
        with suppress(FileNotFoundError, ProcessLookupError):
            user, system = status_of(process)[11:13]
            return int(user) + int(system)
        return 0

    def processor_seconds(self) -> float:
        """Of the sessions that there are and of those that have ended, which the server has inherited."""
        running = sum(self.used_by(process) for process in self.current())
        user, system = status_of(self.postmaster)[13:15]
        return (int(user) + int(system) + running) / os.sysconf("SC_CLK_TCK")

    def wait_for_end(self) -> None:
        deadline = time.monotonic() + 30
        while self.current():
            if time.monotonic() > deadline:
                sys.exit("a session of the server does not end")
            time.sleep(0.01)


@dataclass(frozen=True)
class Measured:
    transactions: int
    throughput: float  # transactions per second
    processor: float  # microseconds of the server's processor time per transaction


def number(pattern: str, output: str) -> float:
    found = re.search(pattern, output)
    if found is None:
        sys.exit(f"pgbench did not report {pattern}:\n{output}")
    return float(found.group(1))


@dataclass(frozen=True)
class Load:
    """What pgbench is to do: for some seconds, of which the first do not count, or some transactions."""

    script: str
    clients: int
    variables: dict[str, str]
    warm: int = 0
    seconds: int = 0
    transactions: int = 0
    options: str = ""  # of the sessions

    def command(self, database: str) -> list[str]:
        threads = min(self.clients, os.cpu_count() or 1)
        command = ["pgbench", "-n", "-M", "prepared", "-c", str(self.clients), "-j", str(threads)]
        for name, value in {**VARIABLES, **self.variables}.items():
            command += ["-D", f"{name}={value}"]
        if self.transactions:
            command += ["-t", str(self.transactions)]
        else:
            command += ["-T", str(self.warm + self.seconds), "-P", str(self.warm)]
        return [*command, "-f", str(HERE / f"{self.script}.sql"), database]

    def run(self, database: str, sessions: Sessions) -> Measured:
        sessions.wait_for_end()
        used = sessions.processor_seconds()
        head = said = ""
        environment = {**os.environ, "PGOPTIONS": self.options}
        with subprocess.Popen(self.command(database), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=environment) as pgbench:
            assert pgbench.stdout is not None
            if not self.transactions:
                # The first report of progress comes when the warming up is over.
                while pgbench.poll() is None and not head.startswith("progress:"):
                    head = pgbench.stdout.readline()
                    said += head
                used = sessions.processor_seconds()
            output = pgbench.stdout.read()
        if pgbench.returncode != 0:
            sys.exit(f"pgbench failed:\n{said}{output}")
        sessions.wait_for_end()
        return self.measured(head, output, sessions.processor_seconds() - used)

    def measured(self, head: str, output: str, used: float) -> Measured:
        transactions = int(number(r"transactions actually processed: (\d+)", output))
        seconds = transactions / number(r"tps = ([\d.]+) \(without", output)
        counted = float(transactions)
        if head:
            warm = number(r"progress: ([\d.]+) s", head)
            counted -= warm * number(r"s, ([\d.]+) tps", head)
            seconds -= warm
        return Measured(transactions, counted / seconds, used * 1e6 / counted)
