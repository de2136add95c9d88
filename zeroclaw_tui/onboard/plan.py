"""From answers to the exact change of config.toml, with what has to be said about it. Nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from zeroclaw_tui.config.document.document import ConfigDocument, KeyPath
from zeroclaw_tui.onboard.answers import Answers


@dataclass(frozen=True, slots=True)
class Change:
    """One key. `before` is None where it was not there. Secrets are plain text here and never shown."""

    name: str
    path: KeyPath
    before: Any = field(repr=False)
    after: Any = field(repr=False)
    is_secret: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """`after` equals `before` when there is nothing to change. `notes` are sentences for the review: what is kept and
    why ("Hygiene stays off: …"), a secret that stays plain, an environment variable that overrides what is written, a
    backend some versions do not know. `new_key` is the text of a `.secret_key` to be made first, else None."""

    answers: Answers = field(repr=False)
    before: ConfigDocument = field(repr=False)
    after: ConfigDocument = field(repr=False)
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    new_key: str | None = field(default=None, repr=False)

    @property
    def is_empty(self) -> bool:
        """True when the file stays as it is."""
        return not self.changes


def make_plan(answers: Answers) -> Plan:
    """What would be written: exactly the given answers that differ from the file; the missing keys of the backend's
    defaults file where the backend changes, [memory] is new, or defaults were asked for; `backend` and `auto_save`
    always where [memory] is touched; `storage.provider.config.provider` put right where it names another backend.

    A new file is `default_temperature = 0.7` and the commented defaults file of the backend. Raises WrongUse naming
    the flag for each missing answer, BrokenConfig for a wrong type in a key that would be edited, SecretUnreadable
    where a secret must be encrypted and the key file is missing beside encrypted values, or damaged.
    """
    raise NotImplementedError


def apply_plan(plan: Plan) -> str | None:
    """Write it: the key file if it needs one, then config.toml with its backup. The backup's name, None without one.

    Raises what config.document.saving raises; an existing key file is never touched.
    """
    raise NotImplementedError
