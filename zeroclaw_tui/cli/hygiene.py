"""`memory hygiene`: ZeroClaw's hygiene, by hand.

Its document, with the last six names only after a run:

    {"backend", "location", "root", "profile", "as_of", "dry_run", "enabled", "last_run", "last_report", "next_due",
     "state_problem", "rules": [{"name", "sentence", "on", "days", "most", "count", "size"}],
     "items": [{"rule", "name", "date", "size", "target", "and_purged", "id"}], "left_out", "problems",
     "count", "action", "until", "changed", "gone", "notes"}

Moments are RFC 3339; `next_due` is null where the agent does it at its very next start, and where it never does.
`items` are what goes, those named by --without are in `left_out`. Exit code 1 after a no, and when something that is
still there was not done; 130 after ctrl-c.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from zeroclaw_tui.cli.guard import NOTHING_DONE, Progress, check_can_ask, check_writable, confirm, with_triggers
from zeroclaw_tui.cli.output import (
    BOLD,
    DIM,
    GREEN,
    NOTHING,
    YELLOW,
    Line,
    Styled,
    date_shown,
    document,
    moment_shown,
    note,
    width,
    write_lines,
)
from zeroclaw_tui.cli.plans import loss_lines, losses_as_json
from zeroclaw_tui.cli.report import tell_notes
from zeroclaw_tui.cli.selection import moment_meant
from zeroclaw_tui.curation.audit.secrets import masked
from zeroclaw_tui.curation.changes import Outcome, note_nothing
from zeroclaw_tui.curation.evaluation import PlannedChange
from zeroclaw_tui.curation.hygiene.plan import HygieneItem, HygienePlan, plan_hygiene, run_hygiene
from zeroclaw_tui.curation.hygiene.rules import HygieneRule
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.words import doing_words, due_words, fate_words, last_words, on_words, report_words, thing_of
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, WrongUse
from zeroclaw_tui.memory.text import counted, cut, one_line, padded, size_shown

_TO_COME = re.compile(r"(?:in\s*|\+)(\d{1,7})\s*(h|d|w)", re.IGNORECASE)
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_LONGEST_SHOWN = 80


async def hygiene(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Show the plan; without --dry-run ask, do it, and say what was done."""
    as_of = now if given.as_of is None else as_of_meant(given.as_of, now)
    if not given.dry_run:
        if as_of > now:
            raise WrongUse("Hygiene of a moment to come can only be looked at.", hint="Add --dry-run.")
        if library.read_only_because is not None:
            check_writable(library, given)
        check_can_ask("hygiene", yes=given.yes)
    plan = await plan_hygiene(library, as_of)
    left_out = _left_out(plan, given.without)
    items = tuple(item for item in plan.items if item.id not in left_out)
    if given.dry_run or not items:
        if not given.dry_run:
            await note_nothing(library, "hygiene")
        return await _tell_plan(library, given, plan, items)
    if not given.yes and not confirm(
        "Run it?", [*plan_lines(library, plan, items), *await loss_lines(library, _going(items))]
    ):
        return REFUSED
    with Progress("Hygiene:", len(items)) as progress:
        outcome = await with_triggers(
            library,
            given,
            lambda: run_hygiene(library, plan, without=left_out, advance=progress.advance),
            asks=True,
        )
    return REFUSED if outcome is None else _tell_done(library, given, plan, items, outcome)


def as_of_meant(text: str, now: datetime) -> datetime:
    """The moment that --as-of names: "in 30d", "30d" (ago), a date (midnight at its start, local) or RFC 3339.

    Raises WrongUse for anything else.
    """
    found = _TO_COME.fullmatch(text.strip())
    try:
        if found is not None:
            return (now + timedelta(**{_UNITS[found.group(2).lower()]: int(found.group(1))})).astimezone()
        meant = moment(moment_meant(text, now))
        assert meant is not None
        return meant.astimezone()
    except OverflowError as error:
        raise WrongUse(f"{cut(one_line(text), _LONGEST_SHOWN)!r} is farther away than the calendar goes.") from error


