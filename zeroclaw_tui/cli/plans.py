"""A plan to remove memories, as a person sees it before saying yes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zeroclaw_tui.cli.output import BOLD, DIM, YELLOW, Line, Styled, date_shown
from zeroclaw_tui.curation.audit.secrets import masked
from zeroclaw_tui.curation.changes import PurgePlan, plan_of
from zeroclaw_tui.curation.copies.copies import planned_words
from zeroclaw_tui.curation.copies.places import Copy
from zeroclaw_tui.curation.evaluation import PlannedChange, losses_of
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.words import SHOWS_SUPERSEDED, stay_words
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.text import counted, cut, one_line, padded, size_shown

ROWS_AT_ONCE = 500
KEY_CELLS, TEXT_CELLS = 24, 44
FOR_EVER = "Nothing brings them back: the trash keeps nothing of them, and lets go of their earlier versions too."


async def plan_entries(library: Library, entries: Sequence[MemoryEntry]) -> PurgePlan:
    """The plan for exactly these memories, those gone meanwhile left out."""
    handles = list(dict.fromkeys(entry.handle for entry in entries))
    return plan_of(
        [
            stamp
            for start in range(0, len(handles), ROWS_AT_ONCE)
            for stamp in await library.memory.stamps_of(handles[start : start + ROWS_AT_ONCE])
        ]
    )


async def plan_lines(
    library: Library, plan: PurgePlan, verb: str, *, forever: bool, copies: Sequence[Copy]
) -> list[Line]:
    """The plan: how many, of what, how old, the first few, where they go and where copies lie."""
    question = f"{verb.capitalize()} {counted(plan.count)}{' for ever' if forever else ''}?"
    lines = await what_lines(library, plan, question)
    whereto = _whereto(plan, forever=forever, copies=copies)
    lost = await loss_lines(library, PlannedChange(going=plan.stamps))
    return [*lines, *spared_lines(plan, verb), *whereto, *lost]


async def loss_lines(library: Library, change: PlannedChange) -> list[Line]:
    """Which recall tests lose their answer by a change; none where there are no tests."""
    losses = await losses_of(library, change, library.trash.now())
    if losses is None:
        return []
    return [(Styled(f"  {masked(losses.sentence)}", YELLOW if losses.lost or losses.unknown else DIM),)]


async def losses_as_json(library: Library, change: PlannedChange) -> dict[str, Any]:
    """The same as the `losses` of a plan's document; nothing where there are no tests."""
    losses = await losses_of(library, change, library.trash.now())
    return {} if losses is None else {"losses": losses.as_json()}


def spared_lines(plan: PurgePlan, verb: str) -> list[Line]:
    """The memories that stay although the filters leave them; none where there are none."""
    way = "`zeroclaw memory purge --superseded only` takes" if verb == "clear" else f"{SHOWS_SUPERSEDED} takes"
    spared = stay_words(plan.superseded_hidden, way)
    return [(Styled(f"  {spared}", YELLOW),)] if spared else []


async def what_lines(library: Library, plan: PurgePlan, question: str) -> list[Line]:
    """A question, and which memories it is about."""
    samples = await library.memory.rows([stamp.handle for stamp in plan.samples])
    lines: list[Line] = [(Styled(question, BOLD),), ("  ", one_line(_facts(plan))), *map(_sample_line, samples)]
    if plan.count > len(samples):
        lines.append((Styled(f"  … {plan.count - len(samples):,} more", DIM),))
    return lines


def _facts(plan: PurgePlan) -> str:
    facts = [f"{masked(category) or '(no category)'} {count:,}" for category, count in plan.categories.items()]
    if plan.oldest and plan.newest:
        oldest, newest = date_shown(plan.oldest), date_shown(plan.newest)
        facts += [f"of {oldest}"] if oldest == newest else [f"oldest {oldest}", f"newest {newest}"]
    return " · ".join([*facts, size_shown(plan.size)])


def _sample_line(entry: MemoryEntry) -> Line:
    text = cut(f'"{one_line(masked(entry.content))}"', TEXT_CELLS)
    key = padded(cut(one_line(masked(entry.key)), KEY_CELLS), KEY_CELLS)
    return ("  ", key, "  ", padded(text, TEXT_CELLS), "  ", date_shown(entry.when))


def _whereto(plan: PurgePlan, *, forever: bool, copies: Sequence[Copy]) -> Iterator[Line]:
    alone = plan.count == 1
    if forever:
        yield (Styled("  " + (FOR_EVER.replace("them", "it").replace("their", "its") if alone else FOR_EVER), YELLOW),)
    else:
        they, them = ("It goes", "it") if alone else ("They go", "them")
        yield (f"  {they} to the trash; `zeroclaw memory undo` brings {them} back.",)
    if copies:
        yield (f"  {planned_words(copies)}",)
