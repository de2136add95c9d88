"""The verbs that ask about one memory: explain and similar.

`memory similar`: what is near a memory, or a text.

`memory explain`: why one memory is, or is not, in the prompt for a message.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Sequence
from datetime import datetime

from zeroclaw_tui.cli.options import agents_given
from zeroclaw_tui.cli.output import (
    BOLD,
    CYAN,
    DIM,
    GREEN,
    RED,
    YELLOW,
    Line,
    Part,
    Styled,
    document,
    note,
    width,
    write_lines,
)
from zeroclaw_tui.cli.recall import tell_notes, trial_given
from zeroclaw_tui.cli.selection import exactly, the_one
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.similar import SimilarResult, similar_memories
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import DONE, WrongUse
from zeroclaw_tui.memory.text import cells, cut, one_line, padded
from zeroclaw_tui.scoring.explain import Explanation
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.scoring.steps import Mark, Step

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


async def explain(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Print the way of the memory that is meant, whatever the verdict."""
    from zeroclaw_tui.curation.recall import explain as explain_memory

    entry = await _meant(library, given)
    trial = trial_given(library, given, now)
    explanation = await explain_memory(library, entry, trial)
    if given.json:
        document(explanation.as_json())
    else:
        write_lines(explanation_lines(explanation, trial))
    tell_notes(library, explanation.notes, set())
    return DONE


async def _meant(library: Library, given: argparse.Namespace) -> MemoryEntry:
    """The memory of this key that the agents hold; of another agent too, since why they do not see it is the answer."""
    agents = agents_given(given)
    held = bool(agents) and given.key is not None and await exactly(library, given.key, given.id, agents)
    return await the_one(library, given.key, given.id, agents if held else ())


GLYPHS: dict[Mark, tuple[str, str]] = {"passed": ("✓", GREEN), "stopped": ("✗", RED), "absent": ("–", DIM)}
STOPS_HERE = "stops here"
LONGEST_KEY = 40
LONGEST_MESSAGE = 200
_COLOURS = {"words": YELLOW, "keyword": YELLOW, "vector": CYAN, "fusion": BOLD, "decay": BOLD, "rerank": BOLD}
_INDENT = "  "
_NARROWEST = 40


def explanation_lines(explanation: Explanation, trial: Trial) -> Iterator[Line]:
    """All of it, each line at most as wide as the terminal."""
    yield (Styled(_title(explanation), BOLD),)
    yield (Styled(_header(explanation, trial), DIM),)
    yield ()
    wide = max(len(step.name) for step in explanation.steps)
    for step in explanation.steps:
        yield from _step_lines(step, wide)
    yield ()
    colour = GREEN if explanation.is_injected else RED
    for place, line in enumerate(_wrapped(explanation.verdict, width() - 2)):
        yield (Styled("✓ " if explanation.is_injected else "✗ ", colour) if place == 0 else "  ", Styled(line, BOLD))
    yield from _sentences(explanation.remarks, DIM)


def _title(explanation: Explanation) -> str:
    is_in = "is" if explanation.is_injected else "is not"
    message = cut(one_line(explanation.query), LONGEST_MESSAGE) or "a blank message"
    where = "in the prompt" if explanation.program is None else f"returned by {explanation.program}"
    return f"Why {_quoted(explanation.entry.key)} {is_in} {where} for: {message}"


def _quoted(key: str) -> str:
    return f'"{cut(one_line(key), LONGEST_KEY)}"'


def _header(explanation: Explanation, trial: Trial) -> str:
    settings = trial.settings
    if explanation.program is not None:
        return f"by the rule of {explanation.program} · limit {trial.request.limits_shown[0]}"
    return (
        f"scoring {explanation.profile} ({one_line(explanation.profile_source)})"
        f" · weights {settings.vector_weight:g} / {settings.keyword_weight:g} · threshold {settings.threshold:.2f}"
        f" · limit {trial.request.limits_shown[0] or 'none'} · {explanation.rule} rule · {explanation.layer} layer"
    )


def _step_lines(step: Step, wide: int) -> Iterator[Line]:
    """Mark, stage and words; on the right where it stops, and below what would help."""
    glyph, colour = GLYPHS[step.mark]
    left = len(_INDENT) + 2 + wide + 2
    room = max(_NARROWEST, width() - left)
    lines = _wrapped(step.words, room)
    words: Part = lines[0]
    if step.mark == "absent":
        words = Styled(lines[0], DIM)
    elif step.name in _COLOURS and step.mark == "passed":
        words = Styled(lines[0], _COLOURS[step.name])
    name: Part = Styled(padded(step.name, wide), BOLD) if step.mark == "stopped" else padded(step.name, wide)
    tail: Line = ()
    if step.mark == "stopped" and cells(lines[0]) + len(STOPS_HERE) + 3 <= room:
        tail = ("   ", Styled(STOPS_HERE, RED))
    yield (_INDENT, Styled(glyph, colour), " ", name, "  ", words, *tail)
    for line in lines[1:]:
        yield (" " * left, Styled(line, words.code) if isinstance(words, Styled) else line)
    if step.helps:
        for place, line in enumerate(_wrapped(step.helps, room - 2)):
            yield (" " * left, Styled(f"{'→' if place == 0 else ' '} {line}", DIM))


def _sentences(sentences: Sequence[str], colour: str) -> Iterator[Line]:
    for sentence in sentences:
        for line in _wrapped(sentence, width() - len(_INDENT)):
            yield (_INDENT, Styled(line, colour))


def _wrapped(text: str, room: int) -> list[str]:
    return textwrap.wrap(one_line(text), max(_NARROWEST, room), break_on_hyphens=False) or [""]
