"""`memory hygiene`: preview what ZeroClaw's hygiene archives and deletes, or run it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.cli.options import add_dry_run, moment_meant
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, NOTHING, YELLOW, Styled, document, note, width, write_lines
from zeroclaw_tui.cli.plans import (
    NOTHING_DONE,
    Progress,
    check_can_ask,
    check_writable,
    confirm,
    print_notes,
    with_triggers,
)
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.memory.days import absolute_time, date_shown, moment
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, UsageError
from zeroclaw_tui.memory.text import counted, cut, one_line, padded, size_shown

if TYPE_CHECKING:
    from datetime import datetime

    from zeroclaw_tui.cli.output import Line
    from zeroclaw_tui.curation.hygiene import HygieneItem, HygienePlan
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome

_FUTURE = re.compile(r"(?:in\s*|\+)(\d{1,7})\s*(h|d|w)", re.IGNORECASE)
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_MAX_SHOWN = 80
_ITEMS_SHOWN = 5
_COUNT_CELLS, _SIZE_CELLS, _DATE_CELLS = 12, 7, 10
_MIN_SENTENCE, _MIN_NAME = 30, 24


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
)
async def hygiene(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Show the plan; without --dry-run ask, do it, and say what was done.

    Exit code 1 after a no, and when something that still exists was not done.
    """
    from zeroclaw_tui.curation.hygiene import plan_hygiene, run_hygiene

    as_of = now if given.as_of is None else as_of_meant(given.as_of, now)
    if not given.dry_run:
        if as_of > now:
            raise UsageError("Hygiene cannot run as of a future time.", hint="Pass --dry-run to preview it.")
        if library.read_only_because is not None:
            check_writable(library, given)
        check_can_ask("hygiene", yes=given.yes)
    full = await plan_hygiene(library, as_of)
    excluded = _excluded(full, given.without)
    plan = full.without(excluded)
    if given.dry_run or not plan.items:
        return _print_plan(library, given, full, plan)
    if not given.yes and not confirm("Run it?", _plan_lines(library, full, plan)):
        return REFUSED
    with Progress("Hygiene:", len(plan.items)) as progress:
        outcome = await with_triggers(
            library,
            given,
            lambda: run_hygiene(library, full, exclude=excluded, on_progress=progress.advance),
            asks=True,
        )
    return REFUSED if outcome is None else _print_done(library, given, full, plan, outcome)


def as_of_meant(text: str, now: datetime) -> datetime:
    """The moment that --as-of names: "in 30d", "30d" (ago), a date (midnight at its start, local) or RFC 3339.

    Raises UsageError for anything else.
    """
    found = _FUTURE.fullmatch(text.strip())
    try:
        if found is not None:
            return (now + timedelta(**{_UNITS[found.group(2).lower()]: int(found.group(1))})).astimezone()
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


def _print_plan(library: Library, given: argparse.Namespace, full: HygienePlan, plan: HygienePlan) -> int:
    from zeroclaw_tui.curation.outcome import Outcome

    if given.json:
        more = {} if given.dry_run else _run_as_json(Outcome("hygiene", 0))
        document(_as_json(library, full, plan, dry_run=given.dry_run) | more)
        return DONE
    write_lines(_plan_lines(library, full, plan))
    if given.dry_run:
        note(NOTHING_DONE)
    return DONE


def _print_done(
    library: Library, given: argparse.Namespace, full: HygienePlan, plan: HygienePlan, outcome: Outcome
) -> int:
    print_notes(outcome)
    if given.json:
        document(_as_json(library, full, plan, dry_run=False) | _run_as_json(outcome))
    else:
        write_lines(_done_lines(plan, outcome, len(full.items) - len(plan.items)))
    if outcome.cancelled:
        note(f"zeroclaw: Stopped after {outcome.count:,} of {len(plan.items):,}. Run it again for the rest.")
        return INTERRUPTED
    return REFUSED if outcome.count + len(outcome.gone) < len(plan.items) else DONE


def _as_json(library: Library, full: HygienePlan, plan: HygienePlan, *, dry_run: bool) -> dict[str, Any]:
    return {
        "backend": library.memory.name,
        "location": library.memory.about.location,
        "dry_run": dry_run,
        **plan.as_json(),
        "left_out": [item.as_json() for item in _excluded_items(full, plan)],
    }


