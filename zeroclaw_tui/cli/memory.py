"""`zeroclaw memory <verb>`: opens the store that is meant and lets the verb answer."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from zeroclaw_tui.cli.arguments import MAKING, open_options
from zeroclaw_tui.cli.changing import edit, store
from zeroclaw_tui.cli.counts import facets, stats
from zeroclaw_tui.cli.entries import get_memory, list_memories
from zeroclaw_tui.cli.erase import erase
from zeroclaw_tui.cli.health import health
from zeroclaw_tui.cli.output import note
from zeroclaw_tui.cli.recalling import check_recall, recall
from zeroclaw_tui.cli.removing import clear, forget, purge
from zeroclaw_tui.cli.trash import trash
from zeroclaw_tui.cli.undoing import redo, undo
from zeroclaw_tui.cli.upkeep import CHANGING as CHANGING_UPKEEP
from zeroclaw_tui.cli.upkeep import verb_on_configs, verb_on_library
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.notes import Concern
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.opening import configs_for
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.errors import NoInstall, Refused
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.profiles import profile_for

_CONCERNS: dict[str, tuple[Concern, ...]] = {
    **dict.fromkeys(("recall", "search", "prompt", "explain", "evaluate"), ("store", "recall", "vectors")),
    **dict.fromkeys(("store", "edit", "forget", "purge", "clear", "erase", "import", "hydrate"), ("store",)),
    "similar": ("vectors",),
    "reindex": ("store", "vectors"),
    "hygiene": ("store", "hygiene"),
    "snapshot": ("store", "snapshot"),
    "doctor": ("file", "fact", "store", "recall", "vectors", "hygiene", "snapshot"),
}
"""What of the config's warnings changes what a verb does; `health` tells all of them itself."""

_TELL_FACTS = ("doctor", "import")
"""The verbs that how a store is made, and what it hands on, matters to."""

_VERBS: dict[str, Callable[[Library, argparse.Namespace, datetime], Awaitable[int]]] = {
    "list": list_memories,
    "get": get_memory,
    "recall": recall,
    "search": recall,
    "stats": stats,
    "facets": facets,
    "store": store,
    "edit": edit,
    "forget": forget,
    "purge": purge,
    "clear": clear,
    "erase": erase,
    "undo": undo,
    "redo": redo,
    "trash": trash,
}

_CHANGING = ("store", "edit", "forget", "purge", "clear", "erase", "undo", "redo", *CHANGING_UPKEEP)


def answer(given: argparse.Namespace) -> int:
    """Run one verb and return its exit code. Raises InspectorError kinds."""
    return asyncio.run(_answer(given))


async def _answer(given: argparse.Namespace) -> int:
    now = datetime.now().astimezone()
    if given.profile is not None:
        profile_for(given.profile)
    if given.verb in ("recall", "search"):
        check_recall(given)
    configs = _configs(given)
    if given.verb == "health":
        return await health(configs, given)
    on_configs = verb_on_configs(given.verb)
    _tell_which(configs)
    for sentence in configs[0].warned_about(*_CONCERNS.get(given.verb, ())):
        note(f"zeroclaw: {sentence}")
    if on_configs is not None:
        return await on_configs(configs, given, now)
    target = await _target(configs[0], given)
    if target.library is None:
        return await _to_new_store(target, given, now)
    library = target.library
    library.tell_before_first_call(lambda call: note(f"zeroclaw: {call.words}"))
    # A change that is refused for what makes the store read-only says it itself.
    silent = library.read_only_because if _changes(given) else None
    facts = () if given.verb in _TELL_FACTS else library.memory.facts
    told = [each for each in library.memory.notices if each != silent and each not in facts]
    try:
        for sentence in told:
            note(f"zeroclaw: {sentence}")
        verb = verb_on_library(given.verb) or _VERBS[given.verb]
        return await verb(library, given, now)
    except Refused as refused:
        if any(refused.message in sentence for sentence in told):
            refused.message = "For that reason this is refused."
        raise
    finally:
        await library.close()


async def _target(config: MemoryConfig, given: argparse.Namespace) -> Target:
    """The store; before ZeroClaw's first start one of 0 memories, or for verbs that make it none."""
    if given.verb in MAKING:
        return await Target.at(config, given.profile)
    return Target.of(await open_library(config, given.profile, may_be_missing=True))


async def _to_new_store(target: Target, given: argparse.Namespace, now: datetime) -> int:
    """A verb that brings the first memories of a store, which is made as the ZeroClaw of the config's version would."""
    from zeroclaw_tui.cli.importing import import_to_new

    try:
        if given.verb == "import":
            return await import_to_new(target, given)
        if given.read_only:
            raise Refused("--read-only refuses every write.", hint="Leave it out.")
        library = await target.make()
        note(f"zeroclaw: {one_line(library.memory.location)} was not there and has been made.")
        return await store(library, given, now)
    finally:
        await target.close()


def _changes(given: argparse.Namespace) -> bool:
    if given.verb == "trash":
        return bool(given.trash_verb == "restore")
    return given.verb in _CHANGING and not getattr(given, "dry_run", False)


def _configs(given: argparse.Namespace) -> tuple[MemoryConfig, ...]:
    try:
        return configs_for(open_options(given))
    except NoInstall as error:
        error.hint = "Name it with --config-dir DIR or --workspace DIR, or give a lone store as --location PATH."
        raise


def _tell_which(configs: Sequence[MemoryConfig]) -> None:
    if len(configs) < 2:
        return
    taken, *others = configs
    also = ", ".join(f"{config.install.root} ({config.install.rule})" for config in others)
    note(
        f"zeroclaw: Reading {taken.install.root} ({taken.install.rule}). Could be meant as well: {also}."
        " --config-dir or --workspace picks another."
    )
