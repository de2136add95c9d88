"""Memories that a newer one replaced: ZeroClaw hides them, so a number that leaves them out says how many they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zeroclaw_tui.memory.query import NEWEST_STORED, MemoryFilter, Superseded

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

OPTION = "--superseded show"
"""What a command takes them along by."""


async def superseded_hidden(library: Library, filter: MemoryFilter) -> int:
    """How many a filter leaves out for no other reason; 0 where it shows them or the store has none such."""
    if filter.superseded is not Superseded.HIDE or not library.memory.capabilities.superseded:
        return 0
    _, total = await library.memory.order_part(filter.but(superseded=Superseded.ONLY), NEWEST_STORED, 0, 0)
    return total


def hidden_fact(count: int) -> str:
    """Beside a number that leaves them out: "3 superseded hidden"."""
    return f"{count:,} superseded hidden"


def among_fact(count: int) -> str:
    """Beside a number that holds them too: "3 of them superseded"."""
    return f"{count:,} of them superseded"


def stay_words(count: int, way: str = f"{OPTION} takes") -> str:
    """That a removal spares them, and how it would not; "" where there are none. `way` ends in a verb."""
    stay, them = ("memory stays", "it") if count == 1 else ("memories stay", "them")
    return f"{count:,} superseded {stay}; {way} {them} along." if count else ""


def left_out_words(superseded: int, filtered: int = 0, way: str = f"{OPTION} takes") -> str:
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
