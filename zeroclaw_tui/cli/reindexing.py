"""`memory reindex`: make the vectors that memories lack.

Its document: {"backend", "location", "dry_run", "model", "remote", "missing", "wrong", "characters", "tokens", "cost",
"filled", "zeros", "left", "failed", "stopped"}; `zeros` are those filled with a vector of zeros, `cost` is in US
dollars, null where it is not known or nothing is sent. Exit code 1 where the endpoint said no to some and after a no,
130 after ctrl-c.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import datetime

from zeroclaw_tui.cli.asking import NOTHING_DONE, check_can_ask, confirm
from zeroclaw_tui.cli.guarding import Progress, check_writable
from zeroclaw_tui.cli.output import GREEN, YELLOW, Line, Styled, document, note, write_lines
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.reindex import Reindexed, ReindexPlan, announce, plan_reindex, zeros_words
from zeroclaw_tui.curation.reindex import reindex as make_vectors
from zeroclaw_tui.embeddings.prices import PRICES_OF
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED
from zeroclaw_tui.memory.text import counted, mask_secrets, one_line

MOST_FAILED_SHOWN = 10


async def reindex(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb; the exit code."""
    if not given.dry_run:
        check_writable(library, given)
        check_can_ask("reindex", yes=given.yes)
    plan = await plan_reindex(library, ids=tuple(given.id) if given.id else None)
    if given.dry_run or not plan.count:
        return _tell_plan(library, given, plan)
    if given.yes:
        announce(library, plan)
    elif not confirm("Make them?", _plan_lines(library, plan)):
        return REFUSED
    with Progress("Making vectors", plan.count) as progress:
        done = await make_vectors(library, plan, per_minute=given.per_minute, advance=progress.advance)
    return _tell_done(library, given, plan, done)


def _tell_plan(library: Library, given: argparse.Namespace, plan: ReindexPlan) -> int:
    if given.json:
        _document(library, plan, None)
    else:
        write_lines(_plan_lines(library, plan))
        if plan.count:
            note(NOTHING_DONE)
    return DONE


def _tell_done(library: Library, given: argparse.Namespace, plan: ReindexPlan, done: Reindexed) -> int:
    if given.json:
        _document(library, plan, done)
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


def _plan_lines(library: Library, plan: ReindexPlan) -> Iterator[Line]:
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


def _document(library: Library, plan: ReindexPlan, done: Reindexed | None) -> None:
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
