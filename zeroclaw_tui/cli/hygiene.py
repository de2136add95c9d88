"""`memory hygiene`: preview what ZeroClaw's hygiene archives and deletes, or run it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.cli import output, plans
from zeroclaw_tui.cli.options import UNITS_OF_AGE, add_dry_run, moment_meant
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, NOTHING, YELLOW, Line, Styled
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.memory.days import absolute_time, date_shown, moment
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, UsageError
from zeroclaw_tui.memory.text import counted, cut, one_line, size_shown

if TYPE_CHECKING:
    from datetime import datetime

    from zeroclaw_tui.curation.hygiene import HygieneItem, HygienePlan
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome

_FUTURE = re.compile(r"(?:in\s*|\+)(\d{1,7})\s*(h|d|w)", re.IGNORECASE)
_MAX_SHOWN = 80
_ITEMS_SHOWN = 5


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as-of", metavar="WHEN", help="Plan as of a date (its midnight), RFC 3339 time, age (30d) or 'in 30d'"
    )
    parser.add_argument(
        "--without", action="append", default=[], metavar="ITEM", help="Exclude an item by its name or ID (repeatable)"
    )
    add_dry_run(parser)


@verb(
    "hygiene",
    "Preview or run ZeroClaw's hygiene, with undo",
    "{backend, location, dry_run, root, profile, as_of, enabled, last_run, last_report, next_due, "
    "state_problem, rules, items, problems, left_out}",
    _options,
    changes=True,
    concerns=("store", "hygiene"),
    examples=("hygiene --dry-run", 'hygiene --dry-run --as-of "in 30d"'),
)
async def hygiene(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Show the plan; without --dry-run ask and run it. Exit code 1 when something that still exists was not done."""
    from zeroclaw_tui.curation.hygiene import plan_hygiene, run_hygiene
    from zeroclaw_tui.curation.outcome import Outcome

    as_of = now if given.as_of is None else _as_of(given.as_of, now)
    if not given.dry_run:
        if as_of > now:
            raise UsageError("Hygiene cannot run as of a future time.", hint="Pass --dry-run to preview it.")
        if library.read_only_because is not None:
            plans.check_writable(library, given)
        plans.check_can_ask("hygiene", yes=given.yes)
    full = await plan_hygiene(library, as_of)
    excluded = _excluded(full, given.without)
    plan = full.without(excluded)
    lines = [*_plan_lines(library, full, plan)]
    planned = _as_json(library, full, plan, dry_run=given.dry_run)
    if given.dry_run:
        return plans.print_plan(given, lines, planned)
    if not plan.items:
        return plans.print_plan(given, lines, planned | _run_as_json(Outcome("hygiene", 0)))
    if not given.yes and not plans.confirm("Run it?", lines):
        return REFUSED
    run = partial(run_hygiene, library, full, exclude=excluded)
    outcome = await plans.carry_out(library, given, "Hygiene:", len(plan.items), run)
    if outcome is None:
        return REFUSED
    plans.print_notes(outcome)
    if given.json:
        output.document(planned | _run_as_json(outcome))
    else:
        output.write_lines(_done_lines(plan, outcome, len(full.items) - len(plan.items)))
    if outcome.cancelled:
        output.note(f"zeroclaw: Stopped after {outcome.count:,} of {len(plan.items):,}. Run it again for the rest.")
        return INTERRUPTED
    return REFUSED if outcome.count + len(outcome.gone) < len(plan.items) else DONE


def _as_of(text: str, now: datetime) -> datetime:
    """The moment that --as-of names: "in 30d", "30d" (ago), a date (midnight at its start, local) or RFC 3339."""
    found = _FUTURE.fullmatch(text.strip())
    try:
        if found is not None:
            return (now + timedelta(**{UNITS_OF_AGE[found[2].lower()]: int(found[1])})).astimezone()
        meant = moment(moment_meant(text, now))
        assert meant is not None
        return meant.astimezone()
    except OverflowError as error:
        raise UsageError(f"{cut(one_line(text), _MAX_SHOWN)!r} is out of range: years 1 to 9999 only.") from error


