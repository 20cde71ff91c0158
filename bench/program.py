"""The programs in C++ of this directory, compiled where the throw-away server is."""

from __future__ import annotations

import os
from pathlib import Path

from server import HERE, run


def directory() -> Path:
    return Path(os.environ["IDEM_CLUSTER_DIR"], "out")


def compiled(name: str, *options: str) -> str:
    program = directory() / name
    if not program.exists():
        run([os.environ.get("CXX", "c++"), "-std=c++17", "-O2", "-pthread", str(HERE / f"{name}.cpp"),
             "-o", str(program), *options])
    return str(program)
