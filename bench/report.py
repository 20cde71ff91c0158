"""The results as Markdown, with the machine that they belong to."""

from __future__ import annotations

import argparse
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Result:
    text: str
    values: list[float]  # one a round; none where it could not be measured
    ours: str
    theirs: str
    least: float | None = None
    most: float | None = None
    unit: str = "×"

    def verdict(self) -> str:
        if not self.values:
            return ""
        if self.least is not None:
            return "met" if median(self.values) >= self.least else "**not met**"
        if self.most is not None:
            return "met" if median(self.values) <= self.most else "**not met**"
        return ""

    def floor(self) -> str:
        if self.least is not None:
            return f"≥ {self.least:g}{self.unit}"
        if self.most is not None:
            return f"≤ {self.most:g}{self.unit}"
        return ""

    def markdown(self) -> str:
        middle = f"{median(self.values):.2f}{self.unit}" if self.values else ""
        spread = f"{min(self.values):.2f}–{max(self.values):.2f}" if len(self.values) > 1 else ""
        cells = [self.text, middle, spread, self.floor(), self.verdict(), self.ours, self.theirs]
        return f"| {' | '.join(cells)} |"


def first_match(path: str | Path, pattern: str) -> str:
    found = re.search(pattern, Path(path).read_text(encoding="utf-8"), re.MULTILINE)
    return found.group(1).strip() if found else "unknown"


def machine() -> str:
    processor = first_match("/proc/cpuinfo", r"^(?:model name|Model)\s*:\s*(.*)$")
    memory = int(first_match("/proc/meminfo", r"^MemTotal:\s*(\d+)")) / 1024 / 1024
    huge = int(first_match("/proc/meminfo", r"^HugePages_Total:\s*(\d+)"))
    return (f"{processor}, {os.cpu_count()} cores, {memory:.0f} GiB of memory, {huge or 'no'} huge pages,"
            f" Linux {platform.release()}")


class Report:
    def __init__(self, options: argparse.Namespace, server: str, settings: str) -> None:
        self.options = options
        self.server = server
        self.settings = settings
        self.results: list[Result] = []

    def add(self, results: list[Result]) -> None:
        self.results += results

    def missed(self) -> bool:
        return any("not" in result.verdict() for result in self.results)

    def markdown(self) -> str:
        head = [
            f"- machine: {machine()}",
            f"- server: {self.server}",
            f"- settings: {self.settings}",
            f"- medians of {self.options.rounds} alternated rounds of {self.options.seconds} s each, prepared"
            f" statements; many records: {self.options.records:,}",
            "",
            "| what | median | min–max | floor | | this | that |",
            "|---|---|---|---|---|---|---|",
        ]
        return "\n".join(head + [result.markdown() for result in self.results])
