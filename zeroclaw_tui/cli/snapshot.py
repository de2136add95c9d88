"""MEMORY_SNAPSHOT.md: written, compared, and brought back into a store (hydrate)."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.cli.options import OWNER, add_dry_run, agent_given
from zeroclaw_tui.cli.output import BOLD, CYAN, DIM, GREEN, YELLOW, Styled, document, note, write_lines
from zeroclaw_tui.cli.plans import (
    MOST_NAMED,
    NOTHING_DONE,
    Progress,
    check_can_ask,
    check_writable,
    confirm,
    tell_document,
    tell_notes,
    telling_clashes,
    undo_hint,
    with_triggers,
)
from zeroclaw_tui.cli.verbs import CHANGED, verb
from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.curation.words import change_words, renamed_words, snapshot_words
from zeroclaw_tui.memory.days import date_shown
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, DONE, INTERRUPTED, REFUSED, Refused, UsageError
from zeroclaw_tui.memory.text import counted, cut, one_line, padded

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from zeroclaw_tui.cli.output import Line
    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.curation.changes import Outcome
    from zeroclaw_tui.curation.formats.snapshot import Snapshot
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.snapshot.hydrate import Difference, HydratePlan, Where
    from zeroclaw_tui.curation.snapshot.snapshot import SnapshotPlan
    from zeroclaw_tui.memory.entry import MemoryEntry


_SNAPSHOT = """\
Write MEMORY_SNAPSHOT.md as ZeroClaw does, and a lossless JSONL copy. It does not ask, because no memory changes:
`zeroclaw memory undo` restores the replaced file, and a file that is not ZeroClaw's needs --replace-foreign."""
_CONFLICTS = (
    ("skip", "keep the store's memory where a key has another content (default)"),
    ("overwrite", "replace it with the file's memory"),
    ("rename", "add the file's memory under another key"),
)


MOST_SHOWN = 20
KEY_CELLS, TEXT_CELLS = 28, 52
_MARKS: dict[Where, tuple[str, str]] = {
    "changed": ("~", YELLOW),
    "only here": ("+", GREEN),
    "only there": ("-", CYAN),
    "same": ("=", DIM),
}
_MEANS: dict[Where, str] = {
    "changed": "changed",
    "only here": "only in the store",
    "only there": "only in the file",
    "same": "the same",
}
_KEPT_AS_IS = {
    "skip": "stay as they are in the store (--overwrite takes the file's, --rename adds them under another key)",
    "overwrite": "take the file's content",
    "rename": "are added under another key",
}


def _snapshot_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--diff", action="store_true", help="compare the snapshot with the store, write nothing")
    parser.add_argument("--file", metavar="PATH", help="with --diff: compare this file instead of ZeroClaw's own")
    parser.add_argument(
        "--replace-foreign", action="store_true", help="replace a file of that name that is not ZeroClaw's"
    )
    add_dry_run(parser)


