"""Answers kept between two runs of the wizard, in a file of our own, 0600 and without secrets."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zeroclaw_tui.config.document.replacing import read_regular
from zeroclaw_tui.config.document.saving import write_private
from zeroclaw_tui.config.setting_names import BACKEND, SETTINGS, checked_value
from zeroclaw_tui.memory.errors import Unreadable, WrongUse
from zeroclaw_tui.memory.text import mask_secrets
from zeroclaw_tui.onboard.answers.answers import Answers, Given
from zeroclaw_tui.onboard.situation import Situation

NAME = "onboard.toml"
_FORMAT = 1
_NEW = "new"
_HEAD = "Answers given to `zeroclaw onboard` before it was stopped; it offers to go on with them. No secrets in here."


@dataclass(frozen=True, slots=True)
class Kept:
    """What was kept: the answers, the id of the question to go on with, and the settings whose answers are to be given
    again, since they were secrets."""

    answers: Answers
    question_id: str
    secrets: tuple[str, ...] = ()


def keep(answers: Answers, question_id: str) -> None:
    """Keep what was answered by hand, and where it stopped, in `<own dir>/onboard.toml`. Raises Unreadable."""
    import tomlkit

    by_hand = {name: given.value for name, given in answers.given.items() if given.source == "answered"}
    open_ones = {name: value for name, value in by_hand.items() if not _is_secret(name, value)}
    document = tomlkit.document()
    document.add(tomlkit.comment(_HEAD))
    document["format"] = _FORMAT
    document["question"] = question_id
    document["config"] = _mark(answers.situation)
    document["basic"] = answers.is_basic
    document["secrets"] = [name for name in by_hand if name not in open_ones]
    document["answers"] = open_ones
    write_private(_file(answers.situation), tomlkit.dumps(document).encode())


def kept(situation: Situation) -> Kept | None:
    """The kept answers put on top of the situation, and the question to go on with; None when there are none, when
    the config changed since they were kept, or when the file cannot be used (it is then as if there were none)."""
    try:
        document = tomllib.loads(read_regular(_file(situation)).decode("utf-8"))
    except (OSError, ValueError):
        return None
    values, question, secrets = (document.get(name) for name in ("answers", "question", "secrets"))
    is_ours = document.get("format") == _FORMAT and document.get("config") == _mark(situation)
    if not (isinstance(values, dict) and isinstance(question, str) and isinstance(secrets, list) and is_ours):
        return None
    try:
        before = _put_on(Answers(situation, is_basic=document.get("basic") is True), values)
        return Kept(before, question, tuple(map(str, secrets)))
    except WrongUse:
        return None


def put_below(answers: Answers, before: Answers) -> Answers:
    """The answers with those kept from before, where no flag and no answers file says otherwise."""
    for name, given in before.given.items():
        present = answers.given.get(name)
        if given.source == "answered" and (present is None or present.source == "environment"):
            answers = answers.with_given(name, given)
    return replace(answers, is_basic=before.is_basic)


def forget(situation: Situation) -> None:
    """Remove the file. Raises Unreadable when it is there and cannot be removed."""
    path = _file(situation)
    try:
        path.unlink(missing_ok=True)
    except NotADirectoryError:
        return
    except OSError as error:
        raise Unreadable(f"{path} cannot be removed: {error.strerror}.", hint="Remove it by hand.") from error


def _put_on(answers: Answers, values: Mapping[str, Any]) -> Answers:
    # Which settings a backend has follows from the backend.
    for name in sorted(values, key=lambda name: name != BACKEND):
        if name not in SETTINGS:
            raise WrongUse(f"No setting is called {name}.")
        answers = answers.with_given(name, Given(checked_value(name, values[name]), "answered", "answered before"))
    return answers


def _is_secret(name: str, value: Any) -> bool:
    """True for a secret, and for what has one in it or cannot be written down."""
    text = str(value)
    return SETTINGS[name].is_secret or mask_secrets(text) != text or text.encode("utf-8", "replace").decode() != text


def _mark(situation: Situation) -> str:
    return _NEW if situation.raw is None else hashlib.sha256(situation.raw).hexdigest()


def _file(situation: Situation) -> Path:
    return situation.own_dir / NAME
