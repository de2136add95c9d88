"""Configs in each form, and the answers at the start for one of them and one ZeroClaw version."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from zeroclaw_tui.onboard.answers import Answers, Given, known_backends
from zeroclaw_tui.onboard.question import Question
from zeroclaw_tui.onboard.questions import QUESTIONS, asked
from zeroclaw_tui.onboard.situation import candidates, situation_at

FORMS: dict[str, str | None] = {
    "new": None,
    "old": '[memory]\nbackend = "sqlite"\nauto_save = true\n',
    "bare third": 'schema_version = 3\n\n[memory]\nbackend = "sqlite"\n',
    "aliased": 'schema_version = 3\n[memory]\nbackend = "sqlite.work"\n[storage.sqlite.work]\nopen_timeout_secs = 5\n',
}
OLD_VERSIONS = (None, "0.1.2", "0.2.1", "0.4.3", "0.5.6", "0.6.2", "0.6.3", "0.7.5")
MODERN_VERSIONS = (None, "0.8.0", "0.8.1", "0.8.2", "0.8.3", "0.8.4")
VERSIONS = {"new": OLD_VERSIONS, "old": OLD_VERSIONS, "bare third": MODERN_VERSIONS, "aliased": MODERN_VERSIONS}
BACKENDS = ("sqlite", "lucid", "postgres", "markdown", "qdrant", "none")
EVERYTHING_ON = {
    "memory.hygiene_enabled": True,
    "memory.embedding_provider": "custom:http://127.0.0.1:1/v1",
    "memory.response_cache_enabled": True,
    "memory.snapshot_enabled": True,
}
"""Answers that lead to every question there is for a backend."""


def start(home: Path, config: str | None, version: str | None = None) -> Answers:
    """The answers before anybody answered, for a config dir made in `home`."""
    folder = home / ".zeroclaw"
    if config is not None:
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(config, "utf-8")
    environ = {"HOME": str(home), "PATH": ""}
    situation = asyncio.run(situation_at(candidates(environ, home)[0], environ))
    return Answers(replace(situation, target=situation.target._replace(version=version)))


def answering(answers: Answers, **given: object) -> Answers:
    """The same with these answers, named by key: `backend="postgres"`, or by whole name through a dictionary."""
    for name, value in given.items():
        setting = name if "." in name else f"memory.{name}"
        answers = answers.with_given(setting, Given(value, "answered"))
    return answers


def everything_on(answers: Answers, backend: str) -> Answers:
    return answering(answers, backend=backend, **EVERYTHING_ON)


def all_starts(home: Path) -> Iterator[tuple[str, Answers]]:
    """Every form with every version and backend it may have, bare and with everything switched on."""
    for number, (form, config) in enumerate(FORMS.items()):
        plain = start(home / str(number), config)
        for version, backend in itertools.product(VERSIONS[form], BACKENDS):
            situation = replace(plain.situation, target=plain.situation.target._replace(version=version))
            answers = replace(plain, situation=situation)
            if backend not in known_backends(situation.target):
                continue
            name = f"{form}, {version}, {backend}"
            yield name, answering(answers, backend=backend)
            yield f"{name}, everything on", everything_on(answers, backend)


def ids(answers: Answers) -> list[str]:
    return [question.id for question in asked(answers)]


def question(id: str) -> Question:
    """A question by its id."""
    return next(question for question in QUESTIONS if question.id == id)
