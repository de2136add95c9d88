"""MEMORY_SNAPSHOT.md: written, compared, and brought back into a store (hydrate)."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.cli.options import OWNER, add_dry_run, agent_given
from zeroclaw_tui.cli.output import BOLD, CYAN, DIM, GREEN, YELLOW, Styled, document, note, write_lines
from zeroclaw_tui.cli.plans import (
    NOTHING_DONE,
    check_writable,
    print_change,
    print_notes,
    undo_hint,
)
from zeroclaw_tui.cli.transfer import add_conflict_options, import_planned
from zeroclaw_tui.cli.verbs import CHANGED, verb
from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, DONE, Refused, UsageError
from zeroclaw_tui.memory.text import counted, cut, one_line, padded

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from zeroclaw_tui.cli.output import Line
    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.curation.formats.snapshot import Snapshot
    from zeroclaw_tui.curation.hydrate import Difference, Where
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.snapshot import SnapshotPlan


_SNAPSHOT = """\
Write MEMORY_SNAPSHOT.md as ZeroClaw does, and a lossless JSONL copy. It does not ask, because no memory changes:
`zeroclaw memory undo` restores the replaced file, and a file that is not ZeroClaw's needs --replace-foreign."""


MOST_SHOWN = 20
KEY_CELLS, TEXT_CELLS = 28, 52
_WHERE: dict[Where, tuple[str, str, str]] = {
    "changed": ("~", YELLOW, "changed"),
    "only here": ("+", GREEN, "only in the store"),
    "only there": ("-", CYAN, "only in the file"),
    "same": ("=", DIM, "the same"),
}
"""For each kind of difference its mark, the colour of that, and what it is called."""


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

    Its document is that of every change (see `print_change`) with "file", "beside" (the lossless copy), "memories"
    (how many core memories the snapshot holds), "lossy": [{"key", "lost"}] with what ZeroClaw's format loses of each,
    "vectors" (whether the lossless copy has them), "replaces" ({"is_zeroclaws", "because", "entries", "total",
    "exported"} of the file in its place, or null) and "foreign" (sentences about files in the way that are another
    program's).

    With --diff: {"verb", "backend", "location", "file", "is_zeroclaws", "exported", "notes", "counts", "differences"},
    each of the latter {"key", "where", "here", "there", "lost"}, here and there memories as `list` prints them, or
    null.
    """
    from zeroclaw_tui.curation.snapshot import plan_snapshot, write_snapshot

    if given.diff:
        return await _diff(library, given)
    if given.file is not None:
        raise UsageError("--file needs --diff.", hint="ZeroClaw reads its snapshot from one place only.")
    if not given.dry_run:
        check_writable(library, given)
    plan = await plan_snapshot(library)
    if given.dry_run:
        return _print_plan(library, given, plan)
    outcome = await write_snapshot(library, replaces_foreign=given.replace_foreign)
    print_notes(outcome)
    if given.json:
        print_change(library, outcome, verb="snapshot", **plan.as_json())
    else:
        done = (Styled("✓", GREEN), f" {plan.done_sentence(outcome, undo_hint())}")
        write_lines([done, *((f"  {sentence}",) for sentence in plan.loss_sentences())])
    return DONE


def _text_cell(content: str) -> str:
    """The beginning of a content, its secrets masked."""
    from zeroclaw_tui.memory.secret_text import excerpt_of

    return cut(f'"{excerpt_of(content)}"', TEXT_CELLS)


def _print_plan(library: Library, given: argparse.Namespace, plan: SnapshotPlan) -> int:
    from zeroclaw_tui.curation.outcome import Outcome

    if given.json:
        print_change(library, Outcome("snapshot", plan.count), dry_run=True, **plan.as_json())
        return DONE
    write_lines(_plan_lines(plan))
    note(NOTHING_DONE)
    return DONE


def _plan_lines(plan: SnapshotPlan) -> Iterator[Line]:
    """What is written, replaced and lost, with the keys of memories that lose something."""
    from zeroclaw_tui.curation.snapshot import NO_CORE_MEMORIES

    if not plan.count:
        yield (NO_CORE_MEMORIES,)
        return
    yield (Styled(f"{counted(plan.count, 'core memory')} to {one_line(str(plan.file))}", BOLD),)
    for sentence in plan.foreign:
        yield (Styled(f"  {sentence} Pass --replace-foreign to replace it.", YELLOW),)
    yield from ((f"  {sentence}",) for sentence in plan.sentences())
    for key, lost in plan.lossy[:MOST_SHOWN]:
        yield ("  ", _key_cell(key), "  ", Styled(lost, DIM))
    if len(plan.lossy) > MOST_SHOWN:
        yield (Styled(f"  … {len(plan.lossy) - MOST_SHOWN:,} more; --json has all", DIM),)


async def _diff(library: Library, given: argparse.Namespace) -> int:
    import asyncio

    from zeroclaw_tui.curation.formats.snapshot import load
    from zeroclaw_tui.curation.hydrate import compare

    file = _file(library.config, given, "--file PATH names a snapshot to compare with.")
    there = await asyncio.to_thread(load, file)
    found = await compare(library, there)
    if given.json:
        document(_diff_as_json(library, file, there, found))
        return DONE
    for sentence in there.notes:
        note(f"zeroclaw: {sentence}")
    write_lines(_diff_lines(file, found))
    return DONE


def _file(config: MemoryConfig, given: argparse.Namespace, hint: str) -> Path:
    """The file that was named, or ZeroClaw's own; `hint` says how to name one."""
    from pathlib import Path

    from zeroclaw_tui.curation.snapshot import place_of

    if given.file is not None:
        return Path(given.file).expanduser()
    try:
        return place_of(config)
    except Refused as refused:
        refused.hint = hint
        raise


def _diff_lines(file: Path, found: Sequence[Difference]) -> Iterator[Line]:
    counts = Counter(difference.where for difference in found)
    facts = " · ".join(f"{counts[where]:,} {called}" for where, (_, _, called) in _WHERE.items() if counts[where])
    yield (Styled(one_line(str(file)), BOLD), Styled(f"    {facts or 'no memories on either side'}", DIM))
    for where, (mark, colour, called) in _WHERE.items():
        some = [difference for difference in found if difference.where == where and where != "same"]
        for difference in some[:MOST_SHOWN]:
            yield from _difference_lines(difference, Styled(mark, colour))
        if len(some) > MOST_SHOWN:
            yield (Styled(f"  … {len(some) - MOST_SHOWN:,} more {called}; --json has all", DIM),)
    if counts["only there"] or counts["changed"]:
        yield (Styled(runnable("`zeroclaw memory hydrate` brings memories of the file into the store."), DIM),)


def _difference_lines(difference: Difference, mark: Styled) -> Iterator[Line]:
    shown = difference.here or difference.there
    if shown is not None:
        yield ("  ", mark, " ", _key_cell(shown.key), "  ", _text_cell(shown.content))
    if difference.where == "changed" and difference.there is not None:
        yield ("    ", padded("in the file:", KEY_CELLS, right=True), "  ", _text_cell(difference.there.content))
    if difference.lost:
        yield ("    ", Styled(f"lost by ZeroClaw's format: {difference.lost}", DIM))


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
        "counts": {where: counts[where] for where in _WHERE},
        "differences": [
            {
                "key": difference.key,
                "where": difference.where,
                "here": difference.here.as_json() if difference.here else None,
                "there": difference.there.as_json() if difference.there else None,
                "lost": difference.lost or None,
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
    add_conflict_options(parser)
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
    """Import a snapshot into the store; the database is created first where there is none.

    Its document is that of `import`.
    """
    from functools import partial

    from zeroclaw_tui.backends.about import sentences
    from zeroclaw_tui.curation.hydrate import hydrate_target, plan_hydrate

    config = configs[0]
    file = _file(config, given, "Name the file: `zeroclaw memory hydrate FILE`.")
    target = await hydrate_target(config, given.profile)
    try:
        if target.library is None and config.read_only and not given.dry_run:
            raise Refused(ASKED_READ_ONLY, hint="--read-only refuses every change.")
        library = target.library
        for sentence in () if library is None else sentences(library.memory.about.notices):
            if given.dry_run or (library is not None and sentence != library.read_only_because):
                note(f"zeroclaw: {sentence}")
        make_plan = partial(plan_hydrate, target, file, agent=agent_given(given))
        return await import_planned(target, given, "hydrate", make_plan)
    finally:
        await target.close()