def _going(items: Sequence[HygieneItem]) -> PlannedChange:
    """The rows among what goes; files are no memories that recall tests ask a database for."""
    return PlannedChange(going=[item.stamp for item in items if item.stamp is not None])


def _left_out(plan: HygienePlan, names: Sequence[str]) -> frozenset[str]:
    """The ids of what --without names, by name or id. Raises WrongUse for what is not in the plan."""
    left_out: set[str] = set()
    for name in names:
        found = {item.id for item in plan.items if name in (item.name, item.id)}
        if not found:
            raise WrongUse(
                f"{cut(one_line(name), _LONGEST_SHOWN)!r} is not among what would go.",
                hint="`zeroclaw memory hygiene --dry-run --json` has the name and the id of everything that is.",
            )
        left_out |= found
    return frozenset(left_out)


async def _tell_plan(
    library: Library, given: argparse.Namespace, plan: HygienePlan, items: Sequence[HygieneItem]
) -> int:
    if given.json:
        more = {} if given.dry_run else _run_as_json(Outcome("hygiene", 0))
        more |= await losses_as_json(library, _going(items)) if given.dry_run else {}
        document(_plan_as_json(library, plan, items, dry_run=given.dry_run) | more)
        return DONE
    write_lines([*plan_lines(library, plan, items), *await loss_lines(library, _going(items))])
    if given.dry_run:
        note(NOTHING_DONE)
    return DONE


def _tell_done(
    library: Library,
    given: argparse.Namespace,
    plan: HygienePlan,
    items: Sequence[HygieneItem],
    outcome: Outcome,
) -> int:
    tell_notes(outcome)
    if given.json:
        document(_plan_as_json(library, plan, items, dry_run=False) | _run_as_json(outcome))
    else:
        write_lines(done_lines(outcome, items, len(plan.items) - len(items)))
    if outcome.cancelled:
        note(f"zeroclaw: Stopped after {outcome.count:,} of {len(items):,}; run it again for the rest.")
        return INTERRUPTED
    return REFUSED if outcome.count + len(outcome.gone) < len(items) else DONE


def _plan_as_json(
    library: Library, plan: HygienePlan, items: Sequence[HygieneItem], *, dry_run: bool
) -> dict[str, Any]:
    state, going = plan.state, {item.id for item in items}
    return {
        "backend": library.memory.name,
        "location": library.memory.location,
        "root": str(plan.root),
        "profile": plan.rules.version,
        "as_of": plan.as_of.isoformat(),
        "dry_run": dry_run,
        "enabled": plan.rules.is_enabled,
        "last_run": state.last_run.isoformat() if state.last_run else None,
        "last_report": dict(state.report),
        "next_due": state.due.isoformat() if state.due and plan.rules.is_enabled else None,
        "state_problem": state.problem,
        "rules": [_rule_as_json(rule, items) for rule in plan.rules.rules],
        "items": [_item_as_json(item) for item in items],
        "left_out": [_item_as_json(item) for item in plan.items if item.id not in going],
        "problems": list(plan.problems),
    }


def _rule_as_json(rule: HygieneRule, items: Sequence[HygieneItem]) -> dict[str, Any]:
    own = [item for item in items if item.rule == rule.name]
    return {
        "name": rule.name,
        "sentence": rule.sentence,
        "on": rule.is_on,
        "days": rule.days,
        "most": rule.most,
        "count": len(own),
        "size": sum(item.size for item in own),
    }


def _item_as_json(item: HygieneItem) -> dict[str, Any]:
    return {
        "rule": item.rule,
        "name": item.name,
        "date": item.date,
        "size": item.size,
        "target": item.target,
        "and_purged": item.and_purged,
        "id": item.id,
    }


def _run_as_json(outcome: Outcome) -> dict[str, Any]:
    """What was done, by the names that every change has (see `report`)."""
    action = outcome.action
    return {
        "count": outcome.count,
        "action": action.number if action else None,
        "until": action.until if action else None,
        "changed": list(outcome.changed),
        "gone": list(outcome.gone),
        "notes": list(outcome.notes),
    }


