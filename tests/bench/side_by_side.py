"""Measure two or more ways to the same answer in turns, so that a noisy machine is noisy for all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def medians(ways: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median milliseconds of each way, run in turns after one warm-up."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            taken[name].append((time.perf_counter() - start) * 1000)
    return {name: statistics.median(times) for name, times in taken.items()}
