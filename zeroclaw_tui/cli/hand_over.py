"""Hand a command over to the real ZeroClaw."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from zeroclaw_tui.memory.errors import InspectorError

COMMAND_NOT_FOUND = 127
MOST_HANDED_OVER = 3
"""How often in a row a command may be handed over; a daemon started this way may call `zeroclaw` itself."""
NONE_ON_PATH = (
    "This command belongs to the real zeroclaw, which is not on PATH.",
    "`zeroclaw memory`, `zeroclaw onboard` and `zeroclaw-tui` work without it.",
)


class NoRealBinary(InspectorError):
    """There is no real ZeroClaw to hand a command to."""

    title = "No ZeroClaw"
    exit_code = COMMAND_NOT_FOUND


def can_hand_over() -> bool:
    """Whether there is a real ZeroClaw that has not repeatedly handed the command back."""
    from zeroclaw_tui.config.real_binary import real_zeroclaw

    return _handed_over() < MOST_HANDED_OVER and real_zeroclaw() is not None


def hand_over(arguments: Sequence[str], without: tuple[str, str] | None = None) -> NoReturn:
    """Replace this process by the real ZeroClaw, with the same arguments.

    Raises NoRealBinary if there is none, with the message and hint in `without`.
    """
    from zeroclaw_tui.config.real_binary import PASS_THROUGH_MARKER, real_zeroclaw

    times = _handed_over()
    if times >= MOST_HANDED_OVER:
        raise NoRealBinary(
            "The program found as the real zeroclaw passed the command back.",
            hint=f"Put the real one before this one on PATH, or unset {PASS_THROUGH_MARKER} if it was left over.",
        )
    binary = real_zeroclaw()
    if binary is None:
        message, hint = without or NONE_ON_PATH
        raise NoRealBinary(message, hint=hint)
    sys.stdout.flush()
    try:
        os.execve(binary, [binary, *arguments], {**os.environ, PASS_THROUGH_MARKER: str(times + 1)})
    except OSError as error:
        raise NoRealBinary(
            f"Cannot start {binary}: {error.strerror}.", hint="Check that it is built for this machine."
        ) from error


def _handed_over() -> int:
    from zeroclaw_tui.config.real_binary import PASS_THROUGH_MARKER

    count = os.environ.get(PASS_THROUGH_MARKER, "0")
    return int(count) if count.isdecimal() else MOST_HANDED_OVER
