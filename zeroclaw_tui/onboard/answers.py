"""The answers and their sources: flags > environment > answers file > current config > default."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.backends.factory import backend_info, keeps_nothing
from zeroclaw_tui.config.locations import read_toml
from zeroclaw_tui.config.memory_config import Notes, shown
from zeroclaw_tui.config.schema import (
    BACKENDS_WITH_DEFAULTS,
    DAYS_BY_CATEGORY,
    POSTGRES_AWAY,
    SETTINGS,
    default_values,
    kind_of,
    version_numbers,
)
from zeroclaw_tui.config.secrets import SecretUnreadable, reveal
from zeroclaw_tui.config.setting_names import (
    BACKEND,
    DEFAULT_ALIAS,
    Target,
    alias_in,
    assigned,
    checked_value,
    default_of,
    environment_variable,
    is_left_out,
    is_read,
    parsed_value,
    reading_words,
    setting_name,
    variable_of,
    written_value,
)
from zeroclaw_tui.config.storage import OTHERS_DB_URL, OUR_DB_URLS, given, source_of, value_of_variable
from zeroclaw_tui.memory.errors import BrokenConfig, UsageError
from zeroclaw_tui.onboard.situation import Situation

Source = Literal["flag", "environment", "answers file", "answered", "config", "default"]
AUTO_SAVE = "memory.auto_save"
VECTOR_WEIGHT = "memory.vector_weight"
KEYWORD_WEIGHT = "memory.keyword_weight"
PROVIDER_SETTING = "memory.embedding_provider"
DB_URL = "storage.postgres.db_url"
PROFILE_SETTINGS = (
    AUTO_SAVE,
    "memory.hygiene_enabled",
    "memory.archive_after_days",
    "memory.purge_after_days",
    "memory.embedding_cache_size",
)
"""The settings that follow a backend's profile when the backend changes."""
BACKEND_TITLES = {
    "sqlite": "SQLite",
    "lucid": "Lucid",
    "postgres": "PostgreSQL",
    "markdown": "Markdown",
    "qdrant": "Qdrant",
    "none": "None",
}
"""The backends that ZeroClaw knows, in the order of its own list."""
_QDRANT_SINCE = (0, 1, 7)
_NEEDED = {"postgres": DB_URL, "qdrant": "storage.qdrant.url"}
_SECTIONS = ("memory", "storage")


@dataclass(frozen=True, slots=True)
class Given:
    """One answer that somebody gave. `origin` says in words where: "--set", "environment ZEROCLAW_DB_URL"."""

    value: Any = field(repr=False)
    source: Source
    origin: str = ""


def is_tightened(name: str, before: Any, after: Any) -> bool:
    """Whether a change deletes or archives sooner: hygiene switched on, or days made fewer, where 0 is never."""
    if name == "memory.hygiene_enabled":
        return after is True and before is False
    if name.endswith(("_after_days", "_retention_days")) or name.startswith(DAYS_BY_CATEGORY):
        return bool(after) and (not before or after < before)
    return False


def check_weights(vector: float, keyword: float, hint: str) -> None:
    """Raise UsageError where both scores would count nothing."""
    if vector == 0 and keyword == 0:
        raise UsageError("Both weights are 0, so every hybrid score would be 0.", hint=hint)


def known_backends(target: Target) -> tuple[str, ...]:
    """The kinds of backend that this ZeroClaw knows."""
    version = None if target.version is None else version_numbers(target.version)
    missing = set()
    if version is not None and POSTGRES_AWAY[0] <= version <= POSTGRES_AWAY[1]:
        missing.add("postgres")
    if version is not None and version < _QDRANT_SINCE:
        missing.add("qdrant")
    return tuple(kind for kind in BACKEND_TITLES if kind not in missing)


