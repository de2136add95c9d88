"""What is answered, and by whom: flags > environment > answers file > current config > default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.profiles import backend_profile
from zeroclaw_tui.config.defaults import BACKENDS_WITH_DEFAULTS, default_values
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.config.secrets import SecretUnreadable, reveal
from zeroclaw_tui.config.setting_names import (
    BACKEND,
    DEFAULT_ALIAS,
    SETTINGS,
    checked_value,
    default_of,
    environment_variable,
    is_read,
    setting_name,
    written_value,
)
from zeroclaw_tui.config.setting_table import reading_words
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.onboard.answers.answers_file import answers_file_text, read_answers, settings_in
from zeroclaw_tui.onboard.answers.backend_names import backend_answer
from zeroclaw_tui.onboard.answers.from_environment import (
    backend_in_environment,
    settings_in_environment,
)
from zeroclaw_tui.onboard.answers.from_flags import flag_answers
from zeroclaw_tui.onboard.answers.given import Given, Source
from zeroclaw_tui.onboard.answers.retention import PROFILE_SETTINGS, is_tightened
from zeroclaw_tui.onboard.situation import Situation

__all__ = ["Answers", "Given", "Source", "answers_text", "gather", "read_answers"]

_DB_URL = "storage.postgres.db_url"
_PROVIDER = "memory.embedding_provider"
_AUTO_SAVE = "memory.auto_save"
_NEEDED = {"postgres": _DB_URL, "qdrant": "storage.qdrant.url"}


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers so far, immutable. Only `given` is explicit; everything else is the config's value or a default.

    Names are those of config.setting_names; the value of `memory.backend` is a kind, or `kind.alias` as given.
    """

    situation: Situation = field(repr=False)
    given: Mapping[str, Given] = field(default_factory=dict)
    is_basic: bool = False
    """True where a person wants to be asked only what nobody else can know."""

    def backend(self) -> str:
        """The bare kind answered for, else the one in use today."""
        answer = self.given.get(BACKEND)
        return answer.value.partition(".")[0] if answer else self.situation.backend

    def alias(self, kind: str | None = None) -> str:
        """The alias its storage is written under where the file has aliases: the one answered, else the one in use
        if the kind stays, else the only one there is of this kind, else "default". `kind` asks for another store."""
        if not self.situation.target.has_aliases:
            return DEFAULT_ALIAS
        wanted = kind or self.backend()
        answer = self.given.get(BACKEND)
        answered, dot, alias = answer.value.partition(".") if answer else ("", "", "")
        if dot and answered == wanted:
            return alias
        in_use, dot, alias = (self.current(BACKEND) or "").partition(".")
        if in_use.strip().lower() == wanted == self.backend() == self.situation.backend:
            return alias or DEFAULT_ALIAS
        aliases = self.aliases(wanted)
        return aliases[0] if len(aliases) == 1 else DEFAULT_ALIAS

    def aliases(self, kind: str) -> tuple[str, ...]:
        """The aliases of a kind that the file has a `[storage.<kind>.<alias>]` for."""
        table = self.situation.document.get(("storage", kind))
        # No backend can be named with an alias that is empty.
        found = table.items() if isinstance(table, Mapping) else ()
        return tuple(str(name) for name, below in found if name and isinstance(below, Mapping))

    def changes_backend(self) -> bool:
        """True when the kind differs from the one in use, or is asked for where no [memory] is there yet."""
        if self.backend() != self.situation.backend:
            return True
        answer = self.given.get(BACKEND)
        is_asked = answer is not None and answer.source != "environment"
        return not self.situation.document.has(("memory",)) and (is_asked or self.situation.has_no_key)

    def current(self, name: str) -> Any:
        """What the file says, secrets as plain text where they can be read (else as they stand); None when nothing."""
        situation = self.situation
        alias = DEFAULT_ALIAS if name.startswith("memory.") else self.alias(name.split(".")[1])
        value = written_value(name, situation.document, situation.target, alias)
        if value is None or not SETTINGS[name].is_secret or self._is_literal(name):
            return value
        try:
            return reveal(value, situation.config_dir)
        except SecretUnreadable:
            # Told by what loads the config; keeping it needs no plain text.
            return value

    def _is_literal(self, name: str) -> bool:
        """ZeroClaw <= 0.7.5 takes Qdrant's key as it stands, whatever it begins with."""
        return name == "storage.qdrant.api_key" and not self.situation.target.is_modern

    def value(self, name: str) -> Any:
        """The answer that counts: given, else current, else the default (of the backend's file where that applies,
        see `fallback`); None for a setting without a default, such as a database URL."""
        answer = self.given.get(name)
        return answer.value if answer else self.fallback(name)

    def source(self, name: str) -> Source:
        """Where `value` comes from."""
        answer = self.given.get(name)
        if answer:
            return answer.source
        current = self.current(name)
        return "config" if current is not None and (name == BACKEND or self.fallback(name) == current) else "default"

    def fallback(self, name: str) -> Any:
        """What counts where nobody answers by name: the current value, but for the five keys of a backend's profile
        when the backend changes; retention that this would shorten or switch on stays as it is today. Without a
        current value: the default of the backend's file when defaults are written (new [memory], backend changed),
        else ZeroClaw's own default."""
        current = self.current(name)
        if name == BACKEND:
            in_use = self.situation.backend
            return current if current and current.partition(".")[0].strip().lower() == in_use else in_use
        today = default_of(name, self.situation.target) if current is None else current
        wished = self.proposed(name)
        if wished is None:
            return today
        return today if is_tightened(name, today, wished) else wished

    def proposed(self, name: str) -> Any:
        """What the defaults would put in the place of a setting that nobody answers, before retention is guarded; None
        where they leave it as it is, as they leave the profile's five while the backend stays."""
        if name == _AUTO_SAVE and self.current(name) is False and self.situation.backend != "none":
            # Not to keep what users say is a choice about them, and goes with no backend.
            return None
        if name in PROFILE_SETTINGS:
            profile = backend_profile(self.backend()) if self.changes_backend() else None
            key = "uses_hygiene" if name == "memory.hygiene_enabled" else name.removeprefix("memory.")
            return None if profile is None else getattr(profile, key)
        is_due = self.changes_backend() and self.current(name) is None
        return _defaults(self.backend()).get(name) if is_due else None

    def with_given(self, name: str, given: Given) -> Answers:
        """A copy with one more answer. Raises WrongUse for a backend this ZeroClaw does not know, or a setting that
        neither its config.toml nor its environment reads."""
        own = {other: answer for other, answer in self.given.items() if answer.source != "environment"}
        own[setting_name(name)] = self._checked(setting_name(name), given)
        return replace(self, given=own).with_environment()

    def _checked(self, name: str, given: Given) -> Given:
        target = self.situation.target
        if not is_read(name, target) and environment_variable(name, target) is None:
            raise WrongUse(
                f"{name} does nothing here: it is a setting of ZeroClaw {reading_words(name)}, and "
                f"{target.reading_version} reads this config.",
                hint="Leave it out.",
            )
        value = checked_value(name, given.value, target.reading_version)
        return replace(given, value=backend_answer(value, target) if name == BACKEND else value)

    def without(self, name: str) -> Answers:
        """A copy in which nobody answered this by hand."""
        own = {
            other: answer for other, answer in self.given.items() if other != name and answer.source != "environment"
        }
        return replace(self, given=own).with_environment()

    def with_environment(self) -> Answers:
        """A copy with what the environment says of this backend, above the answers file and below everything else.

        Raises WrongUse for a backend this ZeroClaw does not know, or a value that cannot be read.
        """
        situation = self.situation
        answers = self
        backend = backend_in_environment(situation.environ, situation.target)
        if backend is not None and answers._is_open(BACKEND):
            answers = answers._put({BACKEND: answers._from_environment(backend)})
        found = settings_in_environment(situation.environ, situation.target, answers.backend(), answers.alias())
        return answers._put({name: answer for name, answer in found.items() if answers._is_open(name)})

    def _from_environment(self, backend: Given) -> Given:
        try:
            return self._checked(BACKEND, backend)
        except WrongUse as problem:
            variable = backend.told.removeprefix("environment ")
            raise WrongUse(
                f"The environment variable {variable} cannot be used: {problem.message}",
                hint=f"Put it right or unset it. {problem.hint}",
            ) from problem

    def _is_open(self, name: str) -> bool:
        """True where the environment counts: nobody answered, or an answers file did."""
        answer = self.given.get(name)
        return answer is None or answer.source == "answers file"

    def _put(self, more: Mapping[str, Given]) -> Answers:
        return replace(self, given={**self.given, **more})

    def missing(self) -> tuple[str, ...]:
        """Settings the backend cannot do without that have no value: storage.postgres.db_url, storage.qdrant.url, …;
        a provider `custom:` without URL counts as memory.embedding_provider."""
        needed = _NEEDED.get(self.backend())
        missing = [needed] if needed and _is_blank(self.value(needed)) else []
        scheme, colon, url = str(self.value(_PROVIDER)).partition(":")
        if scheme.strip() == "custom" and not url.strip() and colon:
            missing.append(_PROVIDER)
        return tuple(missing)


