"""The way through the questions: forward, back, jumping, accepting the rest, testing, and the review at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from zeroclaw_tui.onboard.answers import Answers
from zeroclaw_tui.onboard.asker import Asker
from zeroclaw_tui.onboard.plan import Plan

Ending = Literal["write", "leave"]


@dataclass(frozen=True, slots=True)
class Walked:
    """How it ended, with which answers and plan."""

    ending: Ending
    answers: Answers
    plan: Plan


def walk(asker: Asker, answers: Answers, *, tests: bool = True) -> Walked:
    """Ask until the person writes or leaves. Answers are kept for the next time after each question, without secrets
    (see resume), and forgotten when it ends by writing or leaving; Ctrl-C leaves them kept and goes on up.

    Questions answered by a flag or an answers file are not asked, but can be reached from the overview. After the last
    question of a tested subject its test runs; bad: fix (asks that group again), keep anyway, back. A correction found
    (a wrong dimension) is offered. Going back and forth gives the same answers as going straight through.
    """
    raise NotImplementedError
