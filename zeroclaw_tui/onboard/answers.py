"""What is answered, and by whom: flags > environment > answers file > current config > default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.onboard.situation import Situation

Source = Literal["flag", "environment", "answers file", "answered", "config", "default"]


@dataclass(frozen=True, slots=True)
class Given:
    """One answer somebody gave. `told` says in words where from ("--set", "environment ZEROCLAW_DB_URL", …)."""

    value: Any
    source: Source
    told: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers so far, immutable. Only `given` is explicit; everything else is the config's value or a default.

    Names are those of config.setting_names; the value of `memory.backend` is a kind, or `kind.alias` as given.
    """

    situation: Situation
    given: Mapping[str, Given] = field(default_factory=dict)
    wants_defaults: bool = False
    """True where a backend was asked for by a flag or an answers file: the defaults of its file are then written for
    keys that are not there, even when the backend stays."""

    def backend(self) -> str:
        """The bare kind answered for, else the one in use today."""
        raise NotImplementedError

    def alias(self) -> str:
        """The alias its storage is written under where the file has aliases: the one answered, else the one in use
        if the kind stays, else the only one there is of this kind, else "default"."""
        raise NotImplementedError

    def changes_backend(self) -> bool:
        """True when the kind differs from the one in use, or no [memory] is there yet."""
        raise NotImplementedError

    def current(self, name: str) -> Any:
        """What the file says, secrets as plain text where they can be read (else as they stand); None when nothing."""
        raise NotImplementedError

    def value(self, name: str) -> Any:
        """The answer that counts: given, else current, else the default (of the backend's file where that applies,
        see `fallback`); None for a setting without a default, such as a database URL."""
        raise NotImplementedError

    def source(self, name: str) -> Source:
        """Where `value` comes from."""
        raise NotImplementedError

    def fallback(self, name: str) -> Any:
        """What counts where nobody answers by name: the current value, but for the five keys of a backend's profile
        when the backend changes; retention that this would shorten or switch on stays as it is today. Without a
        current value: the default of the backend's file when defaults are written (new [memory], backend changed,
        `wants_defaults`), else ZeroClaw's own default."""
        raise NotImplementedError

    def with_given(self, name: str, given: Given) -> Answers:
        """A copy with one more answer. Raises WrongUse for a backend this ZeroClaw does not know, or a setting that
        neither its config.toml nor its environment reads."""
        raise NotImplementedError

    def without(self, name: str) -> Answers:
        """A copy in which nobody answered this by hand."""
        raise NotImplementedError

    def missing(self) -> tuple[str, ...]:
        """Settings the backend cannot do without that have no value: storage.postgres.db_url, storage.qdrant.url, …;
        a provider `custom:` without URL counts as memory.embedding_provider."""
        raise NotImplementedError


def gather(
    situation: Situation,
    *,
    memory: str | None = None,
    assignments: tuple[str, ...] = (),
    answers_file: Path | None = None,
) -> Answers:
    """Answers from `--memory`, `--set key=value` (either generation's spelling), the environment and an answers file.

    From the environment: ZEROCLAW_STORAGE_PROVIDER, _DB_URL, _CONNECT_TIMEOUT_SECS (<= 0.7.5), ZEROCLAW_POSTGRES_URL,
    ZEROCLAW_DB_URL, QDRANT_URL, QDRANT_COLLECTION, QDRANT_API_KEY, ZEROCLAW_LUCID_*, and ZEROCLAW_memory__… and
    ZEROCLAW_storage__…. DATABASE_URL is often another program's: it only fills in where neither the answers file nor
    the config has a URL. Raises WrongUse (exit 2) for what cannot be read, BrokenConfig for a broken answers file.
    """
    raise NotImplementedError


def answers_text(answers: Answers) -> str:
    """The given answers as an answers file (TOML, commented, no secrets: each is named in a comment instead)."""
    raise NotImplementedError


def read_answers(path: Path) -> dict[str, Any]:
    """The settings of an answers file by name; it may also have the shape of a config.toml. Raises BrokenConfig,
    WrongUse."""
    raise NotImplementedError
