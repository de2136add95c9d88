"""The verbs of upkeep and of scoring, each imported when it is asked for: starting is quick whatever is asked."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from importlib import import_module

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.library import Library

OfLibrary = Callable[[Library, argparse.Namespace, datetime], Awaitable[int]]
OfConfigs = Callable[[Sequence[MemoryConfig], argparse.Namespace, datetime], Awaitable[int]]

_ON_A_LIBRARY = {
    "hygiene": "hygiene:hygiene",
    "audit": "auditing:audit",
    "snapshot": "snapshotting:snapshot",
    "reindex": "reindexing:reindex",
    "export": "exporting:export",
    "import": "importing:import_",
    "copy": "store_copying:copy",
    "explain": "explaining:explain",
    "similar": "similar:similar",
    "prompt": "prompting:prompt",
    "evaluate": "evaluating:evaluate",
}
_ON_CONFIGS = {"doctor": "doctoring:doctor", "compact": "compacting:compact", "hydrate": "hydrating:hydrate"}
"""These have something to say where the store does not open, too."""

CHANGING = ("hygiene", "snapshot", "reindex", "import")
"""Verbs that change something unless they are told not to."""


def verb_on_library(name: str) -> OfLibrary | None:
    """The verb that works on an open library; None when there is none of that name."""
    answer: OfLibrary | None = _imported(_ON_A_LIBRARY.get(name))
    return answer


def verb_on_configs(name: str) -> OfConfigs | None:
    """The verb that opens the store itself; None when there is none of that name."""
    answer: OfConfigs | None = _imported(_ON_CONFIGS.get(name))
    return answer


def _imported(place: str | None) -> Callable[..., Awaitable[int]] | None:
    if place is None:
        return None
    module, _, name = place.partition(":")
    verb: Callable[..., Awaitable[int]] = getattr(import_module(f"zeroclaw_tui.cli.{module}"), name)
    return verb
