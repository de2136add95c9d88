"""`memory hydrate`: bring memories of a snapshot into the store, or make an empty store of it.

Its document is that of every change (see `told`) with "file", "made" (the database that was or would be made, null
where there is one), "generation" (its schema), "new" and "conflicts": [{"key", "content", "category", "agent",
"timestamp", "updated_at", "size"}], the latter with "here" (the store's content) and "ends" (skip, overwrite or
rename), "same" (how many the store has already), "lost": [{"key", "lost"}] with what the file shows to be lost,
"on_conflict", and "file_notes". Exit code 1 after a no, and where memories changed since they were looked at.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from zeroclaw_tui.cli.asking import NOTHING_DONE, check_can_ask, confirm
from zeroclaw_tui.cli.guarding import Progress, check_writable, telling_clashes, with_triggers
from zeroclaw_tui.cli.options import agents_given
from zeroclaw_tui.cli.output import (
    BOLD,
    DIM,
    GREEN,
    YELLOW,
    Line,
    Styled,
    date_shown,
    note,
    write_lines,
)
from zeroclaw_tui.cli.snapshotting import MOST_SHOWN, lossy_as_json, lossy_lines, memory_line, text_cell
from zeroclaw_tui.cli.told import tell_document, tell_notes
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.changes import Outcome, note_nothing
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.snapshot.hydrate import (
    HydratePlan,
    generation_of,
    is_empty_store,
    make_store,
    plan_hydrate,
    plan_making,
)
from zeroclaw_tui.curation.snapshot.hydrate import hydrate as bring_in
from zeroclaw_tui.curation.snapshot.snapshot import place_of
from zeroclaw_tui.curation.transfer.reconcile import OnClash
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, DONE, INTERRUPTED, REFUSED, NotThere, Refused, WrongUse
from zeroclaw_tui.memory.text import counted, one_line
from zeroclaw_tui.scoring.generations import VERSIONS

_KEPT_AS_IS = {
    "skip": "stay as they are in the store (--overwrite takes the file's, --rename brings them in beside)",
    "overwrite": "take the file's content",
    "rename": "come in beside, under another key",
}


async def hydrate(configs: Sequence[MemoryConfig], given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb, also where the store does not open; the exit code."""
    config, agent = configs[0], _agent(given)
    file = _file(config, given)
    if is_empty_store(config):
        return await _make(config, given, file, agent)
    library = await open_library(config, given.profile)
    try:
        for sentence in library.memory.notices:
            if given.dry_run or sentence != library.read_only_because:
                note(f"zeroclaw: {sentence}")
        return await _bring_in(library, given, file, agent)
    finally:
        await library.close()


async def _bring_in(library: Library, given: argparse.Namespace, file: Path, agent: str | None) -> int:
    if not given.dry_run:
        check_writable(library, given)
    plan = await plan_hydrate(library, file, given.pick, agent=agent)
    resolution = _resolution(plan, given)
    count = len(plan.new) + sum(policy != "skip" for policy in resolution.values())
    facts = _plan_as_json(plan, file, given)
    if given.dry_run or not count:
        if not given.dry_run:
            await note_nothing(library, "hydrate", one_line(file.name))
        if given.json:
            tell_document(library, Outcome("hydrate", count), dry_run=given.dry_run, **facts)
        else:
            _tell_plan(_plan_lines(plan, given), plan, nothing_done=given.dry_run)
        return DONE
    if not given.yes:
        check_can_ask("hydrate", yes=False)
        if not confirm(f"Bring in {counted(count)}?", [*_note_lines(plan), *_plan_lines(plan, given)]):
            return REFUSED
    elif not given.json:
        write_lines(_note_lines(plan))
    with Progress("Hydrating", count) as progress:

        def work() -> Awaitable[Outcome]:
            return bring_in(library, plan, resolution, advance=progress.advance)

        outcome = await with_triggers(library, given, lambda: telling_clashes(work), asks=True)
    if outcome is None:
        return REFUSED
    tell_notes(outcome)
    if given.json:
        tell_document(library, outcome, **facts)
    else:
        write_lines(_done_lines(outcome))
    return INTERRUPTED if outcome.cancelled else DONE


def _done_lines(outcome: Outcome) -> Iterator[Line]:
    if not outcome.count:
        yield ("Nothing was left to bring in: the store has all of it.",)
        return
    it = "that" if outcome.count == 1 else "them"
    yield (Styled("✓", GREEN), f" Brought in {counted(outcome.count)}; `zeroclaw memory undo` takes {it} out again.")
    for old, new in outcome.renamed.items():
        yield (f"  {one_line(old)} came in as {one_line(new)}.",)


async def _make(config: MemoryConfig, given: argparse.Namespace, file: Path, agent: str | None) -> int:
    if config.read_only and not given.dry_run:
        raise Refused(ASKED_READ_ONLY, hint="--read-only refuses every change.")
    plan = await asyncio.to_thread(plan_making, config, file, given.pick, version=given.profile, agent=agent)
    lines = [*_making_lines(config, given), *_plan_lines(plan, given)]
    if given.dry_run:
        if given.json:
            _tell_made(config, given, file, plan)
        else:
            _tell_plan(lines, plan, nothing_done=True)
        return DONE
    if not given.yes:
        check_can_ask("hydrate", yes=False)
        if not confirm("Make it?", [*_note_lines(plan), *lines]):
            return REFUSED
    made = await asyncio.to_thread(make_store, config, plan.new, given.profile, rows=plan.rows, agent=agent)
    if given.json:
        _tell_made(config, given, file, plan)
    else:
        done = f" Made {one_line(str(made))} with {counted(len(plan.new))}; ZeroClaw opens it as its own."
        write_lines([(Styled("✓", GREEN), done)])
    return DONE


