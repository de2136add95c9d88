"""What commands and screens both say: of a plan to bring memories in, of a change that was made or taken back, and of
memories that a newer one replaced.

ZeroClaw hides replaced memories, so a number that leaves them out says how many they are. What masks secrets and what
tells of changes is only imported where it is shown: a list says its numbers without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from zeroclaw_tui.memory.text import counted, cut, first_names, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.changes import Outcome
    from zeroclaw_tui.curation.transfer.copy import CopyOutcome
    from zeroclaw_tui.curation.transfer.imports import ImportPlan
    from zeroclaw_tui.curation.transfer.reconcile import OnClash, Plan
    from zeroclaw_tui.curation.trash.journal import Action
    from zeroclaw_tui.memory.change import RowChange

SHOWS_SUPERSEDED = "--superseded show"
"""What a command takes replaced memories along by."""
Tone = Literal["plain", "dim", "warning"]
NOTHING_TO_UNDO = "There is nothing to take back: no change was made here."
_NAME_CELLS, _PREVIEW_CELLS, _MOST_NAMED = 40, 100, 3
_LONGEST_SUMMARY = 400
_CLASHES: dict[OnClash, str] = {
    "skip": "left out; --overwrite replaces what is there, --rename brings them in under another key",
    "overwrite": "put in place of what is there",
    "rename": "brought in under another key",
}


class Fact(NamedTuple):
    """A sentence of a plan, and how it is shown. One with a `number` belongs under the other numbers."""

    words: str
    tone: Tone = "plain"
    number: int | None = None


def plan_facts(plan: Plan, on_clash: OnClash | None = None) -> Iterator[Fact]:
    """What comes, what is there, what is taken and what becomes of that, where it is chosen already, what is lost."""
    if plan.makes is not None:
        yield Fact(one_line(plan.makes))
    yield Fact("new", number=plan.new)
    if plan.same:
        yield Fact("there already, the same", number=plan.same)
    if plan.beside and on_clash == "rename":
        yield Fact("there already, under another key", number=plan.beside)
    taken = plan.taken - (plan.beside if on_clash == "rename" else 0)
    if taken:
        becomes = "" if on_clash is None else f": {_CLASHES[on_clash]}"
        yield Fact(f"whose id or key is taken{becomes}", "warning", taken)
        yield Fact(first_names(plan.samples, taken), "dim")
    if plan.second and on_clash != "rename":
        yield Fact(f"{plan.second:,} of them have the key of another one that comes too, and stay out")
    for sentence in lost_words(plan):
        yield Fact(sentence)


def lost_words(plan: Plan) -> Iterator[str]:
    """What the target cannot keep, then what was said of the source."""
    yield from map(one_line, (*plan.losses, *plan.notes))


def source_words(plan: ImportPlan) -> str:
    """What the file is taken for, and why."""
    name = cut(one_line(plan.path.name), _NAME_CELLS)
    why = f": {one_line(plan.why)}" if plan.why else ""
    return f"{name} is taken for {plan.title}{why}."


def category_words(plan: Plan) -> str:
    """How many of which category, the most first; "" for nothing."""
    return ", ".join(f"{count:,} {one_line(name) or '(none)'}" for name, count in plan.categories)


def preview_words(plan: Plan, cells: int = _PREVIEW_CELLS) -> Iterator[tuple[str, str, str]]:
    """Key, category and day, and beginning of the first new memories as they will stand."""
    for entry in plan.previews:
        about = " · ".join(one_line(part) for part in (entry.category, entry.timestamp[:10]) if part)
        yield cut(one_line(entry.key), cells), about, cut(one_line(entry.content), cells)


def hidden_fact(count: int) -> str:
    """Beside a number that leaves them out: "3 superseded hidden"."""
    return f"{count:,} superseded hidden"


def among_fact(count: int) -> str:
    """Beside a number that holds them too: "3 of them superseded"."""
    return f"{count:,} of them superseded"


def stay_words(count: int, way: str = f"{SHOWS_SUPERSEDED} takes") -> str:
    """That a removal spares them, and how it would not; "" where there are none. `way` ends in a verb."""
    stay, them = ("memory stays", "it") if count == 1 else ("memories stay", "them")
    return f"{count:,} superseded {stay}; {way} {them} along." if count else ""


def left_out_words(superseded: int, filtered: int = 0, way: str = f"{SHOWS_SUPERSEDED} takes") -> str:
    """What an export or a copy leaves out, `filtered` by the other filters, and how it comes along; "" for nothing."""
    sentences = []
    if superseded:
        are, them = ("memory is", "it") if superseded == 1 else ("memories are", "them")
        sentences.append(f"{superseded:,} superseded {are} left out; {way} {them} along.")
    if filtered:
        more = "more " if superseded else ""
        are = f"{more}memory is" if filtered == 1 else f"{more}memories are"
        sentences.append(f"{filtered:,} {are} left out by the filters; without them everything goes.")
    return " ".join(sentences)


def summary_words(action: Action) -> str:
    """What was done, on one line without a full stop, secrets masked."""
    from zeroclaw_tui.curation.audit.secrets import masked

    return one_line(masked(action.summary[:_LONGEST_SUMMARY])).rstrip(".") or action.verb


def reversal_words(change: RowChange) -> str:
    """What becomes of a row when its change is taken back: 'comes back:  lang  "Prefers Rust"'; not cut to a width."""
    from zeroclaw_tui.curation.audit.findings import excerpt_of
    from zeroclaw_tui.curation.audit.secrets import masked
    from zeroclaw_tui.memory.change import AGENTS, AUDIT_LOG, EMBEDDING_CACHE, FILE, MEMORIES, OTHER_ROW

    if change.row.table != MEMORIES:
        others = {
            FILE: "file", AUDIT_LOG: "audit entry", OTHER_ROW: "row", AGENTS: "agent", EMBEDDING_CACHE: "cached vector",
        }  # fmt: skip
        return f"{others.get(change.row.table, change.row.table)} as before:  {one_line(change.row.id)}"
    entry = change.row.entry()
    key = one_line(masked(entry.key))
    if change.before is None:
        return f"goes:  {key}"
    text = excerpt_of(entry.content)
    return f'{"comes back" if change.after is None else "is again"}:  {key}  "{text}"'


def undone_words(outcome: Outcome, most: int = _MOST_NAMED) -> str:
    """What an undo took back, a sentence or more."""
    from zeroclaw_tui.curation.hygiene.words import COMES_AGAIN, is_taken_back_hygiene

    again = [COMES_AGAIN] if is_taken_back_hygiene(outcome) else []
    return " ".join([done_words(outcome, reversed_words(outcome), most), *again])


def reversed_words(outcome: Outcome) -> str:
    """What an undo took back, or a redo did again, one sentence."""
    action = outcome.redone if outcome.verb == "redo" else outcome.undone
    what = summary_words(action) if action is not None else counted(outcome.count)
    return f"{'Done again' if outcome.verb == 'redo' else 'Taken back'}: {what}."


def done_words(outcome: Outcome | CopyOutcome, said: str, most: int = _MOST_NAMED) -> str:
    """What a change did, as it was `said`, then under which keys memories came, that it was stopped, and its notes."""
    stopped = ["It was stopped before the rest; doing it again goes on."] if outcome.cancelled else []
    return " ".join([said, *renamed_words(outcome.renamed, most), *stopped, *map(one_line, outcome.notes)])


def renamed_words(renamed: Mapping[str, str], most: int = _MOST_NAMED) -> Iterator[str]:
    """Under which keys memories came whose own were taken: a sentence for each of the first, one for the others."""
    for old, new in islice(renamed.items(), most):
        yield f"{_named(old)} is now {_named(new)}."
    if len(renamed) > most:
        yield f"{len(renamed) - most:,} more came under other keys."


def left_behind_words(outcome: Outcome) -> Iterator[str]:
    """Which memories a change did not touch, by id."""
    for ids, why in ((outcome.changed, "changed meanwhile and stayed"), (outcome.gone, "had gone already")):
        if ids:
            yield f"{counted(len(ids))} {why}: id {first_names(ids)}."


def _named(key: str) -> str:
    return cut(one_line(key), _NAME_CELLS) or "(no key)"