def _is_blank(value: object) -> bool:
    return value is None or not str(value).strip()


@cache
def _defaults(backend: str) -> Mapping[str, Any]:
    """What the defaults file of a backend sets, by setting; nothing for a backend without one."""
    if backend not in BACKENDS_WITH_DEFAULTS:
        return {}
    return settings_in(default_values(backend), f"defaults/{backend}.toml")


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
    ZEROCLAW_storage__…. DATABASE_URL is often another program's and is never taken unasked. Only those of the backend's
    own store count. A setting of an answers file that this ZeroClaw
    does not read is left out where it has ZeroClaw's own default. Raises WrongUse (exit 2) for what cannot be read,
    BrokenConfig for a broken answers file.
    """
    flags, aliases = flag_answers(memory, assignments)
    from_file = _file_answers(answers_file, situation) if answers_file else {}
    answers = Answers(situation)
    # The backend first, for the environment and the aliases go by it.
    for name, answer in sorted({**from_file, **flags}.items(), key=lambda item: item[0] != BACKEND):
        answers = _with_told(answers, name, answer)
    answers = answers.with_environment()
    for kind, alias in aliases.items():
        _check_alias(answers, kind, alias)
    return answers


def _file_answers(path: Path, situation: Situation) -> dict[str, Given]:
    target = situation.target
    return {
        name: Given(value, "answers file", f"answers file {path}")
        for name, value in read_answers(path).items()
        if is_read(name, target) or environment_variable(name, target) or value != default_of(name, target)
    }


def _with_told(answers: Answers, name: str, answer: Given) -> Answers:
    try:
        return answers.with_given(name, answer)
    except WrongUse as problem:
        if answer.source != "answers file":
            raise
        raise WrongUse(f"In the {answer.told}: {problem.message}", hint=problem.hint) from problem


def _check_alias(answers: Answers, kind: str, alias: str) -> None:
    """What is set for a table that nothing points to would have no effect."""
    used = answers.alias(kind)
    if answers.situation.target.has_aliases and alias != used:
        raise WrongUse(
            f"storage.{kind}.{shown(alias)} is not the table in use here, which is storage.{kind}.{shown(used)}.",
            hint=f"Add --memory {kind}.{shown(alias)} to use it.",
        )


def answers_text(answers: Answers) -> str:
    """The given answers as an answers file (TOML, commented, no secrets: each is named in a comment instead)."""
    return answers_file_text(answers.given)
