"""What commands and screens both say: of a plan to bring memories in, and of memories that a newer one replaced.

ZeroClaw hides replaced memories, so a number that leaves them out says how many they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from zeroclaw_tui.memory.text import cut, first_names, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.transfer.imports import ImportPlan
    from zeroclaw_tui.curation.transfer.reconcile import OnClash, Plan

SHOWS_SUPERSEDED = "--superseded show"
"""What a command takes replaced memories along by."""
Tone = Literal["plain", "dim", "warning"]
_NAME_CELLS, _PREVIEW_CELLS = 40, 100
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


def plan_facts(plan: Plan, on_clash: OnClash) -> Iterator[Fact]:
    """What comes, what is there, what is taken and what becomes of that, what is lost."""
    if plan.makes is not None:
        yield Fact(one_line(plan.makes))
    yield Fact("new", number=plan.new)
    if plan.same:
        yield Fact("there already, the same", number=plan.same)
    if plan.beside and on_clash == "rename":
        yield Fact("there already, under another key", number=plan.beside)
    taken = plan.taken - (plan.beside if on_clash == "rename" else 0)
    if taken:
        yield Fact(f"whose id or key is taken: {_CLASHES[on_clash]}", "warning", taken)
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