def backend_answer(text: str, target: Target) -> str:
    """The kind, or `kind.alias`, that a name means; postgresql and md are other names of postgres and markdown.

    Raises UsageError for what this ZeroClaw would silently take for Markdown.
    """
    written, dot, alias = text.strip().partition(".")
    profile = backend_info(written)
    kind = profile.key if profile else written.strip().lower()
    known = known_backends(target)
    if kind not in known:
        near = [] if profile else difflib.get_close_matches(kind, known, n=1)
        why = f". Did you mean {near[0]}?" if near else " and would silently use Markdown."
        version = f" {shown(target.version)}" if kind in BACKEND_TITLES and target.version else ""
        raise UsageError(
            f"ZeroClaw{version} does not know the backend {shown(kind) or '(nothing)'}{why}",
            hint=f"Choose one of {', '.join(known)}.",
        )
    if not dot:
        return kind
    if not target.has_aliases:
        raise UsageError(
            f"{kind}.{shown(alias)} needs ZeroClaw 0.8.0 or later. With this config an older one would silently use "
            "Markdown.",
            hint=f"Use {kind}.",
        )
    if keeps_nothing(kind):
        raise UsageError("The backend none has no alias.", hint="Use none.")
    if not re.fullmatch(r"[A-Za-z0-9_-]+", alias):
        raise UsageError(
            f'Invalid alias "{shown(alias)}". Use letters, digits, _ and -.', hint=f"For example {kind}.default."
        )
    return f"{kind}.{alias}"


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers so far. Only `given` is explicit; everything else is the config's value or a default.

    The value of `memory.backend` is a kind, or `kind.alias` as given.
    """

    situation: Situation = field(repr=False)
    given: Mapping[str, Given] = field(default_factory=dict)
    is_basic: bool = False
    """Whether a person wants to be asked only what nobody else can know."""
    with_defaults: bool = False
    """Whether a changed backend brings all of its defaults into the file (`--defaults`)."""

    def backend(self) -> str:
        """The kind answered for, else the one in use today."""
        answer = self.given.get(BACKEND)
        return answer.value.partition(".")[0] if answer else self.situation.backend

    def alias(self, kind: str | None = None) -> str:
        """The alias of a kind of store: the one answered, else the one in use, else the only one, else "default"."""
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
        found = table.items() if isinstance(table, Mapping) else ()
        return tuple(str(name) for name, below in found if name and isinstance(below, Mapping))

    def changes_backend(self) -> bool:
        """Whether the kind differs from the one in use, or is asked for where there is no [memory] yet."""
        if self.backend() != self.situation.backend:
            return True
        is_due = self.is_asked(BACKEND) or self.situation.has_no_key
        return is_due and not self.situation.document.has(("memory",))

    def writes_defaults(self) -> bool:
        """Whether all defaults of the backend are written: the file has no key yet, or --defaults asks for them."""
        return self.changes_backend() and (self.with_defaults or self.situation.has_no_key)

    def is_asked(self, name: str) -> bool:
        """Whether somebody answered this, and not the environment alone."""
        answer = self.given.get(name)
        return answer is not None and answer.source != "environment"

    def current(self, name: str) -> Any:
        """What the file says, a secret as plain text where it can be read; None when nothing."""
        situation = self.situation
        alias = DEFAULT_ALIAS if name.startswith("memory.") else self.alias(name.split(".")[1])
        value = written_value(name, situation.document, situation.target, alias)
        # ZeroClaw <= 0.7.5 uses Qdrant's key as it is, whatever it begins with.
        is_literal = name == "storage.qdrant.api_key" and not situation.target.is_modern
        if value is None or not SETTINGS[name].is_secret or is_literal:
            return value
        try:
            return reveal(value, situation.config_dir)
        except SecretUnreadable:
            # Loading the config reports it, and a value that stays needs no plain text.
            return value

    def value(self, name: str) -> Any:
        """The answer that counts: given, else current, else the default; None for a setting without a default."""
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
        """What counts where nobody answers: what `proposed` says, but never shorter retention than today."""
        current = self.current(name)
        if name == BACKEND:
            in_use = self.situation.backend
            return current if current and current.partition(".")[0].strip().lower() == in_use else in_use
        today = default_of(name, self.situation.target) if current is None else current
        wished = self.proposed(name)
        is_switched_on = name == AUTO_SAVE and current is False
        return today if wished is None or is_switched_on or is_tightened(name, today, wished) else wished

    def proposed(self, name: str) -> Any:
        """What the defaults would put instead of a setting that nobody answers; None where they leave it as it is."""
        if name in PROFILE_SETTINGS:
            profile = backend_info(self.backend()) if self.changes_backend() else None
            key = "uses_hygiene" if name == "memory.hygiene_enabled" else name.removeprefix("memory.")
            return None if profile is None else getattr(profile, key)
        is_due = self.writes_defaults() and self.current(name) is None
        return backend_defaults(self.backend()).get(name) if is_due else None

    def with_given(self, name: str, given: Given) -> Answers:
        """A copy with one more answer. Raises UsageError for a value, a backend or a setting that cannot be here."""
        checked = self._checked(name, given)
        return replace(self, given={**self._own(), name: checked}).with_environment()

    def without(self, name: str) -> Answers:
        """A copy in which nobody answered this by hand."""
        own = self._own()
        own.pop(name, None)
        return replace(self, given=own).with_environment()

    def _own(self) -> dict[str, Given]:
        return {name: answer for name, answer in self.given.items() if answer.source != "environment"}

    def _checked(self, name: str, given: Given) -> Given:
        target = self.situation.target
        if not is_read(name, target) and environment_variable(name, target) is None:
            raise UsageError(
                f"{name} has no effect here. It needs ZeroClaw {reading_words(name)}, and "
                f"{target.reading_version} reads this config.",
                hint="Leave the setting out.",
            )
        value = checked_value(name, given.value, target.reading_version)
        return replace(given, value=backend_answer(value, target) if name == BACKEND else value)

    def with_environment(self) -> Answers:
        """A copy with what the environment says of this backend, above the answers file and below everything else.

        Raises UsageError for a backend this ZeroClaw does not know, or a value that cannot be read.
        """
        answers, target, environ = self, self.situation.target, self.situation.environ
        variable = str(variable_of(BACKEND, target))
        if given(environ, variable) and answers._is_open(BACKEND):
            try:
                backend = self._checked(BACKEND, Given(given(environ, variable), "environment", source_of(variable)))
            except UsageError as problem:
                raise _unusable(variable, problem) from problem
            answers = replace(answers, given={**answers.given, BACKEND: backend})
        found = settings_in_environment(environ, target, answers.backend(), answers.alias())
        more = {name: answer for name, answer in found.items() if answers._is_open(name)}
        return replace(answers, given={**answers.given, **more})

    def _is_open(self, name: str) -> bool:
        """Whether the environment counts: nobody answered, or an answers file did."""
        answer = self.given.get(name)
        return answer is None or answer.source == "answers file"

    def missing(self) -> tuple[str, ...]:
        """The settings without a value that the backend cannot do without; so is a provider `custom:` without URL."""
        needed = _NEEDED.get(self.backend())
        missing = [needed] if needed and not str(self.value(needed) or "").strip() else []
        scheme, colon, url = str(self.value(PROVIDER_SETTING)).partition(":")
        if scheme.strip() == "custom" and colon and not url.strip():
            missing.append(PROVIDER_SETTING)
        return tuple(missing)


@cache
def backend_defaults(backend: str) -> Mapping[str, Any]:
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
    with_defaults: bool = False,
) -> Answers:
    """The answers of `--memory`, `--set KEY=VALUE`, the environment and an answers file.

    DATABASE_URL is often another program's and is never taken unasked. Raises UsageError for what cannot be read, and
    BrokenConfig for a broken answers file.
    """
    flags, aliases = _flag_answers(memory, assignments)
    collected = {**(_file_answers(answers_file, situation.target) if answers_file else {}), **flags}
    answers = Answers(situation, with_defaults=with_defaults)
    # The backend first, because the environment and the aliases depend on it.
    for name, answer in sorted(collected.items(), key=lambda item: item[0] != BACKEND):
        try:
            answers = answers.with_given(name, answer)
        except UsageError as problem:
            if answer.source != "answers file":
                raise
            raise UsageError(f"In the {answer.origin}: {problem.message}", hint=problem.hint) from problem
    answers = answers.with_environment()
    for kind, alias in aliases:
        used = answers.alias(kind)
        # What is set for a table that nothing points to would have no effect.
        if situation.target.has_aliases and alias != used:
            raise UsageError(
                f"storage.{kind}.{shown(alias)} is not the table in use, which is storage.{kind}.{shown(used)}.",
                hint=f"Add --memory {kind}.{shown(alias)} to use it.",
            )
    return answers


def _file_answers(path: Path, target: Target) -> dict[str, Given]:
    """The answers of a file; a default of a setting that this ZeroClaw does not read is left out."""
    return {
        name: Given(value, "answers file", f"answers file {path}")
        for name, value in read_answers(path).items()
        if is_read(name, target) or environment_variable(name, target) or value != default_of(name, target)
    }


def _flag_answers(memory: str | None, assignments: tuple[str, ...]) -> tuple[dict[str, Given], list[tuple[str, str]]]:
    """The answers by setting, and the kinds and aliases that spellings such as `storage.postgres.work.db_url` name."""
    answers: dict[str, Given] = {}
    aliases: list[tuple[str, str]] = []
    if memory is not None:
        answers[BACKEND] = Given(parsed_value(BACKEND, memory), "flag", "--memory")
    for assignment in assignments:
        name, value = assigned(assignment)
        if answers.setdefault(name, Given(value, "flag", "--set")).value != value:
            raise UsageError(f"{name} is given twice with different values.", hint="Leave one of them out.")
        alias = alias_in(assignment.partition("=")[0])
        if alias is not None:
            aliases.append((name.split(".")[1], alias))
    return answers, aliases


def settings_in_environment(environ: Mapping[str, str], target: Target, kind: str, alias: str) -> dict[str, Given]:
    """What the environment says about memory and about the store of one backend; nothing about other stores.

    Raises UsageError for a value that cannot be read.
    """
    answers: dict[str, Given] = {}
    for name in SETTINGS:
        is_of_store = name.startswith(("memory.", f"storage.{kind}.")) and name != BACKEND
        if is_of_store and (is_read(name, target) or environment_variable(name, target)):
            variables = [variable_of(name, target, alias), *(OUR_DB_URLS if name == DB_URL else ())]
            variable = next((variable for variable in variables if variable and given(environ, variable)), None)
            value = _value_of(name, variable, environ, target) if variable else None
            if value is not None:
                answers[name] = Given(value, "environment", source_of(str(variable)))
    return answers


def _value_of(name: str, variable: str, environ: Mapping[str, str], target: Target) -> Any:
    """The value of a variable; None for one that ZeroClaw up to 0.7.5 ignores."""
    try:
        if target.is_modern or variable != SETTINGS[name].variable:
            return parsed_value(name, given(environ, variable), target.reading_version)
        value = value_of_variable(SETTINGS[name], environ, Notes())
        return None if value is None else checked_value(name, value, target.reading_version)
    except UsageError as problem:
        raise _unusable(variable, problem) from problem


def _unusable(variable: str, problem: UsageError) -> UsageError:
    return UsageError(
        f"The environment variable {variable} cannot be used: {problem.message}",
        hint=f"Fix the variable or unset it. {problem.hint}",
    )


def others_database(environ: Mapping[str, str], target: Target) -> str | None:
    """The PostgreSQL database that DATABASE_URL names, which is often another program's; None where it names none."""
    is_postgres = given(environ, OTHERS_DB_URL).startswith(("postgres://", "postgresql://"))
    return _value_of(DB_URL, OTHERS_DB_URL, environ, target) if is_postgres else None


