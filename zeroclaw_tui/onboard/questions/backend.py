"""Where memory is kept."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from zeroclaw_tui.config.setting_names import BACKEND
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.answers.backend_names import BACKEND_TITLES, known_backends
from zeroclaw_tui.onboard.questions.making import make_question
from zeroclaw_tui.onboard.questions.question import Choice

_ABOUT: Mapping[str, str] = MappingProxyType(
    {
        "sqlite": "words + vectors · hygiene · local · no set-up · most uses",
        "lucid": "SQLite + lucid · hygiene · local · lucid CLI · its users",
        "postgres": "words · no row hygiene · remote · a server · sharing",
        "qdrant": "vectors · no row hygiene · remote · a server · by meaning",
        "none": "nothing is stored or found · no set-up · stateless agents",
    }
)
"""Search · hygiene · where it lies · set-up · use, in few enough words for one row."""
_MARKDOWN_ABOUT = {
    False: "words · file hygiene · local · no set-up · reading, git",
    True: "words · no hygiene · local · no set-up · reading, git",
}


def _choices(answers: Answers) -> tuple[Choice, ...]:
    target = answers.situation.target
    about = {**_ABOUT, "markdown": _MARKDOWN_ABOUT[target.is_modern]}
    return tuple(Choice(kind, BACKEND_TITLES[kind], about[kind]) for kind in known_backends(target))


def _read(answers: Answers, text: str) -> Any:
    kind = text.strip().lower()
    if kind == answers.backend():
        return answers.value(BACKEND) or kind
    offered = known_backends(answers.situation.target)
    if kind not in offered:
        raise WrongUse(f"The backend must be one of {', '.join(offered)}.", hint="Choose one of them.")
    return kind


def _about(answers: Answers) -> str:
    if answers.situation.is_new:
        return "It decides what can be searched and who can share it; memories do not move by themselves if it changes."
    return "Memories stay where they are: another backend starts with its own, and the old ones are no longer recalled."


BACKEND_QUESTIONS = (
    make_question(
        BACKEND,
        "Backend",
        "Where should memory be kept?",
        _about,
        when=lambda answers: True,
        kind="choice",
        present=lambda answers: answers.backend(),
        default=lambda answers: "sqlite",
        read=_read,
        choices=_choices,
    ),
)