def _agent(given: argparse.Namespace) -> str | None:
    agents = agents_given(given)
    if len(agents) > 1:
        raise WrongUse("Memories have one owner.", hint="Name one --agent.")
    return agents[0] if agents else None


def _file(config: MemoryConfig, given: argparse.Namespace) -> Path:
    if given.file is not None:
        return Path(given.file).expanduser()
    try:
        return place_of(config)
    except Refused as refused:
        refused.hint = "Name the file: `zeroclaw memory hydrate FILE`."
        raise


def _resolution(plan: HydratePlan, given: argparse.Namespace) -> dict[str, OnClash]:
    """What happens to each conflict, by the id of the file's memory. Raises NotThere for a key that is no conflict."""
    named: tuple[tuple[OnClash, list[str]], ...] = (
        ("skip", given.skip_key), ("overwrite", given.overwrite_key), ("rename", given.rename_key),
    )  # fmt: skip
    apart = {key: policy for policy, keys in named for key in keys}
    conflicts = {entry.key for entry in plan.conflicts}
    for key in apart:
        if key not in conflicts:
            raise NotThere(
                f"No memory with the key {one_line(key)!r} has another content in the store.",
                hint="--dry-run lists those that have.",
            )
    return {entry.id: apart.get(entry.key, given.on_conflict) for entry in plan.conflicts}


def _tell_plan(lines: Iterable[Line], plan: HydratePlan, *, nothing_done: bool) -> None:
    for sentence in plan.notes:
        note(f"zeroclaw: {sentence}")
    write_lines(lines)
    if nothing_done:
        note(NOTHING_DONE)


def _note_lines(plan: HydratePlan) -> Iterator[Line]:
    for sentence in plan.notes:
        yield (sentence,)


def _making_lines(config: MemoryConfig, given: argparse.Namespace) -> Iterator[Line]:
    generation = generation_of(given.profile)
    path = config.database
    yield (Styled(f"There is no database {one_line(str(path))} yet: it is made, as ZeroClaw makes it.", BOLD),)
    versions = VERSIONS[generation]
    later = "" if generation == "G4" else "; later ones bring it to theirs when they open it"
    yield (f"  Its tables are those of ZeroClaw {versions}{later}.",)
    if path.exists():
        yield (f"  The empty file in its place is kept beside it, as {one_line(path.name)}.before-hydrate-….",)


def _plan_lines(plan: HydratePlan, given: argparse.Namespace) -> Iterator[Line]:
    facts = [f"{len(plan.new):,} new"]
    facts += [f"{len(plan.conflicts):,} with another content here"] * bool(plan.conflicts)
    facts += [f"{plan.same:,} the same"] * bool(plan.same)
    yield (Styled(" · ".join(facts), BOLD),)
    for entry in plan.new[:MOST_SHOWN]:
        yield memory_line(Styled("+", GREEN), entry)
    yield from _more(len(plan.new))
    for there, here in zip(plan.conflicts[:MOST_SHOWN], plan.here, strict=False):
        yield memory_line(Styled("~", YELLOW), there)
        yield ("    ", Styled("in the store: ", DIM), text_cell(here.content), f"  {date_shown(here.updated_at or '')}")
    yield from _more(len(plan.conflicts))
    resolution = _resolution(plan, given)
    for policy, what in _KEPT_AS_IS.items():
        count = sum(chosen == policy for chosen in resolution.values())
        if count:
            which = "Those with another content" if count == len(plan.conflicts) else f"{count:,} of those"
            yield (f"{which} {what}.",)
    if plan.lost:
        yield (Styled(f"{counted(len(plan.lost))} lost something in ZeroClaw's format:", YELLOW),)
        yield from lossy_lines(plan.lost)


def _more(count: int) -> Iterator[Line]:
    if count > MOST_SHOWN:
        yield (Styled(f"  … {count - MOST_SHOWN:,} more; --json has all", DIM),)


def _plan_as_json(plan: HydratePlan, file: Path, given: argparse.Namespace) -> dict[str, Any]:
    conflicts = zip(plan.conflicts, plan.here, _resolution(plan, given).values(), strict=True)
    return {
        "file": str(file),
        "made": None,
        "generation": None,
        "new": [_entry_as_json(entry) for entry in plan.new],
        "conflicts": [
            {**_entry_as_json(there), "here": here.content, "ends": policy} for there, here, policy in conflicts
        ],
        "same": plan.same,
        "lost": lossy_as_json(plan.lost),
        "on_conflict": given.on_conflict,
        "file_notes": list(plan.notes),
    }


def _entry_as_json(entry: MemoryEntry) -> dict[str, Any]:
    names = ("key", "content", "category", "agent", "timestamp", "updated_at", "size")
    return {name: getattr(entry, name) for name in names}


def _tell_made(config: MemoryConfig, given: argparse.Namespace, file: Path, plan: HydratePlan) -> None:
    """The document of a change, where no store is open that could tell it."""
    tell_document(
        Target(config, None, location=str(config.database)),
        Outcome("hydrate", len(plan.new)),
        dry_run=given.dry_run,
        **{
            **_plan_as_json(plan, file, given),
            "made": str(config.database),
            "generation": generation_of(given.profile),
        },
    )