ITEMS_SHOWN = 5
_LEAST_SENTENCE = 30
_COUNT_CELLS, _SIZE_CELLS, _DATE_CELLS = 12, 7, 10
_LEAST_NAME = 24


def plan_lines(library: Library, plan: HygienePlan, items: Sequence[HygieneItem]) -> Iterator[Line]:
    """Which rules there are and what each takes, then what would go, then what could not be looked at."""
    now = library.trash.now()
    root, as_of = _clean(str(plan.root)), moment_shown(plan.as_of.isoformat())
    yield (Styled(f"Hygiene of {root} by the rules of ZeroClaw {plan.rules.version}, as of {as_of}", BOLD),)
    last = last_words(plan.state, now)
    if plan.state.last_run is not None:
        last += f" ({report_words(plan.state.report)})"
    yield (Styled(" · ".join(fact for fact in (on_words(plan), last, due_words(plan, now)) if fact), DIM),)
    if plan.state.problem:
        yield (Styled(_clean(plan.state.problem), YELLOW),)
    yield ()
    yield from _rule_lines(plan.rules.rules, items)
    for item in (item for item in plan.items if item not in items):
        yield (Styled(f"  left out: {cut(_clean(item.name), max(_LEAST_NAME, width() - 12))}", DIM),)
    for problem in plan.problems:
        yield (Styled(_clean(problem), YELLOW),)
    facts = doing_words(items)
    if facts:
        yield ()
        yield (f"{' · '.join(facts)}. `zeroclaw memory undo` brings all of it back after a run.",)


def done_lines(outcome: Outcome, items: Sequence[HygieneItem], left_out: int) -> Iterator[Line]:
    """What a run did, what brings it back, and what was left out; the notes say what was left alone and why."""
    if outcome.count == len(items):
        yield (Styled("✓", GREEN), f" {' · '.join(doing_words(items))}.")
    else:
        yield (f"{outcome.count:,} of {len(items):,} done.",)
    if outcome.action is not None:
        until = date_shown(outcome.action.until)
        yield (f"`zeroclaw memory undo` brings all of it back, files too; it is kept until {until}.",)
    if left_out:
        yield (f"{left_out:,} left out, as asked.",)


def _rule_lines(rules: Sequence[HygieneRule], items: Sequence[HygieneItem]) -> Iterator[Line]:
    """Each rule, and under it the first of what it takes."""
    room = max(_LEAST_SENTENCE, width() - _COUNT_CELLS - _SIZE_CELLS - 4)
    sentences = [cut(_clean(rule.sentence), room) for rule in rules]
    wide = min(room, max(map(len, sentences), default=0) + 2)
    for rule, sentence in zip(rules, sentences, strict=True):
        own = [item for item in items if item.rule == rule.name]
        count = counted(len(own), thing_of(rule.name)) if own else NOTHING
        size = size_shown(sum(item.size for item in own)) if own else ""
        words = f"{padded(sentence, wide)}  {padded(count, _COUNT_CELLS, right=True)}"
        words = f"{words}  {padded(size, _SIZE_CELLS, right=True)}".rstrip()
        yield (Styled(words, BOLD if own else DIM if not rule.is_on else ""),)
        yield from _item_lines(own)
    if not items:
        yield ()
        yield ("Nothing has to go.",)


def _item_lines(items: Sequence[HygieneItem]) -> Iterator[Line]:
    room = max(_LEAST_NAME, width() - _DATE_CELLS - _SIZE_CELLS - 10)
    name = room * 9 // 20
    for item in items[:ITEMS_SHOWN]:
        fate = f'"{one_line(item.excerpt)}"' if item.excerpt else _clean(fate_words(item))
        yield (
            f"  {padded(date_shown(item.date), _DATE_CELLS)}  ",
            padded(cut(_clean(item.name), name), name),
            f"  {padded(size_shown(item.size), _SIZE_CELLS, right=True)}  ",
            Styled(cut(fate, room - name), DIM),
        )
    if len(items) > ITEMS_SHOWN:
        yield (Styled(f"  … {len(items) - ITEMS_SHOWN:,} more; --json has all", DIM),)


def _clean(text: str) -> str:
    return one_line(masked(text))
