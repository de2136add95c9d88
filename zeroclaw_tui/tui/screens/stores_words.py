"""The sentences about the stores one config knows: how each stands, what it can do, and what a copy would bring."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.content import Content

from zeroclaw_tui.curation.switching import chosen_words
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.format import count_text
from zeroclaw_tui.tui.looks import MUTED, STRONG, WARNING
from zeroclaw_tui.tui.screens.confirm import Answer
from zeroclaw_tui.tui.screens.transfer_words import keys_words, plan_body
from zeroclaw_tui.tui.widgets.detail_text import packed
from zeroclaw_tui.tui.widgets.header import with_tilde
from zeroclaw_tui.tui.words import memories_words

if TYPE_CHECKING:
    from zeroclaw_tui.curation.switching import Candidate, Standing
    from zeroclaw_tui.curation.transfer.copy import CopyOutcome, CopyPlan
    from zeroclaw_tui.curation.transfer.reconcile import OnClash

FOREIGN = "Only DATABASE_URL names it, so it may be another program's: read only. w says that it is ZeroClaw's."
CONFIRM_TITLE = "Is this ZeroClaw's database?"
_LOSSES = 5
_WORDS = {"superseded": "superseded rows", "kind": "kinds", "pinned": "pins", "write": "writing"}


def clean(text: str) -> str:
    """A path, an address or a server's own words as one line without secrets."""
    return one_line(mask_secrets(with_tilde(text)))


def title_words(standings: Iterable[Standing | None]) -> str:
    """How many stores there are and how many of them answer."""
    found = list(standings)
    if not found:
        return "Looking for the stores this config knows …"
    answering = sum(standing is not None and standing.ok for standing in found)
    asked = sum(standing is None for standing in found)
    silent = len(found) - answering - asked
    stores = "1 store is" if len(found) == 1 else f"{count_text(len(found))} stores are"
    facts = [f"{answering} answer{'s' if answering == 1 else ''}"] if answering else []
    facts += [f"{silent} {'does' if silent == 1 else 'do'} not"] if silent else []
    facts += [f"{asked} still asked"] if asked else []
    return f"{stores} known to this config: {', '.join(facts)}"


def about_lines(candidate: Candidate, standing: Standing | None, width: int) -> Content:
    """Where the store lies, what names it, how it stands, what it can do, and what it cannot and why."""
    parts: list[str | tuple[str, str]] = [
        (clean(candidate.name), STRONG),
        (f"  {clean(candidate.location)}", ""),
        (f"\nknown by {clean(candidate.why)}", MUTED),
        (f"\nshown now: {clean(chosen_words(candidate.config))}" if candidate.is_current else "", MUTED),
    ]
    if candidate.is_foreign:
        parts.append((f"\n! {FOREIGN}", WARNING))
    if standing is None:
        return Content.assemble(*parts, ("\nasking …", MUTED))
    if not standing.ok:
        return Content.assemble(*parts, f"\n{clean(standing.summary)}")
    if standing.marks:
        can = packed([_WORDS.get(name, name) for name in standing.marks], max(20, width - 4))
        parts += ["\ncan ", "\n    ".join(can)]
    for names, why in reasons(standing):
        parts += ["\n", ("no ", MUTED), ", ".join(names), (f": {clean(why)}", MUTED)]
    return Content.assemble(*parts)


def reasons(standing: Standing) -> list[tuple[list[str], str]]:
    """What it cannot, by reason: those with the same one together."""
    by_reason: dict[str, list[str]] = {}
    for name, why in standing.cannot:
        by_reason.setdefault(why, []).append(_WORDS.get(name, name))
    return [(names, why) for why, names in by_reason.items()]


def copy_title(plan: CopyPlan) -> str:
    """The question of a plan."""
    to = clean(plan.target)
    if not plan.count:
        return "There is nothing to copy"
    most = max(plan.brings("overwrite"), plan.brings("rename"))
    return f"Copy {memories_words(most)} to {to}?" if most else f"{to} has all of it already"


def copy_body(plan: CopyPlan, lines: int) -> Content:
    """What a plan says, in a window of so many lines, and that the source stays."""
    # Many a loss takes two lines; the rest of the question takes about twenty.
    body = plan_body(plan, max(_LOSSES, (lines - 20) // 2))
    return Content.assemble(body, (f"\n{clean(plan.source)} stays as it is.", MUTED))


def copy_answers(plan: CopyPlan) -> list[tuple[Answer, OnClash]]:
    """The ways to copy; none where there is nothing to copy."""
    new, taken = count_text(plan.new), count_text(plan.taken)
    over, beside = plan.brings("overwrite") - plan.new, plan.brings("rename") - plan.new
    if not plan.taken:
        return [(Answer("y", f"Copy the {new} new"), "skip")] if plan.new else []
    answers: list[tuple[Answer, OnClash]] = []
    if plan.new:
        answers.append((Answer("s", f"Only the {new} new", f"the other {taken} stay as there"), "skip"))
    if over:
        answers.append((Answer("o", f"Overwrite {count_text(over)}", "what is there goes to its trash"), "overwrite"))
    if beside:
        answers.append((Answer("r", f"Put {count_text(beside)} beside", "under keys that are free"), "rename"))
    return answers


def copied_words(outcome: CopyOutcome, target: str) -> str:
    """What was copied, and what was found again."""
    said = [f"{memories_words(outcome.copied)} copied to {clean(target)}, {count_text(outcome.verified)} verified."]
    if outcome.cancelled:
        said.append(f"Stopped: {count_text(outcome.left)} left; copying again goes on.")
    elif outcome.left:
        said.append(f"{count_text(outcome.left)} were left out.")
    if outcome.differing:
        said.append(f"Not found again as they are: {keys_words(outcome.differing, outcome.differs)}.")
    if outcome.renamed:
        said.append(f"{count_text(len(outcome.renamed))} under other keys.")
    return " ".join([*said, *map(clean, outcome.notes)])
