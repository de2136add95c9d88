"""The verbs snapshot (write MEMORY_SNAPSHOT.md) and hydrate (import it)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from zeroclaw_tui.cli import output, plans
from zeroclaw_tui.cli.options import DRY_RUN, OWNER, option, parse_path, single_agent
from zeroclaw_tui.cli.output import BOLD, Line, Styled
from zeroclaw_tui.cli.transfer import ON_CONFLICT, import_planned
from zeroclaw_tui.cli.verbs import CHANGED, verb
from zeroclaw_tui.memory.text import counted, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.snapshot import SnapshotPlan
    from zeroclaw_tui.curation.transfer.plan import Target


_SNAPSHOT = """\
Write MEMORY_SNAPSHOT.md as ZeroClaw does, and a lossless JSONL copy. It does
not ask, because no memory changes: `zeroclaw memory undo` restores the
replaced file."""


@verb(
    "snapshot",
    f"{CHANGED} and file, copy, memories, lossy, vectors, replaces",
    [DRY_RUN],
    description=_SNAPSHOT,
    concerns=("store", "snapshot"),
    examples=("snapshot --dry-run", "snapshot"),
)
async def snapshot(library: Library, args: argparse.Namespace) -> int:
    """Write MEMORY_SNAPSHOT.md. The document is that of all changes with the fields of `SnapshotPlan`."""
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.curation.snapshot import plan_snapshot, write_snapshot

    if not args.dry_run:
        plans.check_writable(library, args)
    plan = await plan_snapshot(library)
    if args.dry_run:
        planned = plans.change_document(library, Outcome("snapshot", plan.count), dry_run=True, **plan.as_json())
        return plans.print_plan(args, _plan_lines(plan), planned)
    outcome = await write_snapshot(library)
    output.notes(outcome.notes)
    headline = output.done(plan.done_sentence(outcome, plans.undo_hint()))
    lines = [headline, *(f"  {output.runnable(sentence)}" for sentence in plan.loss_sentences())]
    return plans.print_plan(args, lines, plans.change_document(library, outcome, **plan.as_json()))


def _plan_lines(plan: SnapshotPlan) -> Iterator[Line]:
    """Yield what is written, replaced and lost."""
    from zeroclaw_tui.curation.snapshot import NO_CORE_MEMORIES

    if not plan.count:
        yield NO_CORE_MEMORIES
        return
    yield Styled(f"{counted(plan.count, 'core memory')} to {one_line(str(plan.file))}", BOLD)
    yield from (f"  {output.runnable(sentence)}" for sentence in plan.sentences())


@verb(
    "hydrate",
    f"{CHANGED} and file, format, new, same, taken, samples, makes, on_clash",
    options=[
        option(
            "file", nargs="?", metavar="FILE", help="A snapshot or a JSONL export (default: ZeroClaw's own snapshot)"
        ),
        ON_CONFLICT,
        DRY_RUN,
    ],
    agents=OWNER,
    opens="target",
    concerns=("store",),
    examples=("hydrate --dry-run", "hydrate MEMORY_SNAPSHOT.jsonl"),
)
async def hydrate(target: Target, args: argparse.Namespace) -> int:
    """Import a snapshot; a missing database is created first. The document is that of `import`."""
    from zeroclaw_tui.curation.snapshot import place_of, plan_hydrate

    file = place_of(target.config) if args.file is None else parse_path(args.file)
    make_plan = partial(plan_hydrate, target, file, agent=single_agent(args))
    return await import_planned(target, args, make_plan)
