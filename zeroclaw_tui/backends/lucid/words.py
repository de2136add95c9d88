"""The sentences of the Lucid bridge."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

from zeroclaw_tui.backends.lucid.program import Answer, shown
from zeroclaw_tui.backends.lucid.settings import LucidSettings

KEEPS = "Lucid keeps its own copy: its program has no command to delete."
_RUNS = "Recall runs the program lucid where too few local memories match"
_HANDS_OVER = "and a new memory is handed to it; it never hears of deletions, edits, undo, imports and copies"
NOT_OURS = "This memory is lucid's own and cannot be changed or deleted here."
NO_COMMAND = "Its program has no command for that."
NOT_THE_AGENTS = (
    "ZeroClaw >= 0.8.0 asks lucid only where no agent is named; its agents recall from the local database alone."
)

WITHHELD = "lucid's own"
"""Why an agent is not given a row."""


def notice(*, is_written: bool) -> str:
    """When the program runs, and what it never hears of."""
    return f"{_RUNS}, {_HANDS_OVER}." if is_written else f"{_RUNS}."


def path_text(path: Path) -> str:
    """A path as ZeroClaw prints it: bytes that are no UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def rests(seconds: float) -> str:
    """How long lucid is left alone."""
    return f"lucid rests for {math.ceil(seconds)} s"


def not_asked_resting(seconds: float) -> str:
    """Why lucid was not asked after it failed."""
    return f"Lucid was not asked: it rests for {math.ceil(seconds)} s after it failed."


def not_asked(hits: int, limit: int, threshold: int) -> str | None:
    """Why lucid is not asked, by how many local hits there are; None where it is."""
    if limit <= 0:
        return "Lucid was not asked: no memory was wanted."
    if hits < min(limit, threshold):
        return None
    counted = "1 local hit is" if hits == 1 else f"{hits} local hits are"
    return f"Lucid was not asked: {counted} enough."


def failed(message: str) -> str:
    """Why nothing came from lucid."""
    return f"Local memories only: {message}"


def answered(answer: Answer, rows: int) -> str:
    """What lucid said, and how long that took."""
    milliseconds = f"{answer.milliseconds:.0f} ms"
    if rows:
        return f"Lucid was asked and gave {rows} {'memory' if rows == 1 else 'memories'} in {milliseconds}."
    if answer.text.strip():
        return f"Lucid was asked and printed no memories in {milliseconds}: its answer has another form."
    return f"Lucid was asked and has nothing on this, after {milliseconds}."


def cut_off(kept: int) -> str:
    """That not all of an answer was read."""
    return f"Lucid printed more than {kept >> 20} MiB; the rest was not read."


def not_handed_over(message: str) -> str:
    """Why lucid does not have a new memory."""
    return f"Stored here, but not in lucid: {message}"


def missing(command: str) -> str:
    """That the program cannot be run."""
    return f"The program {shown(command)} cannot be run here: recall is the local database's alone."


def unread(names: Sequence[str], version: str) -> str:
    """Settings that are given and do nothing."""
    verb = "is" if len(names) == 1 else "are"
    return f"{', '.join(names)} {verb} not read by ZeroClaw {version}."


def facts(program: str | None, settings: LucidSettings) -> dict[str, str]:
    """What is known of the program before it is run."""
    return {
        "lucid program": shown(program) if program else "not found",
        "lucid is asked": f"below {settings.local_hit_threshold} local hits, for {settings.budget} tokens",
        "lucid time-outs": f"recall {settings.recall_timeout_ms} ms, store {settings.store_timeout_ms} ms",
    }
