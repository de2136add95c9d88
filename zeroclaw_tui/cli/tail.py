"""`memory tail`: the turns that ZeroClaw recorded, each beside its prediction, and those that come.

With `--json` a line a turn: {"turn", "at", "agent", "session", "channel", "query", "sent", "predicted", "equal",
"why_not_equal", "source"}. It ends at Ctrl-C, when nobody reads it any more, and with `--once` after what is recorded.
Exit code 0; with `--check` 1 where a prediction was not what was sent.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime

from zeroclaw_tui.cli.options import agents_given
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, RED, YELLOW, Line, Styled, document, note, width, write_lines
from zeroclaw_tui.cli.selection import moment_meant
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.turns.prediction import ComparedTurn, Predictions, keys_of_block
from zeroclaw_tui.curation.turns.recording import Recording, Turn, follow, recorded
from zeroclaw_tui.curation.turns.switch import recording_change, recording_state
from zeroclaw_tui.curation.turns.trace import moment_of
from zeroclaw_tui.memory.errors import DONE, REFUSED, Refused, WrongUse
from zeroclaw_tui.memory.text import counted, cut, one_line

SHOWN_AT_START = 10
"""Turns that are shown before what comes, where neither --since nor --once asks for more."""
_LONGEST_QUERY = 400
_INDENT = "    "


async def tail(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb; the exit code."""
    agents = agents_given(given)
    if len(agents) > 1:
        raise WrongUse("A turn has one agent.", hint="Give --agent once.")
    agent = agents[0] if agents else None
    since = None
    if given.since is not None:
        since = moment_of(moment_meant(given.since, now))
    watch = _Watch(library, given)
    async with Predictions(library) as predictions:
        if given.once:
            await watch.show(await recorded(library, since=since, agent=agent), predictions, is_first=True)
            return watch.exit_code
        most = None if since is not None else SHOWN_AT_START
        is_first = True
        async for recording in follow(library, since=since, agent=agent, most=most):
            await watch.show(recording, predictions, is_first=is_first)
            is_first = False
    return watch.exit_code


class _Watch:
    """What was told so far, and how each recording is told."""

    def __init__(self, library: Library, given: argparse.Namespace) -> None:
        self._library, self._given = library, given
        self._told: set[str] = set()
        self._mismatches = 0

    @property
    def exit_code(self) -> int:
        return REFUSED if self._given.check and self._mismatches else DONE

    async def show(self, recording: Recording, predictions: Predictions, *, is_first: bool) -> None:
        for sentence in recording.problems:
            self._tell(sentence)
        if recording.broken_lines:
            self._tell(f"{counted(recording.broken_lines, 'line')} of the trace could not be read.")
        if is_first and recording.why_nothing is not None:
            self._tell(recording.why_nothing)
            self._tell_switch()
        # From the newest to the oldest, as the store is put back step by step.
        compared = [await predictions.of(turn) for turn in reversed(recording.turns)]
        for one in reversed(compared):
            self._mismatches += one.equal is False
            if self._given.mismatches and one.equal is not False:
                continue
            if self._given.json:
                document(one.as_json(), compact=True)
            else:
                write_lines(turn_lines(one))
                sys.stdout.flush()

    def _tell(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            note(f"zeroclaw: {one_line(sentence)}")

    def _tell_switch(self) -> None:
        """The lines of config.toml that turn recording on, where some are missing."""
        version = self._library.profile.profile.version
        if not recording_state(self._library.config, version).keys:
            return
        try:
            change = recording_change(self._library.config, version)
        except Refused as refused:
            self._tell(str(refused))
            return
        for sign, text in change.lines:
            note(f"  {sign} {one_line(text)}")
        for sentence in change.warnings:
            self._tell(sentence)
        self._tell("Key t of the inspector (`zeroclaw-tui`), then W, writes it after asking.")


def turn_lines(compared: ComparedTurn) -> Iterator[Line]:
    """A turn for people: what was asked, by whom, how many memories were sent, and what differs."""
    turn = compared.turn
    who = " · ".join(one_line(part) for part in (turn.agent, turn.channel, turn.session) if part)
    asked = cut(one_line(turn.query[:_LONGEST_QUERY]), max(20, width() - 2)) or "(no message recorded)"
    yield (Styled(_clock(turn), DIM), "  ", Styled(who or "no agent named", DIM))
    yield ("  ", Styled(asked, BOLD))
    yield ("  ", _verdict(compared))
    if compared.equal is False or (compared.equal is None and compared.changed_since):
        yield from difference_of_blocks(turn.sent or "", compared.predicted)


def _clock(turn: Turn) -> str:
    return datetime.fromisoformat(turn.at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _verdict(compared: ComparedTurn) -> Styled:
    turn = compared.turn
    would = _memories(compared.predicted)
    if compared.equal:
        return Styled(f"✓ {_memories(turn.sent or '')} sent, as predicted", GREEN)
    if compared.equal is False:
        return Styled(f"✗ not as predicted: {compared.why_not_equal}", RED)
    why = compared.why_not_equal or ""
    if compared.changed_since:
        named = ", ".join(cut(one_line(key), 40) for key in compared.changed_since[:5])
        why = f"{why}: {named}"
    was = f"{_memories(turn.sent)} sent, " if turn.sent is not None else ""
    return Styled(f"– {was}{would} predicted, not compared: {one_line(why)}", YELLOW)


def _memories(block: str) -> str:
    return counted(len(keys_of_block(block)))


def difference_of_blocks(sent: str, predicted: str) -> Iterator[Line]:
    """What was sent and not predicted as +, what was predicted and not sent as -, what is in both without a sign."""
    room = max(20, width() - len(_INDENT) - 2)
    lines: Sequence[str] = list(difflib.ndiff(predicted.split("\n"), sent.split("\n")))
    for line in lines:
        sign, text = line[:1], cut(one_line(line[2:]), room)
        if not text or sign == "?":
            continue
        yield (_INDENT, Styled(f"{sign} {text}", {"+": GREEN, "-": RED}.get(sign, DIM)))
