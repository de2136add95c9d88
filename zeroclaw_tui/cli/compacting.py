"""`memory compact`: make the database file small.

Its document: {"backend", "location", "dry_run", "before", "after", "free", "open_in", "backup", "done"}, sizes in
bytes, `open_in` the programs that have the database open. Exit code 1 after a no, 3 while another program has it open.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from datetime import datetime

from zeroclaw_tui.cli.asking import NOTHING_DONE, check_can_ask, confirm
from zeroclaw_tui.cli.output import GREEN, YELLOW, Line, Styled, document, note, size_shown, write_lines
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.doctor.repairs import CompactPlan, Repaired, plan_compact
from zeroclaw_tui.curation.doctor.repairs import compact as make_small
from zeroclaw_tui.memory.errors import DONE, NOT_REACHABLE, REFUSED
from zeroclaw_tui.memory.text import one_line


async def compact(configs: Sequence[MemoryConfig], given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb, also where the store does not open; the exit code."""
    config = configs[0]
    if not given.dry_run:
        check_can_ask("compact", yes=given.yes)
    plan = await plan_compact(config)
    if given.dry_run:
        return _tell_plan(config, given, plan)
    if not plan.open_in and not given.yes and not confirm("Write it anew?", _plan_lines(plan)):
        return REFUSED
    try:
        done = await make_small(config, now, lambda sentence: note(f"zeroclaw: {sentence} …"))
    except asyncio.CancelledError:
        note("zeroclaw: Stopped; the memories are as they were.")
        raise
    return _tell_done(config, given, plan, done, (await plan_compact(config)).size)


def _tell_plan(config: MemoryConfig, given: argparse.Namespace, plan: CompactPlan) -> int:
    if given.json:
        _document(config, plan, None, None)
    else:
        write_lines(_plan_lines(plan))
        note(NOTHING_DONE)
    return NOT_REACHABLE if plan.open_in else DONE


def _tell_done(config: MemoryConfig, given: argparse.Namespace, plan: CompactPlan, done: Repaired, after: int) -> int:
    if given.json:
        _document(config, plan, done, after)
    else:
        write_lines([(Styled("✓", GREEN), " ", one_line(sentence)) for sentence in done.done])
        note(f"zeroclaw: The backup is {done.backup}.")
    return DONE


def _plan_lines(plan: CompactPlan) -> list[Line]:
    lines: list[Line] = [
        (f"{one_line(str(plan.database))} has {size_shown(plan.size)}, {size_shown(plan.free)} of them hold nothing.",),
        ("A backup is made first; then the file is written anew, and every memory compared with before.",),
    ]
    if plan.open_in:
        lines.append((Styled(f"It is open in {plan.open_in}, so it is not done now.", YELLOW),))
    return lines


def _document(config: MemoryConfig, plan: CompactPlan, done: Repaired | None, after: int | None) -> None:
    document(
        {
            "backend": config.backend,
            "location": str(plan.database),
            "dry_run": done is None,
            "before": plan.size,
            "after": after,
            "free": plan.free,
            "open_in": plan.open_in,
            "backup": str(done.backup) if done is not None and done.backup else None,
            "done": list(done.done) if done is not None else [],
        }
    )
