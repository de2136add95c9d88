"""MEMORY_SNAPSHOT.md: written, compared, and imported into a store (hydrate)."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from zeroclaw_tui.cli import output, plans
from zeroclaw_tui.cli.options import OWNER, add_dry_run, agent_given
from zeroclaw_tui.cli.output import BOLD, CYAN, DIM, GREEN, YELLOW, Line, Styled
from zeroclaw_tui.cli.transfer import add_conflict_options, expanded, import_planned
from zeroclaw_tui.cli.verbs import CHANGED, verb
from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.memory.errors import DONE, Refused
from zeroclaw_tui.memory.text import counted, cut, one_line

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from zeroclaw_tui.curation.hydrate import Difference, Where
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.snapshot import SnapshotPlan
    from zeroclaw_tui.curation.transfer.target import Target


_SNAPSHOT = """\
Write MEMORY_SNAPSHOT.md as ZeroClaw does, and a lossless JSONL copy. It does
not ask, because no memory changes: `zeroclaw memory undo` restores the
replaced file, and a file that is not ZeroClaw's needs --replace-foreign."""
_MOST_SHOWN = 20
_KEY_CELLS, _TEXT_CELLS = 28, 52
_WHERE: dict[Where, tuple[str, str, str]] = {
    "changed": ("~", YELLOW, "changed"),
    "only here": ("+", GREEN, "only in the store"),
    "only there": ("-", CYAN, "only in the file"),
    "same": ("=", DIM, "the same"),
}
"""For each kind of difference its mark, the colour of that, and what it is called."""


def _snapshot_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--diff", action="store_true", help="Compare the snapshot with the store, write nothing")
    parser.add_argument(
        "--replace-foreign", action="store_true", help="Replace a file of that name that is not ZeroClaw's"
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
    examples=("snapshot --dry-run", "snapshot --diff"),
)
async def snapshot(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Write MEMORY_SNAPSHOT.md, or compare it with the store.

    The document is that of every change with what `SnapshotPlan` says.
    """
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.curation.snapshot import plan_snapshot, write_snapshot

    if given.diff:
        return await _diff(library, given)
    if not given.dry_run:
        plans.check_writable(library, given)
    plan = await plan_snapshot(library)
    if given.dry_run:
        planned = plans.change_document(library, Outcome("snapshot", plan.count), dry_run=True, **plan.as_json())
        return plans.print_plan(given, _plan_lines(plan), planned)
    outcome = await write_snapshot(library, replaces_foreign=given.replace_foreign)
    plans.print_notes(outcome)
    if given.json:
        plans.print_change(library, outcome, **plan.as_json())
    else:
        output.write_lines([(Styled("✓", GREEN), f" {plan.done_sentence(outcome, plans.undo_hint())}")])
        output.write_lines(f"  {sentence}" for sentence in plan.loss_sentences())
    return DONE


def _plan_lines(plan: SnapshotPlan) -> Iterator[Line]:
    """What is written, replaced and lost, with the keys of memories that lose something."""
    from zeroclaw_tui.curation.snapshot import NO_CORE_MEMORIES

    if not plan.count:
        yield NO_CORE_MEMORIES
        return
    yield Styled(f"{counted(plan.count, 'core memory')} to {one_line(str(plan.file))}", BOLD)
    for sentence in plan.foreign:
        yield Styled(f"  {sentence} Pass --replace-foreign to replace it.", YELLOW)
    yield from (f"  {sentence}" for sentence in plan.sentences())
    lossy = [(_key(key), Styled(lost, DIM)) for key, lost in plan.lossy[:_MOST_SHOWN]]
    yield from output.table(lossy, indent="  ") if lossy else ()
    if len(plan.lossy) > _MOST_SHOWN:
        yield Styled(f"  … {len(plan.lossy) - _MOST_SHOWN:,} more; --json has all", DIM)


async def _diff(library: Library, given: argparse.Namespace) -> int:
    import asyncio

    from zeroclaw_tui.curation.formats.snapshot import load
    from zeroclaw_tui.curation.hydrate import compare
    from zeroclaw_tui.curation.snapshot import place_of

    file = place_of(library.config)
    there = await asyncio.to_thread(load, file)
    found = await compare(library, there)
    counts = Counter(difference.where for difference in found)
    if not given.json:
        output.notes(there.notes)
        output.write_lines(_diff_lines(file, found, counts))
        return DONE
    output.document(
        {
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
    )
    return DONE


def _diff_lines(file: Path, found: Sequence[Difference], counts: Counter[Where]) -> Iterator[Line]:
    facts = " · ".join(f"{counts[where]:,} {called}" for where, (_, _, called) in _WHERE.items() if counts[where])
    yield (Styled(one_line(str(file)), BOLD), Styled(f"    {facts or 'no memories on either side'}", DIM))
    rows: list[tuple[Line, ...]] = []
    for where, (mark, colour, called) in _WHERE.items():
        some = [difference for difference in found if difference.where == where and where != "same"]
        for difference in some[:_MOST_SHOWN]:
            rows += _difference_rows(difference, Styled(mark, colour))
        if len(some) > _MOST_SHOWN:
            rows.append(
                (Styled("…", DIM), Styled(f"{len(some) - _MOST_SHOWN:,} more {called}; --json has all", DIM), "")
            )
    yield from output.table(rows, indent="  ") if rows else ()
    if counts["only there"] or counts["changed"]:
        yield Styled(runnable("`zeroclaw memory hydrate` brings memories of the file into the store."), DIM)


def _difference_rows(difference: Difference, mark: Styled) -> Iterator[tuple[Line, ...]]:
    shown = difference.here or difference.there
    if shown is not None:
        yield mark, _key(shown.key), _text(shown.content)
    if difference.where == "changed" and difference.there is not None:
        yield "", "in the file:", _text(difference.there.content)
    if difference.lost:
        yield "", "lost by ZeroClaw's format:", Styled(difference.lost, DIM)


def _key(key: str) -> str:
    return cut(output.masked_line(key) or '""', _KEY_CELLS)


def _text(content: str) -> str:
    """The beginning of a content, its secrets masked."""
    from zeroclaw_tui.memory.secret_text import excerpt_of

    return cut(f'"{excerpt_of(content)}"', _TEXT_CELLS)


def _hydrate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="A snapshot or a JSONL export (default: ZeroClaw's own snapshot)"
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
    opens="target",
    changes=True,
    concerns=("store",),
    examples=("hydrate --dry-run", "hydrate MEMORY_SNAPSHOT.jsonl"),
)
async def hydrate(target: Target, given: argparse.Namespace, now: datetime) -> int:
    """Import a snapshot; the database is created first where there is none. The document is that of `import`."""
    from zeroclaw_tui.curation.hydrate import plan_hydrate
    from zeroclaw_tui.curation.snapshot import place_of

    try:
        file = place_of(target.config) if given.file is None else expanded(given.file)
    except Refused as refused:
        refused.hint = "Name the file: `zeroclaw memory hydrate FILE`."
        raise
    make_plan = partial(plan_hydrate, target, file, agent=agent_given(given))
    return await import_planned(target, given, "hydrate", make_plan)