def _excluded(plan: HygienePlan, names: Sequence[str]) -> frozenset[str]:
    """The ids of the items that --without names, by name or id. Raises UsageError for one that is not in the plan."""
    excluded: set[str] = set()
    for name in names:
        found = {item.id for item in plan.items if name in (item.name, item.id)}
        if not found:
            raise UsageError(
                f"{cut(one_line(name), _MAX_SHOWN)!r} is not part of this plan.",
                hint="`zeroclaw memory hygiene --dry-run --json` lists the name and ID of every item.",
            )
        excluded |= found
    return frozenset(excluded)


def _excluded_items(full: HygienePlan, plan: HygienePlan) -> list[HygieneItem]:
    included = {item.id for item in plan.items}
    return [item for item in full.items if item.id not in included]


def _as_json(library: Library, full: HygienePlan, plan: HygienePlan, *, dry_run: bool) -> dict[str, Any]:
    place = {"backend": library.memory.name, "location": library.memory.about.location, "dry_run": dry_run}
    return {**place, **plan.as_json(), "left_out": [item.as_json() for item in _excluded_items(full, plan)]}


def _run_as_json(outcome: Outcome) -> dict[str, Any]:
    """What was done, by the names that every change has."""
    done = outcome.as_json()
    return {name: done[name] for name in ("count", "action", "until", "changed", "gone", "notes")}


def _plan_lines(library: Library, full: HygienePlan, plan: HygienePlan) -> Iterator[Line]:
    """The rules with what each archives or deletes, what `plan` excludes of the full plan, problems, and a summary."""
    root, as_of = output.masked_line(str(plan.root)), absolute_time(plan.as_of.isoformat())
    yield Styled(f"Hygiene of {root} by the rules of ZeroClaw {plan.rules.version}, as of {as_of}", BOLD)
    yield Styled(" · ".join(plan.status(library.trash.now())), DIM)
    if plan.state.problem:
        yield Styled(output.masked_line(plan.state.problem), YELLOW)
    yield ()
    rows = [_rule_row(rule.sentence, rule.item_noun, plan.items_of(rule.name), rule.is_on) for rule in plan.rules.rules]
    for rule, line in zip(
        plan.rules.rules, output.table(rows, right={1, 2}, longest=max(30, output.width() - 25)), strict=True
    ):
        yield line
        yield from _item_lines(plan.items_of(rule.name))
    if not plan.items:
        yield ()
        yield "Nothing to archive or delete."
    for item in _excluded_items(full, plan):
        yield Styled(f"  excluded: {output.masked_line(item.name)}", DIM)
    for problem in plan.problems:
        yield Styled(output.masked_line(problem), YELLOW)
    if facts := plan.sentences():
        yield ()
        yield runnable(f"{' · '.join(facts)}. After a run, `zeroclaw memory undo` restores all of it.")


def _rule_row(sentence: str, noun: str, items: Sequence[HygieneItem], is_on: bool) -> tuple[Line, ...]:
    style = BOLD if items else "" if is_on else DIM
    if not items:
        return Styled(sentence, style), Styled(NOTHING, style), ""
    size = size_shown(sum(item.size for item in items))
    return Styled(sentence, style), Styled(counted(len(items), noun), style), Styled(size, style)


def _item_lines(items: Sequence[HygieneItem]) -> Iterator[Line]:
    rows = [
        (
            date_shown(item.date),
            output.masked_line(item.name),
            size_shown(item.size),
            Styled(f'"{one_line(item.excerpt)}"' if item.excerpt else output.masked_line(item.effect_text()), DIM),
        )
        for item in items[:_ITEMS_SHOWN]
    ]
    yield from output.table(rows, right={2}, longest=max(24, output.width() * 2 // 5), indent="  ") if rows else ()
    if len(items) > _ITEMS_SHOWN:
        yield Styled(f"  … {len(items) - _ITEMS_SHOWN:,} more. Show them with --json", DIM)


def _done_lines(plan: HygienePlan, outcome: Outcome, excluded: int) -> Iterator[Line]:
    """What a run did, what restores it, and how many items were excluded."""
    from zeroclaw_tui.curation.hygiene import run_sentences

    until = date_shown(outcome.action.until) if outcome.action is not None else ""
    done, *undo = run_sentences(outcome, plan, runnable("`zeroclaw memory undo`"), until)
    yield (Styled("✓ ", GREEN), done) if outcome.count == len(plan.items) else done
    yield from undo
    if excluded:
        yield f"{excluded:,} excluded."
