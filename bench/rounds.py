"""Alternated rounds, and what is made of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from typing import TypeVar

from server import Measured

T = TypeVar("T")
Round = dict[str, Measured]


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def alternate(arms: list[str], rounds: int, measure: Callable[[str], T]) -> list[dict[str, T]]:
    """Every second round goes backwards, so that a machine that grows slower or faster favours neither side."""
    done = []
    for turn in range(rounds):
        measured = {arm: measure(arm) for arm in (arms if turn % 2 == 0 else arms[::-1])}
        done.append({arm: measured[arm] for arm in arms})
    return done


def ratios(ours: str, theirs: str, rounds: list[Round], cost: bool = False) -> list[float]:
    values = [measured[ours].throughput / measured[theirs].throughput for measured in rounds]
    return [1 / value for value in values] if cost else values


def typical(name: str, rounds: list[Round]) -> str:
    throughput = median(measured[name].throughput for measured in rounds)
    processor = median(measured[name].processor for measured in rounds)
    return f"{throughput:,.0f}/s, {processor:.{0 if processor >= 10 else 1}f} µs"
