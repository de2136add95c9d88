"""`memory hygiene`: preview what ZeroClaw's hygiene archives and deletes, or run it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.cli import output, plans
from zeroclaw_tui.cli.options import DRY_RUN, option, parse_time
from zeroclaw_tui.cli.output import BOLD, DIM, YELLOW, Line, Styled, runnable
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.memory.days import absolute_time, date_shown, moment
from zeroclaw_tui.memory.errors import DONE, REFUSED, UsageError
from zeroclaw_tui.memory.text import counted, one_line, size_shown

if TYPE_CHECKING:
    from datetime import datetime

    from zeroclaw_tui.curation.hygiene import HygieneItem, HygienePlan
    from zeroclaw_tui.curation.library import Library

_ITEMS_SHOWN = 5
_NAME_CELLS = 48


@verb(
    "hygiene",
    "{backend, location, dry_run, root, profile, as_of, enabled, last_run, last_report, next_due, "
    "state_problem, rules, items, problems}",
    options=[
        option("--as-of", metavar="WHEN", help="Plan as of a date (its midnight), RFC 3339 time or age (30d)"),
        DRY_RUN,
    ],
    concerns=("store", "hygiene"),
    examples=("hygiene --dry-run", "hygiene --dry-run --as-of 2027-01-31"),
)
async def hygiene(library: Library, args: argparse.Namespace) -> int:
    """Show the plan, ask and run it, unless --dry-run is given. Exit code 1 if existing items were not done."""
    from zeroclaw_tui.curation.hygiene import plan_hygiene, run_hygiene, run_sentences

    as_of = args.now if args.as_of is None else _as_of(args.as_of, args.now)
    if as_of > args.now and not args.dry_run:
        raise UsageError("Hygiene cannot run as of a future time.", hint="Pass --dry-run to preview it.")
    plans.check_can_change(library, args)
    plan = await plan_hygiene(library, as_of)
    lines = [*_plan_lines(library, plan)]
    planned = {**output.place_of(library), "dry_run": args.dry_run, **plan.as_json()}
    if args.dry_run or not plan.items:
        return plans.print_plan(args, lines, planned)
    if not args.yes and not plans.confirm("Run it?", lines):
        return REFUSED
    with plans.Progress("Hygiene:", len(plan.items)) as progress:
        outcome = await run_hygiene(library, plan, on_progress=progress.advance)
    output.notes(outcome.notes)
    names = ("count", "action", "until", "changed", "missing", "notes")
    document = {name: value for name, value in outcome.as_json().items() if name in names}
    output.print_result(args, planned | document, run_sentences(outcome, plan, runnable("`zeroclaw memory undo`")))
    if outcome.cancelled:
        return plans.note_stopped(outcome.count, f"{len(plan.items):,}")
    return REFUSED if outcome.count + len(outcome.missing) < len(plan.items) else DONE


def _as_of(text: str, now: datetime) -> datetime:
    """Parse --as-of; a date means its midnight."""
    parsed = moment(parse_time(text, now))
    assert parsed is not None
    try:
        return parsed.astimezone()
    except OverflowError as error:
        raise UsageError(f"{text!r} is out of range: years 1 to 9999 only.") from error


def _plan_lines(library: Library, plan: HygienePlan) -> Iterator[Line]:
    """Yield each rule with its items, the problems, and a summary."""
    root, as_of = output.masked_line(str(plan.root)), absolute_time(plan.as_of.isoformat())
    yield Styled(f"Hygiene of {root} by the rules of ZeroClaw {plan.rules.version}, as of {as_of}", BOLD)
    yield Styled(" · ".join(plan.status(library.trash.now())), DIM)
    yield ()
    for rule in plan.rules.rules:
        items = plan.items_of(rule.name)
        size = size_shown(sum(item.size for item in items))
        yield Styled(rule.sentence, BOLD if items else DIM)
        if items:
            yield f"  {counted(len(items), rule.item_noun)}, {size}"
            yield from _item_lines(items)
    if not plan.items:
        yield "Nothing to archive or delete."
    for problem in filter(None, (plan.state.problem, *plan.problems)):
        yield Styled(output.masked_line(problem), YELLOW)
    if facts := plan.sentences():
        yield ()
        yield runnable(f"{' · '.join(facts)}. After a run, `zeroclaw memory undo` restores all of it.")


def _item_lines(items: Sequence[HygieneItem]) -> Iterator[Line]:
    rows = [
        (
            date_shown(item.date),
            output.masked_line(item.name),
            Styled(f'"{one_line(item.excerpt)}"' if item.excerpt else output.masked_line(item.effect_text()), DIM),
        )
        for item in items[:_ITEMS_SHOWN]
    ]
    yield from output.table(rows, longest=_NAME_CELLS, indent="  ")
    if len(items) > _ITEMS_SHOWN:
        yield Styled(f"  … {len(items) - _ITEMS_SHOWN:,} more. Show them with --json", DIM)
