"""Hygiene's plan, and what a run of it did, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zeroclaw_tui.cli.output import (
    BOLD,
    DIM,
    GREEN,
    NOTHING,
    YELLOW,
    Line,
    Styled,
    date_shown,
    moment_shown,
    size_shown,
    width,
)
from zeroclaw_tui.curation.audit.secrets import masked
from zeroclaw_tui.curation.changes import Outcome
from zeroclaw_tui.curation.hygiene.plan import HygieneItem, HygienePlan
from zeroclaw_tui.curation.hygiene.rules import HygieneRule
from zeroclaw_tui.curation.hygiene.words import (
    doing_words,
    due_words,
    fate_words,
    last_words,
    on_words,
    report_words,
    thing_of,
)
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.text import counted, cut, one_line, padded

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