def read_answers(path: Path) -> dict[str, Any]:
    """The settings of an answers file, which is shaped like a config.toml, by name. Raises BrokenConfig, UsageError."""
    try:
        document = None if path.is_dir() else read_toml(path)
    except BrokenConfig as error:
        # The hint for a config.toml, about its backups, does not fit this file.
        raise BrokenConfig(error.message, hint="Fix the answers file and run the command again.") from error
    if document is None:
        problem = f"{path} is a directory." if path.is_dir() else f"Answers file not found: {path}."
        raise UsageError(problem, hint="Pass a TOML file with a [memory] table, as in config.toml.")
    if not document.keys() & set(_SECTIONS):
        raise UsageError(
            f"{path} has no [memory] and no [storage] table.",
            hint="Write the settings below [memory], as in config.toml.",
        )
    return settings_in(document, str(path))


def settings_in(document: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The settings below [memory] and [storage] of a TOML document by name, each checked. Raises BrokenConfig and
    UsageError, with `where` in the sentence."""
    found: dict[str, Any] = {}
    for section in _SECTIONS:
        table = document.get(section, {})
        if not isinstance(table, dict):
            raise BrokenConfig(f"{where}: {section} is {kind_of(table)} and must be a table.", hint="Fix that line.")
        for written, value in _leaves(table, section):
            if is_left_out(written):
                continue
            try:
                name = setting_name(written)
                value = checked_value(name, value)
            except UsageError as problem:
                raise UsageError(f"{where}: {problem.message}", hint=problem.hint) from problem
            if found.setdefault(name, value) != value:
                raise UsageError(f"{where} sets {name} twice with different values.", hint="Leave one of them out.")
    return found


def _leaves(table: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    """Each key with its full path and its value."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{above}.{name}")
        else:
            yield f"{above}.{name}", value
