"""The sentences of export and import: what a format holds, what a file would bring, what came in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.content import Content

from zeroclaw_tui.curation.superseded import left_out_words
from zeroclaw_tui.curation.transfer.imports import ImportPlan
from zeroclaw_tui.curation.transfer.words import lost_words, preview_words, source_words
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.format import count_text, fit, size_text
from zeroclaw_tui.tui.looks import MUTED, WARNING
from zeroclaw_tui.tui.screens.confirm import Answer
from zeroclaw_tui.tui.screens.trash_words import key_words
from zeroclaw_tui.tui.screens.working import shown_words
from zeroclaw_tui.tui.words import memories_words

if TYPE_CHECKING:
    from zeroclaw_tui.curation.changes import Outcome
    from zeroclaw_tui.curation.formats.own import Format
    from zeroclaw_tui.curation.transfer.export import Exported
    from zeroclaw_tui.curation.transfer.reconcile import OnClash, Plan

FORMATS: dict[str, tuple[Format, str]] = {
    "JSONL": ("jsonl", "every column exactly; the one to import again."),
    "CSV": ("csv", "a table for other programs, without vectors."),
    "Markdown": ("markdown", "to be read by people, without vectors."),
}
_NAMED = 4
_NOTES = 3
_SHORT_KEY, _LONGEST_NAME, _LONGEST_NOTE, _LONGEST_PREVIEW = 24, 40, 130, 60


def narrowed_words(chips: list[str], text: str, *, is_recall: bool, verb: str = "contains") -> str:
    """Which memories the list shows, in words; `verb` says how they are found by the text."""
    narrowed = [*chips, *([f"{verb} “{one_line(text)[:60]}”"] if text else [])]
    words = " · ".join(narrowed) if narrowed else "All that the list shows."
    # A recall shows what one query brings up; what it leaves out is no less worth keeping.
    return (
        f"{words}\nThe search is not counted: recall orders memories, it does not choose them." if is_recall else words
    )


def hidden_words(hidden: int) -> str:
    """That superseded memories stay out of the file, and how they come along."""
    return left_out_words(hidden, way="“superseded” in the facets takes")


def exported_words(done: Exported, path: Path, format: Format) -> str:
    """What was written."""
    if done.cancelled:
        return "Exporting was stopped: nothing was written."
    # The name comes last and without a full stop, which a narrow notice would put on a line of its own.
    said = f"{memories_words(done.count)}, {size_text(done.size)}, exported to {path}"
    # Vectors were left out of JSONL by choice.
    lost = () if format == "jsonl" else done.lost
    return shown_words(f"{said}. {' '.join(lost)}" if lost else said)


def import_title(plan: ImportPlan) -> str:
    """The question of a plan."""
    name = fit(one_line(shown_words(plan.path.name[:200])), _LONGEST_NAME).rstrip()
    if not plan.count:
        return f"{name} holds no memories"
    if not plan.new + plan.taken:
        return f"{name} holds nothing that is not here already"
    return f"Import {memories_words(plan.new + plan.taken)} from {name}?"


def plan_body(plan: Plan, most: int = _NOTES) -> Content:
    """What is new, what is there, what is made first, and the first `most` of what gets lost."""
    facts = [
        f"{count_text(plan.new)} new",
        f"{count_text(plan.same)} there already" if plan.same else "",
        f"{count_text(plan.taken)} whose id or key is taken" if plan.taken else "",
    ]
    parts: list[str | tuple[str, str]] = [" · ".join(fact for fact in facts if fact)]
    if isinstance(plan, ImportPlan) and plan.why:
        parts.append((f"\n{_line(source_words(plan))}", MUTED))
        parts += [
            f"\n{fit(key_words(key), _SHORT_KEY).rstrip()}  {fit(shown_words(content), _LONGEST_PREVIEW).rstrip()}"
            for key, _, content in preview_words(plan)
        ]
    if plan.samples:
        parts.append((f"\nTaken: {keys_words(plan.samples, plan.taken)}", MUTED))
    if plan.makes:
        parts.append(f"\n{_line(plan.makes)}")
    lost = list(lost_words(plan))
    parts += [(f"\n! {_line(sentence)}", WARNING) for sentence in lost[:most]]
    if len(lost) > most:
        parts.append((f"\n… and {len(lost) - most} more, in a taller window", WARNING))
    return Content.assemble(*parts)


def keys_words(keys: Sequence[str], count: int) -> str:
    """The first of these keys, and how many of `count` are not named."""
    named = ", ".join(fit(key_words(key), _SHORT_KEY).rstrip() for key in keys[:_NAMED])
    more = count - min(_NAMED, len(keys))
    return f"{named} and {count_text(more)} more" if more > 0 else named


def _line(sentence: str) -> str:
    return fit(one_line(mask_secrets(shown_words(sentence))), _LONGEST_NOTE).rstrip()


def import_answers(plan: ImportPlan) -> list[tuple[Answer, OnClash]]:
    """The ways to bring them in; none where nothing is to be brought."""
    new, taken = count_text(plan.new), count_text(plan.taken)
    if not plan.taken:
        return [(Answer("y", f"Import the {new} new"), "skip")] if plan.new else []
    only: list[tuple[Answer, OnClash]] = []
    if plan.new:
        only = [(Answer("s", f"Only the {new} new", f"the other {taken} stay as here"), "skip")]
    return [
        *only,
        (Answer("o", f"Overwrite {taken}", "what is here goes to the trash"), "overwrite"),
        (Answer("r", f"Put {taken} beside", "under keys that are free"), "rename"),
    ]


def imported_words(outcome: Outcome) -> str:
    """What came in."""
    stopped = ["It was stopped before the rest; importing again goes on."] if outcome.cancelled else []
    notes = [*stopped, *map(one_line, outcome.notes)]
    if outcome.count == 0:
        return " ".join(["Nothing had to be imported.", *notes])
    renamed = f" {count_text(len(outcome.renamed))} under other keys." if outcome.renamed else ""
    them = "it" if outcome.count == 1 else "them"
    return " ".join([f"{memories_words(outcome.count)} imported · u takes {them} back.{renamed}", *notes])
