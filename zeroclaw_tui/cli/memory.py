"""`zeroclaw memory <verb>`: opens the store that is meant and lets the verb answer."""

from __future__ import annotations

import argparse
import asyncio
import gc
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING

from zeroclaw_tui.cli.options import open_options
from zeroclaw_tui.cli.output import note
from zeroclaw_tui.cli.verbs import VERBS, Verb
from zeroclaw_tui.curation.library import open_library
from zeroclaw_tui.curation.opening import configs_for
from zeroclaw_tui.memory.errors import NoInstall, Refused
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.profiles import profile_for

if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.curation.transfer.reconcile import Target


def answer(given: argparse.Namespace) -> int:
    """Run one verb and return its exit code. Raises InspectorError kinds."""
    gc.freeze()
    gc.enable()
    return asyncio.run(_answer(given))


async def _answer(given: argparse.Namespace) -> int:
    now = datetime.now().astimezone()
    verb = VERBS[given.verb]
    answers = function_of(verb)
    if given.profile is not None:
        profile_for(given.profile)
    if verb.name == "recall":
        from zeroclaw_tui.cli.recall import check_recall

        check_recall(given)
    configs = _configs(given)
    if verb.name != "health":
        # It tells all that is wrong itself.
        _tell_which(configs)
        for sentence in configs[0].warned_about(*verb.concerns):
            note(f"zeroclaw: {sentence}")
    if verb.opens == "config":
        return await answers(configs, given, now)
    if verb.makes_store:
        from zeroclaw_tui.curation.transfer.reconcile import Target

        target = await Target.at(configs[0], given.profile)
        if target.library is None:
            return await _to_new_store(target, given, now)
        library = target.library
    else:
        library = await open_library(configs[0], given.profile, may_be_missing=True, asks_binary=verb.heeds_version)
    library.tell_before_first_call(lambda call: note(f"zeroclaw: {call.words}"))
    # A change that is refused for what makes the store read-only says it itself.
    changes = verb.changes and not getattr(given, "dry_run", False)
    silent = library.read_only_because if changes else None
    facts = () if verb.tells_facts else library.memory.facts
    told = [each for each in library.memory.notices if each != silent and each not in facts]
    try:
        for sentence in told:
            note(f"zeroclaw: {sentence}")
        return await answers(library, given, now)
    except Refused as refused:
        if any(refused.message in sentence for sentence in told):
            refused.message = "For that reason this is refused."
        raise
    finally:
        await library.close()


def function_of(verb: Verb) -> Callable[..., Awaitable[int]]:
    """The function that answers a verb, its module imported."""
    module, _, name = verb.runs.partition(":")
    function: Callable[..., Awaitable[int]] = getattr(import_module(f"zeroclaw_tui.cli.{module}"), name)
    return function


async def _to_new_store(target: Target, given: argparse.Namespace, now: datetime) -> int:
    """A verb that brings the first memories of a store, which is made as the ZeroClaw of the config's version would."""
    from zeroclaw_tui.cli.edits import store
    from zeroclaw_tui.cli.transfer import import_to_new

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
