"""The sentences of the hygiene screen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from textual.content import Content

from zeroclaw_tui.curation.changes import Outcome
from zeroclaw_tui.curation.hygiene.plan import INTERVAL_HOURS, HygieneItem, HygienePlan
from zeroclaw_tui.curation.hygiene.rules import HygieneRule
from zeroclaw_tui.curation.hygiene.words import (
    doing_words,
    due_words,
    effect_of,
    last_words,
    on_words,
    report_words,
)
from zeroclaw_tui.memory.text import counted, mask_secrets, one_line
from zeroclaw_tui.tui.changing_words import until_words
from zeroclaw_tui.tui.format import absolute_time, count_text, fit, size_text
from zeroclaw_tui.tui.looks import ACCENT, MUTED, STRONG, WARNING
from zeroclaw_tui.tui.widgets.detail_text import DOT, packed
from zeroclaw_tui.tui.widgets.header import with_tilde
from zeroclaw_tui.tui.words import EmptyWords

_TITLE = "Hygiene   "
_LONGEST_NAME = 64
_LONGEST_LOOKED_AT = 2000
_NOTES_TOLD = 3


def title_content(plan: HygienePlan | None, now: datetime, width: int) -> Content:
    """Whether it is on, when it ran last and what it did, when it is due; nothing more while it is looked at."""
    if plan is None:
        return Content.assemble((_TITLE, STRONG), ("Looking …", MUTED))
    last = last_words(plan.state, now)
    facts = [on_words(plan), last, due_words(plan, now), f"rules of {plan.rules.version}"]
    if plan.state.last_run is not None:
        facts.append(f"last report: {report_words(plan.state.report)}")
    lines = packed([fact for fact in facts if fact], max(20, width - len(_TITLE)))
    return Content.assemble((_TITLE, STRONG), (f"\n{' ' * len(_TITLE)}".join(lines), MUTED))


def remarks_of(plan: HygienePlan) -> tuple[str, ...]:
    """What could not be looked at, and what is wrong with the state file."""
    return tuple(remark for remark in (plan.state.problem, *plan.problems) if remark)


def remarks_content(remarks: Sequence[str], width: int) -> Content:
    """The beginning of the first remark, and the key that shows all."""
    if not remarks:
        return Content("")
    first = _clean(with_tilde(remarks[0][:_LONGEST_LOOKED_AT]))
    more = f"  and {count_text(len(remarks) - 1)} more" if len(remarks) > 1 else ""
    room = max(10, width - len(more) - len("▲   i shows all"))
    return Content.assemble(
        (f"▲ {fit(first, room).rstrip()}", WARNING), (more, MUTED), ("  i", ACCENT), (" shows all", MUTED)
    )


def day_content(as_of: datetime, days: int, items: Sequence[HygieneItem], left_out: int) -> Content:
    """Which moment is looked at, how much would go then, and how much of it is left out."""
    name = "now" if days == 0 else f"{as_of:%Y-%m-%d %H:%M}"
    going = counted(len(items), "thing")
    facts = [f"{going} would go" if items else "nothing would go"]
    if items and days <= 0:
        # On a day to come the date needs the room; the list of rules has the size too.
        facts.append(size_text(sum(item.size for item in items)))
    if left_out:
        facts.append(f"{count_text(left_out)} left out")
    preview = "   preview" if days > 0 else ""
    return Content.assemble(
        ("as of ", MUTED),
        ("◂ ", ACCENT),
        (name, STRONG),
        (" ▸", ACCENT),
        (preview, WARNING),
        (f"{DOT if preview else '   '}{DOT.join(facts)}", MUTED),
    )


def item_words(item: HygieneItem | None, *, stays: bool) -> str:
    """All about one thing: its name, its date, and what becomes of it, which no long key may push out."""
    if item is None:
        return ""
    fate = "left out: it stays as it is" if stays else effect_of(item)
    facts = [fit(_clean(item.name), _LONGEST_NAME).rstrip() or "(empty key)", absolute_time(item.date), _clean(fate)]
    if item.excerpt:
        facts.append(f"“{_clean(item.excerpt)}”")
    return DOT.join(facts)


def empty_words(plan: HygienePlan, rule: HygieneRule | None, days: int) -> EmptyWords:
    """Why there is nothing in the list, and what would fill it."""
    when = "now" if days == 0 else "then"
    ways = (("→", "what would go a day later"), ("c", "change the rules"), ("esc", "back to the list"))
    if rule is not None:
        return f"Nothing has to go {when} by this rule.", _clean(rule.sentence), ways
    if not plan.rules.is_enabled:
        return "Hygiene is off.", "ZeroClaw archives and deletes nothing by itself until it is switched on.", ways[1:]
    return f"Nothing has to go {when}.", "What gets too old for the rules above is shown here.", ways


def question_content(plan: HygienePlan, items: Sequence[HygieneItem], days: int, left_out: int) -> Content:
    """Exactly what a run does, and what brings it back."""
    lines = [*doing_words(items)]
    if left_out:
        lines.append(f"{count_text(left_out)} left out")
    size = size_text(sum(item.size for item in items))
    day = f"\nBy the rules as of {plan.as_of:%Y-%m-%d %H:%M}." if days else ""
    after = (
        f"What is deleted is kept in the trash first; u takes all of it back, files too. ZeroClaw then waits "
        f"{INTERVAL_HOURS} hours before it does the same."
    )
    return Content.assemble("\n".join(lines), (f"\n{size} in all", MUTED), day, (f"\n\n{after}", MUTED))


def ran_words(outcome: Outcome, items: Sequence[HygieneItem], now: datetime) -> str:
    """What a run did; its notes say what was left alone and why."""
    if outcome.count == len(items):
        said = f"{', '.join(doing_words(items))}"
    else:
        said = f"{count_text(outcome.count)} of {count_text(len(items))} done"
    until = until_words(outcome.action.until, now) if outcome.action else ""
    sentences = [
        f"{said} · u brings it back{f', until {until}' if until else ''}." if outcome.count else "Nothing was done."
    ]
    if outcome.cancelled:
        sentences.append("It was stopped before the rest.")
    notes = [one_line(note) for note in outcome.notes[:_NOTES_TOLD]]
    if len(outcome.notes) > _NOTES_TOLD:
        notes.append(f"{count_text(len(outcome.notes) - _NOTES_TOLD)} more were left alone.")
    return " ".join([*sentences, *notes])


def next_run_words(before: HygienePlan, after: HygienePlan) -> str:
    """What the next run takes by other rules, and what it would have taken by the present ones."""
    if not after.rules.is_enabled:
        return "ZeroClaw then archives and deletes nothing by itself."
    taken, formerly = (", ".join(doing_words(plan.items, "deleted")) for plan in (after, before))
    if not before.rules.is_enabled:
        formerly = ""
    if taken == formerly:
        return f"At its next start nothing differs: {taken or 'nothing has to go'}."
    if not taken:
        return f"At its next start nothing has to go, in place of: {formerly}."
    return f"At its next start: {taken}{f', in place of: {formerly}' if formerly else ''}."


def _clean(text: str) -> str:
    return one_line(mask_secrets(text[:_LONGEST_LOOKED_AT]))