@verb(
    "snapshot",
    "Write MEMORY_SNAPSHOT.md and a lossless JSONL copy",
    CHANGED,
    _snapshot_options,
    description=_SNAPSHOT,
    changes=True,
    concerns=("store", "snapshot"),
)
async def snapshot(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Write MEMORY_SNAPSHOT.md, or compare it with the store.

    Its document is that of every change (see `tell_document`) with "file", "beside" (the lossless copy), "memories"
    (how many core memories the snapshot holds), "lossy": [{"key", "lost"}] with what ZeroClaw's format loses of each,
    "vectors" (whether the lossless copy has them), "replaces" ({"is_zeroclaws", "because", "entries", "total",
    "exported"} of the file in its place, or null) and "foreign" (sentences about files in the way that are another
    program's).

    With --diff: {"verb", "backend", "location", "file", "is_zeroclaws", "exported", "notes", "counts", "differences"},
    each of the latter {"key", "where", "here", "there", "lost"}, here and there memories as `list` prints them, or
    null.
    """
    from zeroclaw_tui.curation.snapshot.snapshot import plan_snapshot, write_snapshot

    if given.diff:
        return await _diff(library, given)
    if given.file is not None:
        raise UsageError("--file needs --diff.", hint="ZeroClaw reads its snapshot from one place only.")
    if not given.dry_run:
        check_writable(library, given)
    plan = await plan_snapshot(library)
    if given.dry_run:
        return _tell_plan(library, given, plan)
    outcome = await write_snapshot(library, replaces_foreign=given.replace_foreign)
    tell_notes(outcome)
    if given.json:
        tell_document(library, outcome, verb="snapshot", **_plan_as_json(plan))
    else:
        write_lines(_done_lines(plan, outcome))
    return DONE


def lossy_lines(lossy: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[Line]:
    """The keys of which something is lost, each with what."""
    for key, lost in lossy[:MOST_SHOWN]:
        yield ("  ", _key_cell(key), "  ", Styled(", ".join(lost), DIM))
    if len(lossy) > MOST_SHOWN:
        yield (Styled(f"  … {len(lossy) - MOST_SHOWN:,} more; --json has all", DIM),)


def lossy_as_json(lossy: Sequence[tuple[str, tuple[str, ...]]]) -> list[dict[str, Any]]:
    """The same for scripts."""
    return [{"key": key, "lost": list(lost)} for key, lost in lossy]


def memory_line(mark: Styled, entry: MemoryEntry) -> Line:
    """A memory in one line: a mark, its key, the beginning of its content."""
    return ("  ", mark, " ", _key_cell(entry.key), "  ", text_cell(entry.content))


def text_cell(content: str) -> str:
    """The beginning of a content, its secrets masked."""
    from zeroclaw_tui.curation.clean_up import excerpt_of

    return cut(f'"{excerpt_of(content)}"', TEXT_CELLS)


def _tell_plan(library: Library, given: argparse.Namespace, plan: SnapshotPlan) -> int:
    from zeroclaw_tui.curation.changes import Outcome

    if given.json:
        tell_document(library, Outcome("snapshot", plan.entries), dry_run=True, **_plan_as_json(plan))
        return DONE
    write_lines(_plan_lines(plan))
    note(NOTHING_DONE)
    return DONE


def _plan_lines(plan: SnapshotPlan) -> Iterator[Line]:
    from zeroclaw_tui.curation.snapshot.snapshot import NO_CORE_MEMORIES

    if not plan.entries:
        yield (NO_CORE_MEMORIES,)
        return
    yield (Styled(f"{_core(plan.entries)} to {one_line(str(plan.file))}", BOLD),)
    if plan.replaces is not None and plan.replaces.is_zeroclaws:
        yield (f"  replaces {_replaced(plan.replaces)}",)
    for sentence in plan.foreign:
        yield (Styled(f"  {sentence} Pass --replace-foreign to replace it.", YELLOW),)
    yield from _loss_lines(plan)


def _done_lines(plan: SnapshotPlan, outcome: Outcome) -> Iterator[Line]:
    yield (Styled("✓", GREEN), f" {snapshot_words(outcome, plan, undo_hint())}")
    yield from _loss_lines(plan, named=False)


def _loss_lines(plan: SnapshotPlan, *, named: bool = True) -> Iterator[Line]:
    beside = one_line(plan.beside.name)
    yield (
        f"  ZeroClaw's format stores key, content and dates. {beside} next to it stores everything",
        "." if plan.vectors else " but the vectors.",
    )
    if plan.lossy:
        would = f"  {counted(len(plan.lossy))} would lose something in ZeroClaw's format"
        yield (Styled(would + (":" if named else "; --dry-run names them."), YELLOW),)
    if named:
        yield from lossy_lines(plan.lossy)


def _core(count: int) -> str:
    return counted(count, "core memory")


def _replaced(snapshot: Snapshot) -> str:
    when = f" of {one_line(snapshot.exported)}" if snapshot.exported else ""
    return f"the snapshot{when} with {counted(len(snapshot.entries))}"


def _plan_as_json(plan: SnapshotPlan) -> dict[str, Any]:
    there = plan.replaces
    return {
        "file": str(plan.file),
        "beside": str(plan.beside),
        "memories": plan.entries,
        "lossy": lossy_as_json(plan.lossy),
        "vectors": plan.vectors,
        "replaces": None
        if there is None
        else {
            "is_zeroclaws": there.is_zeroclaws,
            "because": there.because,
            "entries": len(there.entries),
            "total": there.total,
            "exported": there.exported,
        },
        "foreign": list(plan.foreign),
    }


async def _diff(library: Library, given: argparse.Namespace) -> int:
    import asyncio

    from zeroclaw_tui.curation.formats.snapshot import load
    from zeroclaw_tui.curation.snapshot.hydrate import compare

    file = _file(library, given)
    there = (await asyncio.to_thread(load, file)).snapshot
    found = await compare(library, file)
    if given.json:
        document(_diff_as_json(library, file, there, found))
        return DONE
    for sentence in there.notes:
        note(f"zeroclaw: {sentence}")
    write_lines(_diff_lines(file, found))
    return DONE


def _file(library: Library, given: argparse.Namespace) -> Path:
    from pathlib import Path

    from zeroclaw_tui.curation.snapshot.snapshot import place_of

    if given.file is not None:
        return Path(given.file).expanduser()
    try:
        return place_of(library.config)
    except Refused as refused:
        refused.hint = "--file PATH names a snapshot to compare with."
        raise


def _diff_lines(file: Path, found: Sequence[Difference]) -> Iterator[Line]:
    counts = Counter(difference.where for difference in found)
    facts = " · ".join(f"{counts[where]:,} {_MEANS[where]}" for where in _MARKS if counts[where])
    yield (Styled(one_line(str(file)), BOLD), Styled(f"    {facts or 'no memories on either side'}", DIM))
    for where, (mark, colour) in _MARKS.items():
        some = [difference for difference in found if difference.where == where and where != "same"]
        for difference in some[:MOST_SHOWN]:
            yield from _difference_lines(difference, Styled(mark, colour))
        if len(some) > MOST_SHOWN:
            yield (Styled(f"  … {len(some) - MOST_SHOWN:,} more {_MEANS[where]}; --json has all", DIM),)
    if counts["only there"] or counts["changed"]:
        yield (Styled(runnable("`zeroclaw memory hydrate` brings memories of the file into the store."), DIM),)


def _difference_lines(difference: Difference, mark: Styled) -> Iterator[Line]:
    shown = difference.here or difference.there
    if shown is not None:
        yield memory_line(mark, shown)
    if difference.where == "changed" and difference.there is not None:
        yield ("    ", padded("in the file:", KEY_CELLS, right=True), "  ", text_cell(difference.there.content))
    if difference.lost:
        yield ("    ", Styled(f"lost by ZeroClaw's format: {', '.join(difference.lost)}", DIM))


def _diff_as_json(library: Library, file: Path, there: Snapshot, found: Sequence[Difference]) -> dict[str, Any]:
    counts = Counter(difference.where for difference in found)
    return {
        "verb": "snapshot",
        "backend": library.memory.name,
        "location": library.memory.about.location,
        "file": str(file),
        "is_zeroclaws": there.is_zeroclaws,
        "exported": there.exported,
        "notes": list(there.notes),
        "counts": {where: counts[where] for where in _MARKS},
        "differences": [
            {
                "key": difference.key,
                "where": difference.where,
                "here": difference.here.as_json() if difference.here else None,
                "there": difference.there.as_json() if difference.there else None,
                "lost": list(difference.lost),
            }
            for difference in found
        ],
    }


def _key_cell(key: str) -> str:
    from zeroclaw_tui.memory.secret_text import masked

    return padded(cut(one_line(masked(key)) or '""', KEY_CELLS), KEY_CELLS)


def _hydrate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="a snapshot or a JSONL export; ZeroClaw's own if not given"
    )
    conflict = parser.add_mutually_exclusive_group()
    for name, about in _CONFLICTS:
        conflict.add_argument(
            f"--{name}", dest="on_conflict", action="store_const", const=name, default="skip", help=about
        )
    add_dry_run(parser)


@verb(
    "hydrate",
    "Import memories from a snapshot",
    CHANGED,
    _hydrate_options,
    agents=OWNER,
    checks=agent_given,
    opens="config",
    concerns=("store",),
)
async def hydrate(configs: Sequence[MemoryConfig], given: argparse.Namespace, now: datetime) -> int:
    """Bring memories of a snapshot into the store, or make an empty store of it.

    Its document is that of every change (see `tell_document`) with "file", "made" (the database that was or would be
    made, null where there is one), "generation" (its schema), "new" and "conflicts": [{"key", "content", "category",
    "agent", "timestamp", "updated_at", "size"}], the latter with "here" (the store's content) and "ends" (skip,
    overwrite or rename), "same" (how many the store has already), "lost": [{"key", "lost"}] with what the file shows to
    be lost, "on_conflict", and "file_notes". Exit code 1 after a no, and where memories changed since they were looked
    at.
    """
    from zeroclaw_tui.backends.about import sentences
    from zeroclaw_tui.curation.library import open_library
    from zeroclaw_tui.curation.snapshot.hydrate import is_empty_store

    config, agent = configs[0], agent_given(given)
    file = _given_file(config, given)
    if is_empty_store(config):
        return await _make(config, given, file, agent)
    library = await open_library(config, given.profile)
    try:
        for sentence in sentences(library.memory.notices):
            if given.dry_run or sentence != library.read_only_because:
                note(f"zeroclaw: {sentence}")
        return await _bring_in(library, given, file, agent)
    finally:
        await library.close()


async def _bring_in(library: Library, given: argparse.Namespace, file: Path, agent: str | None) -> int:
    from zeroclaw_tui.curation.changes import Outcome
    from zeroclaw_tui.curation.snapshot.hydrate import hydrate as bring_in
    from zeroclaw_tui.curation.snapshot.hydrate import plan_hydrate

    if not given.dry_run:
        check_writable(library, given)
    plan = await plan_hydrate(library, file, agent=agent)
    count = len(plan.new) + (0 if given.on_conflict == "skip" else len(plan.conflicts))
    facts = _hydration_as_json(plan, file, given)
    if given.dry_run or not count:
        if given.json:
            tell_document(library, Outcome("hydrate", count), dry_run=given.dry_run, **facts)
        else:
            _tell_hydration(_hydration_lines(plan, given), plan, nothing_done=given.dry_run)
        return DONE
    if not given.yes:
        check_can_ask("hydrate", yes=False)
        shown = [*_note_lines(plan), *_hydration_lines(plan, given)]
        if not confirm(f"Bring in {counted(count)}?", shown):
            return REFUSED
    elif not given.json:
        write_lines(_note_lines(plan))
    with Progress("Hydrating", count) as progress:

        def work() -> Awaitable[Outcome]:
            return bring_in(library, plan, given.on_conflict, on_progress=progress.advance)

        outcome = await with_triggers(library, given, lambda: telling_clashes(work), asks=True)
    if outcome is None:
        return REFUSED
    tell_notes(outcome)
    if given.json:
        tell_document(library, outcome, **facts)
    else:
        write_lines(_hydrated_lines(outcome))
    return INTERRUPTED if outcome.cancelled else DONE


def _hydrated_lines(outcome: Outcome) -> Iterator[Line]:
    mark: Line = (Styled("✓", GREEN), " ") if outcome.count else ()
    yield (*mark, change_words(outcome, undo_hint()))
    for sentence in renamed_words(outcome.renamed, MOST_NAMED):
        yield ("  ", sentence)


async def _make(config: MemoryConfig, given: argparse.Namespace, file: Path, agent: str | None) -> int:
    from zeroclaw_tui.curation.changes import Outcome
    from zeroclaw_tui.curation.snapshot.hydrate import make_and_keep, plan_new_store

    if config.read_only and not given.dry_run:
        raise Refused(ASKED_READ_ONLY, hint="--read-only refuses every change.")
    plan = await plan_new_store(config, file, profile=given.profile, agent=agent)
    lines = [*_making_lines(config, plan), *_hydration_lines(plan, given)]
    if given.dry_run:
        if given.json:
            _tell_made(config, given, file, plan, Outcome("hydrate", len(plan.new)))
        else:
            _tell_hydration(lines, plan, nothing_done=True)
        return DONE
    if not given.yes:
        check_can_ask("hydrate", yes=False)
        if not confirm("Create it?", [*_note_lines(plan), *lines]):
            return REFUSED
    outcome = await make_and_keep(config, plan, given.profile)
    tell_notes(outcome)
    if given.json:
        _tell_made(config, given, file, plan, outcome)
    else:
        made = f" Created {one_line(str(config.database))}, which ZeroClaw opens as its own. "
        write_lines([(Styled("✓", GREEN), made, change_words(outcome, undo_hint()))])
    return DONE


def _given_file(config: MemoryConfig, given: argparse.Namespace) -> Path:
    from pathlib import Path

    from zeroclaw_tui.curation.snapshot.snapshot import place_of

    if given.file is not None:
        return Path(given.file).expanduser()
    try:
        return place_of(config)
    except Refused as refused:
        refused.hint = "Name the file: `zeroclaw memory hydrate FILE`."
        raise


def _tell_hydration(lines: Iterable[Line], plan: HydratePlan, *, nothing_done: bool) -> None:
    for sentence in plan.notes:
        note(f"zeroclaw: {sentence}")
    write_lines(lines)
    if nothing_done:
        note(NOTHING_DONE)


def _note_lines(plan: HydratePlan) -> Iterator[Line]:
    for sentence in plan.notes:
        yield (sentence,)


def _making_lines(config: MemoryConfig, plan: HydratePlan) -> Iterator[Line]:
    from zeroclaw_tui.scoring.profiles import SCHEMA_VERSIONS

    path = config.database
    yield (Styled(f"The database {one_line(str(path))} does not exist yet. It is created as ZeroClaw does it.", BOLD),)
    versions = SCHEMA_VERSIONS[plan.generation]
    later = "" if plan.generation == "G4" else "; later versions migrate them when they open it"
    yield (f"  Its tables are those of ZeroClaw {versions}{later}.",)
    if path.exists():
        yield (f"  The empty file at that place is renamed to {one_line(path.name)}.before-hydrate-….",)


def _hydration_lines(plan: HydratePlan, given: argparse.Namespace) -> Iterator[Line]:
    facts = [f"{len(plan.new):,} new"]
    facts += [f"{len(plan.conflicts):,} with another content in the store"] * bool(plan.conflicts)
    facts += [f"{plan.same:,} the same"] * bool(plan.same)
    yield (Styled(" · ".join(facts), BOLD),)
    for entry in plan.new[:MOST_SHOWN]:
        yield memory_line(Styled("+", GREEN), entry)
    yield from _more(len(plan.new))
    for there, here in zip(plan.conflicts[:MOST_SHOWN], plan.here, strict=False):
        yield memory_line(Styled("~", YELLOW), there)
        yield ("    ", Styled("in the store: ", DIM), text_cell(here.content), f"  {date_shown(here.updated_at or '')}")
    yield from _more(len(plan.conflicts))
    if plan.conflicts:
        yield (f"Those with another content {_KEPT_AS_IS[given.on_conflict]}.",)
    if plan.lost:
        yield (Styled(f"{counted(len(plan.lost))} lost something in ZeroClaw's format:", YELLOW),)
        yield from lossy_lines(plan.lost)


def _more(count: int) -> Iterator[Line]:
    if count > MOST_SHOWN:
        yield (Styled(f"  … {count - MOST_SHOWN:,} more; --json has all", DIM),)


def _hydration_as_json(plan: HydratePlan, file: Path, given: argparse.Namespace) -> dict[str, Any]:
    return {
        "file": str(file),
        "made": None,
        "generation": None,
        "new": [_entry_as_json(entry) for entry in plan.new],
        "conflicts": [
            {**_entry_as_json(there), "here": here.content, "ends": given.on_conflict}
            for there, here in zip(plan.conflicts, plan.here, strict=True)
        ],
        "same": plan.same,
        "lost": lossy_as_json(plan.lost),
        "on_conflict": given.on_conflict,
        "file_notes": list(plan.notes),
    }


def _entry_as_json(entry: MemoryEntry) -> dict[str, Any]:
    names = ("key", "content", "category", "agent", "timestamp", "updated_at", "size")
    return {name: getattr(entry, name) for name in names}


def _tell_made(
    config: MemoryConfig, given: argparse.Namespace, file: Path, plan: HydratePlan, outcome: Outcome
) -> None:
    """The document of a change, where no store is open that could tell it."""
    from zeroclaw_tui.curation.transfer.reconcile import Target

    tell_document(
        Target(config, None, location=str(config.database)),
        outcome,
        dry_run=given.dry_run,
        **{
            **_hydration_as_json(plan, file, given),
            "made": str(config.database),
            "generation": plan.generation,
        },
    )
