"""What a plan to bring memories in says to a person, for commands and screens alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.curation.transfer.imports import ImportPlan
from zeroclaw_tui.curation.transfer.reconcile import OnClash, Plan
from zeroclaw_tui.memory.text import cut, first_names, one_line

Tone = Literal["plain", "dim", "warning"]
_NAME_CELLS, _PREVIEW_CELLS = 40, 100
_CLASHES: dict[OnClash, str] = {
    "skip": "left out; --overwrite replaces what is there, --rename brings them in under another key",
    "overwrite": "put in place of what is there",
    "rename": "brought in under another key",
}


@dataclass(frozen=True, slots=True)
class Fact:
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
    yield from map(one_line, plan.losses)
    if isinstance(plan, ImportPlan):
        yield from map(one_line, plan.notes)


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
