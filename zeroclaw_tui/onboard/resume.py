"""Answers kept between two runs of the wizard, in a file of our own, 0600 and without secrets."""

from __future__ import annotations

from zeroclaw_tui.onboard.answers import Answers
from zeroclaw_tui.onboard.situation import Situation


def keep(answers: Answers, question_id: str) -> None:
    """Keep what was answered by hand, and where it stopped, in `<own dir>/onboard.toml`. Raises Unreadable."""
    raise NotImplementedError


def kept(situation: Situation) -> tuple[Answers, str] | None:
    """The kept answers put on top of the situation, and the question to go on with; None when there are none, when
    the config changed since they were kept, or when the file cannot be used (it is then as if there were none)."""
    raise NotImplementedError


def forget(situation: Situation) -> None:
    """Remove the file. Raises Unreadable when it is there and cannot be removed."""
    raise NotImplementedError
