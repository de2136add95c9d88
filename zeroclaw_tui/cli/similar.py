"""`memory similar`: what is near a memory, or a text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from datetime import datetime

from zeroclaw_tui.cli.finding import the_one
from zeroclaw_tui.cli.options import agents_given
from zeroclaw_tui.cli.output import BOLD, CYAN, DIM, Line, Styled, document, note, width, write_lines
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.similar import SimilarResult, similar_memories
from zeroclaw_tui.memory.errors import DONE, WrongUse
from zeroclaw_tui.memory.text import cells, cut, one_line, padded

_LONGEST_KEY = 28


async def similar(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Print the nearest memories. Raises WrongUse unless one memory or a text is named."""
    if given.query is not None and (given.key is not None or given.id is not None):
        raise WrongUse("Near a memory or near a text?", hint="Give its KEY (or --id ID), or --query TEXT, not both.")
    if given.query is not None:
        text = sys.stdin.read().rstrip("\r\n") if given.query == "-" else given.query
        if not text.strip():
            raise WrongUse("Nothing is near a blank text.", hint="Give some words with --query TEXT.")
        result = await similar_memories(library, text=text, limit=given.limit)
    else:
        entry = await the_one(library, given.key, given.id, agents_given(given))
        result = await similar_memories(library, entry=entry, limit=given.limit)
    if given.json:
        document(result.as_json())
    else:
        write_lines(_lines(result))
    if agents_given(given):
        note("zeroclaw: --agent says whose KEY is meant; memories of every agent are compared.")
    if result.because is not None:
        note(f"zeroclaw: Compared by shared rare words: {one_line(result.because)}")
    return DONE


def _lines(result: SimilarResult) -> Iterator[Line]:
    asked = one_line(result.of.key if result.of is not None else result.query or "")
    by = "by the cosine of vectors" if result.way == "vector" else "by the rare words they share"
    yield (Styled(f"{result.backend} · {result.looked_at:,} compared {by}", DIM),)
    yield ()
    if not result.results:
        yield ("Nothing is near ", Styled(cut(asked, 60), BOLD), ".")
        return
    key = min(_LONGEST_KEY, max(6, *(cells(one_line(near.entry.key)) for near in result.results)))
    rank = max(2, len(str(len(result.results))))
    room = max(20, width() - rank - key - 12)
    name = "cosine" if result.way == "vector" else "words"
    yield (Styled(" " * rank + "  " + padded(name, 6, right=True) + "  " + padded("key", key) + "  memory", DIM),)
    for near in result.results:
        yield (
            padded(str(near.rank), rank, right=True) + "  ",
            Styled(padded(f"{near.score:.2f}", 6, right=True), CYAN),
            "  " + padded(cut(one_line(near.entry.key), key), key) + "  ",
            cut(one_line(near.entry.content[: 4 * room]), room),
        )
        if near.shared:
            yield (
                " " * (rank + 10),
                Styled(cut("both have " + ", ".join(map(one_line, near.shared)), room + key), DIM),
            )