def _excluded_items(full: HygienePlan, plan: HygienePlan) -> list[HygieneItem]:
    included = {item.id for item in plan.items}
    return [item for item in full.items if item.id not in included]


def _run_as_json(outcome: Outcome) -> dict[str, Any]:
    """What was done, by the names that every change has (see `print_change`)."""
    document = outcome.as_json()
    return {name: document[name] for name in ("count", "action", "until", "changed", "gone", "notes")}


def _plan_lines(library: Library, full: HygienePlan, plan: HygienePlan) -> Iterator[Line]:
    """The rules with what each archives or deletes, what `plan` excludes of the full plan, problems, and a summary."""
    now, state = library.trash.now(), plan.state
    root, as_of = _clean(str(plan.root)), absolute_time(plan.as_of.isoformat())
    yield (Styled(f"Hygiene of {root} by the rules of ZeroClaw {plan.rules.version}, as of {as_of}", BOLD),)
    yield (Styled(" · ".join(plan.status(now)), DIM),)
    if state.problem:
        yield (Styled(_clean(state.problem), YELLOW),)
    yield ()
    yield from _rule_lines(plan)
    for item in _excluded_items(full, plan):
        yield (Styled(f"  excluded: {cut(_clean(item.name), max(_MIN_NAME, width() - 12))}", DIM),)
    for problem in plan.problems:
        yield (Styled(_clean(problem), YELLOW),)
    facts = plan.sentences()
    if facts:
        yield ()
        yield (runnable(f"{' · '.join(facts)}. After a run, `zeroclaw memory undo` restores all of it."),)


def _done_lines(plan: HygienePlan, outcome: Outcome, excluded: int) -> Iterator[Line]:
    """What a run did, what restores it, and how many items were excluded."""
    from zeroclaw_tui.curation.hygiene import run_sentences

    until = date_shown(outcome.action.until) if outcome.action is not None else ""
    done, *undo = run_sentences(outcome, plan, runnable("`zeroclaw memory undo`"), until)
    yield (Styled("✓ ", GREEN), done) if outcome.count == len(plan.items) else (done,)
    yield from ((sentence,) for sentence in undo)
    if excluded:
        yield (f"{excluded:,} excluded.",)


def _rule_lines(plan: HygienePlan) -> Iterator[Line]:
    """Each rule, and under it the first of its items."""
    room = max(_MIN_SENTENCE, width() - _COUNT_CELLS - _SIZE_CELLS - 4)
    sentences = [cut(_clean(rule.sentence), room) for rule in plan.rules.rules]
    wide = min(room, max(map(len, sentences), default=0) + 2)
    for rule, sentence in zip(plan.rules.rules, sentences, strict=True):
        items = plan.items_of(rule.name)
        count = counted(len(items), rule.item_noun) if items else NOTHING
        size = size_shown(sum(item.size for item in items)) if items else ""
        words = f"{padded(sentence, wide)}  {padded(count, _COUNT_CELLS, right=True)}"
        words = f"{words}  {padded(size, _SIZE_CELLS, right=True)}".rstrip()
        yield (Styled(words, BOLD if items else DIM if not rule.is_on else ""),)
        yield from _item_lines(items)
    if not plan.items:
        yield ()
        yield ("Nothing to archive or delete.",)


def _item_lines(items: Sequence[HygieneItem]) -> Iterator[Line]:
    room = max(_MIN_NAME, width() - _DATE_CELLS - _SIZE_CELLS - 10)
    name = room * 9 // 20
    for item in items[:_ITEMS_SHOWN]:
        fate = f'"{one_line(item.excerpt)}"' if item.excerpt else _clean(item.effect_text())
        yield (
            f"  {padded(date_shown(item.date), _DATE_CELLS)}  ",
            padded(cut(_clean(item.name), name), name),
            f"  {padded(size_shown(item.size), _SIZE_CELLS, right=True)}  ",
            Styled(cut(fate, room - name), DIM),
        )
    if len(items) > _ITEMS_SHOWN:
        yield (Styled(f"  … {len(items) - _ITEMS_SHOWN:,} more. Show them with --json", DIM),)


def _clean(text: str) -> str:
    from zeroclaw_tui.memory.secret_text import masked

    return one_line(masked(text))
