"""The verbs that mend what a store has grown: compact and reindex.

`memory compact`: make the database file small.

Its document: {"backend", "location", "dry_run", "before", "after", "free", "open_in", "backup", "done"}, sizes in
bytes, `open_in` the programs that have the database open. Exit code 1 after a no, 3 while another program has it open.

`memory reindex`: make the vectors that memories lack.

Its document: {"backend", "location", "dry_run", "model", "remote", "missing", "wrong", "characters", "tokens", "cost",
"filled", "zeros", "left", "failed", "stopped"}; `zeros` are those filled with a vector of zeros, `cost` is in US
dollars, null where it is not known or nothing is sent. Exit code 1 where the endpoint said no to some and after a no,
130 after ctrl-c.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime

from zeroclaw_tui.cli.guard import NOTHING_DONE, Progress, check_can_ask, check_writable, confirm
from zeroclaw_tui.cli.output import GREEN, YELLOW, Line, Styled, document, note, write_lines
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.doctor.repairs import CompactPlan, Repaired, plan_compact
from zeroclaw_tui.curation.doctor.repairs import compact as make_small
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.reindex import Reindexed, ReindexPlan, announce, plan_reindex, zeros_words
from zeroclaw_tui.curation.reindex import reindex as make_vectors
from zeroclaw_tui.embeddings.base import PRICES_OF
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, NOT_REACHABLE, REFUSED
from zeroclaw_tui.memory.text import counted, mask_secrets, one_line, size_shown


async def compact(configs: Sequence[MemoryConfig], given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb, also where the store does not open; the exit code."""
    config = configs[0]
    if not given.dry_run:
        check_can_ask("compact", yes=given.yes)
    plan = await plan_compact(config)
    if given.dry_run:
        return _tell_compaction_plan(config, given, plan)
    if not plan.open_in and not given.yes and not confirm("Write it anew?", _compaction_lines(plan)):
        return REFUSED
    try:
        done = await make_small(config, now, lambda sentence: note(f"zeroclaw: {sentence} …"))
    except asyncio.CancelledError:
        note("zeroclaw: Stopped; the memories are as they were.")
        raise
    return _tell_compacted(config, given, plan, done, (await plan_compact(config)).size)


def _tell_compaction_plan(config: MemoryConfig, given: argparse.Namespace, plan: CompactPlan) -> int:
    if given.json:
        _compaction_document(config, plan, None, None)
    else:
        write_lines(_compaction_lines(plan))
        note(NOTHING_DONE)
    return NOT_REACHABLE if plan.open_in else DONE


def _tell_compacted(
    config: MemoryConfig, given: argparse.Namespace, plan: CompactPlan, done: Repaired, after: int
) -> int:
    if given.json:
        _compaction_document(config, plan, done, after)
    else:
        write_lines([(Styled("✓", GREEN), " ", one_line(sentence)) for sentence in done.done])
        note(f"zeroclaw: The backup is {done.backup}.")
    return DONE


def _compaction_lines(plan: CompactPlan) -> list[Line]:
    lines: list[Line] = [
        (f"{one_line(str(plan.database))} has {size_shown(plan.size)}, {size_shown(plan.free)} of them hold nothing.",),
        ("A backup is made first; then the file is written anew, and every memory compared with before.",),
    ]
    if plan.open_in:
        lines.append((Styled(f"It is open in {plan.open_in}, so it is not done now.", YELLOW),))
    return lines


def _compaction_document(config: MemoryConfig, plan: CompactPlan, done: Repaired | None, after: int | None) -> None:
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


MOST_FAILED_SHOWN = 10


async def reindex(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb; the exit code."""
    if not given.dry_run:
        check_writable(library, given)
        check_can_ask("reindex", yes=given.yes)
    plan = await plan_reindex(library, ids=tuple(given.id) if given.id else None)
    if given.dry_run or not plan.count:
        return _tell_vector_plan(library, given, plan)
    if given.yes:
        announce(library, plan)
    elif not confirm("Make them?", _vector_lines(library, plan)):
        return REFUSED
    with Progress("Making vectors", plan.count) as progress:
        done = await make_vectors(library, plan, per_minute=given.per_minute, advance=progress.advance)
    return _tell_vectors(library, given, plan, done)


def _tell_vector_plan(library: Library, given: argparse.Namespace, plan: ReindexPlan) -> int:
    if given.json:
        _vector_document(library, plan, None)
    else:
        write_lines(_vector_lines(library, plan))
        if plan.count:
            note(NOTHING_DONE)
    return DONE


def _tell_vectors(library: Library, given: argparse.Namespace, plan: ReindexPlan, done: Reindexed) -> int:
    if given.json:
        _vector_document(library, plan, done)
    else:
        write_lines([(Styled("✓", GREEN), f" {counted(done.filled)} of {plan.count:,} got a vector.")])
        if done.left:
            write_lines([(f"{counted(done.left)} changed meanwhile and stayed.",)])
    if done.zeros:
        note(f"zeroclaw: {zeros_words(done.zeros)}")
    for sentence in done.failed[:MOST_FAILED_SHOWN]:
        note(f"zeroclaw: {one_line(mask_secrets(sentence))}")
    if len(done.failed) > MOST_FAILED_SHOWN:
        note(f"zeroclaw: … {len(done.failed) - MOST_FAILED_SHOWN:,} more.")
    if done.stopped:
        note(f"zeroclaw: Stopped after {done.filled:,} of {counted(plan.count)}; `zeroclaw memory reindex` goes on.")
        return INTERRUPTED
    return REFUSED if done.failed else DONE


def _vector_lines(library: Library, plan: ReindexPlan) -> Iterator[Line]:
    if not plan.count:
        yield ("Every memory with text has a vector that fits.",)
        return
    if plan.missing:
        yield (f"{counted(len(plan.missing))} without a vector.",)
    if plan.wrong:
        yield (f"{counted(len(plan.wrong))} with a vector that is made anew.",)
    where = "leave this machine" if plan.is_remote else "stay on this machine"
    yield (
        f"{plan.characters:,} characters, about {plan.tokens:,} tokens, {where}: ",
        f"{one_line(plan.model)} of {one_line(mask_secrets(library.config.embedding.provider))} makes the vectors.",
    )
    if plan.cost is not None:
        yield (f"That costs {_dollars(plan.cost)}, by prices of {PRICES_OF}.",)
    if library.config.embedding.provider == "local":
        yield (Styled("ZeroClaw does not know the provider local: these vectors serve searches here only.", YELLOW),)


def _dollars(cost: float) -> str:
    return "less than $0.01" if cost < 0.01 else f"about ${cost:,.2f}"


def _vector_document(library: Library, plan: ReindexPlan, done: Reindexed | None) -> None:
    document(
        {
            "backend": library.memory.name,
            "location": library.memory.location,
            "dry_run": done is None,
            "model": plan.model,
            "remote": plan.is_remote,
            "missing": len(plan.missing),
            "wrong": len(plan.wrong),
            "characters": plan.characters,
            "tokens": plan.tokens,
            "cost": plan.cost,
            "filled": done.filled if done else 0,
            "zeros": done.zeros if done else 0,
            "left": done.left if done else 0,
            "failed": list(done.failed) if done else [],
            "stopped": done.stopped if done else False,
        }
    )
