"""The answers and their sources: flags > answers file > current config > default."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.backends.factory import backend_info, known_backend
from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.config.schema import (
    BACKENDS_WITH_DEFAULTS,
    DAYS_BY_CATEGORY,
    SETTINGS,
    WITHOUT_POSTGRES,
    Target,
    default_values,
    kind_of,
    version_numbers,
)
from zeroclaw_tui.config.secrets import SecretUnreadable, decrypt
from zeroclaw_tui.config.setting_names import (
    BACKEND,
    DEFAULT_ALIAS,
    alias_in,
    check_setting,
    is_left_out,
    is_read,
    parse_assignment,
    parse_setting,
    setting_name,
    variable_of,
    written_value,
)
from zeroclaw_tui.config.storage import read_variable
from zeroclaw_tui.config.toml import read_toml
from zeroclaw_tui.memory.errors import BrokenConfig, UsageError
from zeroclaw_tui.onboard.situation import Situation

Source = Literal["flag", "answers file", "answered", "config", "default"]
AUTO_SAVE = "memory.auto_save"
VECTOR_WEIGHT = "memory.vector_weight"
KEYWORD_WEIGHT = "memory.keyword_weight"
PROVIDER_SETTING = "memory.embedding_provider"
DB_URL = "storage.postgres.db_url"
NEEDED = {"postgres": DB_URL, "qdrant": "storage.qdrant.url"}
"""The setting that a backend requires."""
PROFILE_SETTINGS = (
    AUTO_SAVE,
    "memory.hygiene_enabled",
    "memory.archive_after_days",
    "memory.purge_after_days",
    "memory.embedding_cache_size",
)
"""The settings that change to the values of the backend's defaults file when the backend changes."""
BACKEND_TITLES = {
    "sqlite": "SQLite",
    "lucid": "Lucid",
    "postgres": "PostgreSQL",
    "markdown": "Markdown",
    "qdrant": "Qdrant",
    "none": "None",
}
"""ZeroClaw's backends, in the order of its own list."""
_QDRANT_SINCE = (0, 1, 7)
_SECTIONS = ("memory", "storage")


@dataclass(frozen=True, slots=True)
class Answer:
    """One explicit answer. `origin` describes its source: "--set", "answers file x.toml"."""

    value: Any = field(repr=False)
    source: Source
    origin: str = ""


def shortens_retention(name: str, before: Any, after: Any) -> bool:
    """Whether a change deletes or archives earlier: hygiene enabled, or fewer days, where 0 means never."""
    if name == "memory.hygiene_enabled":
        return after is True and before is False
    if name.endswith(("_after_days", "_retention_days")) or name.startswith(DAYS_BY_CATEGORY):
        return bool(after) and (not before or after < before)
    return False


def known_backends(target: Target) -> tuple[str, ...]:
    """The kinds of backend in the target version of ZeroClaw."""
    version = None if target.version is None else version_numbers(target.version)
    missing = set()
    if version is not None and WITHOUT_POSTGRES[0] <= version <= WITHOUT_POSTGRES[1]:
        missing.add("postgres")
    if version is not None and version < _QDRANT_SINCE:
        missing.add("qdrant")
    return tuple(kind for kind in BACKEND_TITLES if kind not in missing)


def backend_answer(text: str, target: Target) -> str:
    """Normalise a name to a kind or `kind.alias`; postgresql and md are other names of postgres and markdown.

    Raises UsageError for an unknown name, for which ZeroClaw would silently use Markdown.
    """
    written, dot, alias = text.strip().partition(".")
    profile = backend_info(written)
    kind = profile.key if profile else written.strip().lower()
    known = known_backends(target)
    if kind not in known:
        raise UsageError(
            f"ZeroClaw does not know the backend {shown(kind) or '(nothing)'} and would silently use Markdown.",
            hint=f"Choose one of {', '.join(known)}.",
        )
    if not dot:
        return kind
    if not target.has_aliases or known_backend(kind).keeps_nothing or not re.fullmatch(r"[A-Za-z0-9_-]+", alias):
        raise UsageError(
            f"{kind}.{shown(alias)} is not a backend here. A name with a dot needs ZeroClaw 0.8.0 or later, a backend "
            "that stores something, and an alias of letters, digits, _ and -.",
            hint=f"Use {kind}.",
        )
    return f"{kind}.{alias}"


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers so far. `given` are the explicit ones; all others are the config's values or defaults.

    The value of `memory.backend` is a kind, or `kind.alias` as given.
    """

    situation: Situation = field(repr=False)
    given: Mapping[str, Answer] = field(default_factory=dict)
    is_basic: bool = False
    """Whether only the basic questions are asked."""
    with_defaults: bool = False
    """Whether all defaults of a changed backend are written to the file (`--defaults`)."""

    def backend(self) -> str:
        """The answered kind, else the one in use."""
        answer = self.given.get(BACKEND)
        return answer.value.partition(".")[0] if answer else self.situation.backend

    def alias(self, kind: str | None = None) -> str:
        """The alias of a kind of store: the answered one, else the one in use, else the only one, else "default"."""
        if not self.situation.target.has_aliases:
            return DEFAULT_ALIAS
        wanted = kind or self.backend()
        answer = self.given.get(BACKEND)
        answered, dot, alias = answer.value.partition(".") if answer else ("", "", "")
        if dot and answered == wanted:
            return alias
        in_use, dot, alias = (self.current(BACKEND) or ("" if answer else "sqlite")).partition(".")
        if in_use.strip().lower() == wanted == self.backend() == self.situation.backend:
            return alias or DEFAULT_ALIAS
        table = self.situation.document.get(("storage", wanted))
        aliases_and_tables = table.items() if isinstance(table, Mapping) else ()
        aliases = [str(name) for name, below in aliases_and_tables if name and isinstance(below, Mapping)]
        return aliases[0] if len(aliases) == 1 else DEFAULT_ALIAS

    def changes_backend(self) -> bool:
        """Whether the kind differs from the one in use, or is answered while there is no [memory] yet."""
        if self.backend() != self.situation.backend:
            return True
        is_due = BACKEND in self.given or self.situation.has_no_key
        return is_due and not self.situation.document.has(("memory",))

    def writes_defaults(self) -> bool:
        """Whether all defaults of the backend are written: the file has no key yet, or --defaults is given."""
        return self.changes_backend() and (self.with_defaults or self.situation.has_no_key)

    def current(self, name: str) -> Any:
        """The value in the file, decrypted if possible; None if there is none."""
        situation = self.situation
        alias = DEFAULT_ALIAS if name.startswith("memory.") else self.alias(name.split(".")[1])
        value = written_value(name, situation.document, situation.target, alias)
        # ZeroClaw <= 0.7.5 uses Qdrant's key literally, even with the prefix of an encrypted value.
        is_literal = name == "storage.qdrant.api_key" and not situation.target.is_modern
        if value is None or not SETTINGS[name].is_secret or is_literal:
            return value
        try:
            return decrypt(value, situation.config_dir)
        except SecretUnreadable:
            # Loading the config reports the error, and an unchanged value need not be decrypted.
            return value

    def value(self, name: str) -> Any:
        """The effective answer: given, else current, else the default; None for a setting without a default."""
        answer = self.given.get(name)
        return answer.value if answer else self.fallback(name)

    def source(self, name: str) -> Source:
        """The source of `value`."""
        answer = self.given.get(name)
        if answer:
            return answer.source
        current = self.current(name)
        return "config" if current is not None and (name == BACKEND or self.fallback(name) == current) else "default"

    def fallback(self, name: str) -> Any:
        """The value without an answer: the proposed one, unless that would shorten the retention."""
        current = self.current(name)
        if name == BACKEND:
            in_use = self.situation.backend
            return current if current and current.partition(".")[0].strip().lower() == in_use else in_use
        today = SETTINGS[name].default_for(self.situation.target) if current is None else current
        wished = self.default_for(name)
        is_switched_on = name == AUTO_SAVE and current is False
        return today if wished is None or is_switched_on or shortens_retention(name, today, wished) else wished

    def default_for(self, name: str) -> Any:
        """The default that replaces a setting without an answer; None if the setting stays unchanged."""
        if name in PROFILE_SETTINGS:
            return backend_defaults(self.backend()).get(name) if self.changes_backend() else None
        is_due = self.writes_defaults() and self.current(name) is None
        return backend_defaults(self.backend()).get(name) if is_due else None

    def with_given(self, name: str, given: Answer) -> Answers:
        """Add an answer to a copy. Raises UsageError for a value, a backend or a setting that is not allowed here."""
        target = self.situation.target
        if not is_read(name, target):
            setting = SETTINGS[name]
            variable = "" if target.is_modern else setting.variable
            instead = f"Set {variable} in ZeroClaw's environment instead." if variable else "Leave the setting out."
            raise UsageError(
                f"{name} has no effect here: ZeroClaw {target.reading_version} does not read it from config.toml.",
                hint=instead,
            )
        value = check_setting(name, given.value, target.reading_version)
        checked = replace(given, value=backend_answer(value, target) if name == BACKEND else value)
        return replace(self, given={**self.given, name: checked})

    def without(self, name: str) -> Answers:
        """Remove an answer from a copy."""
        return replace(self, given={key: answer for key, answer in self.given.items() if key != name})

    def in_effect(self, name: str) -> str:
        """The text of an answer; without one, the text of the variable or key that ZeroClaw uses now."""
        situation = self.situation
        variable = variable_of(name, situation.target, self.alias()) or ""
        value = str(self.value(name) or "").strip()
        fills = SETTINGS[name].variable_fills and not situation.target.is_modern
        return value if name in self.given or (fills and value) else read_variable(situation.environ, variable) or value

    def missing(self) -> tuple[str, ...]:
        """The setting that the backend requires, if neither config nor environment has a value."""
        needed = NEEDED.get(self.backend())
        return (needed,) if needed and not self.in_effect(needed) else ()


@cache
def backend_defaults(backend: str) -> Mapping[str, Any]:
    """The values of a backend's defaults file by setting; empty for a backend without one."""
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
    """Collect the answers of `--memory`, `--set KEY=VALUE` and an answers file.

    Raises UsageError for invalid answers, and BrokenConfig for a broken answers file.
    """
    flags, aliases = _flag_answers(memory, assignments)
    collected = {**(_file_answers(answers_file, situation.target) if answers_file else {}), **flags}
    answers = Answers(situation, with_defaults=with_defaults)
    for name, answer in collected.items():
        try:
            answers = answers.with_given(name, answer)
        except UsageError as problem:
            if answer.source == "answers file":
                problem.message = f"In the {answer.origin}: {problem.message}"
            raise
    for kind, alias in aliases:
        used = answers.alias(kind)
        # A setting in a table that is not in use would have no effect.
        if situation.target.has_aliases and alias != used:
            raise UsageError(
                f"storage.{kind}.{shown(alias)} is not the table in use, which is storage.{kind}.{shown(used)}.",
                hint=f"Add --memory {kind}.{shown(alias)} to use it.",
            )
    return answers


def _file_answers(path: Path, target: Target) -> dict[str, Answer]:
    """Read the answers of a file, except defaults of settings that the target version does not read."""
    return {
        name: Answer(value, "answers file", f"answers file {path}")
        for name, value in read_answers(path).items()
        if is_read(name, target) or value != SETTINGS[name].default_for(target)
    }


def _flag_answers(memory: str | None, assignments: tuple[str, ...]) -> tuple[dict[str, Answer], list[tuple[str, str]]]:
    """The answers by setting, and the kinds and aliases in spellings such as `storage.postgres.work.db_url`."""
    answers: dict[str, Answer] = {}
    aliases: list[tuple[str, str]] = []
    if memory is not None:
        answers[BACKEND] = Answer(parse_setting(BACKEND, memory), "flag", "--memory")
    for assignment in assignments:
        name, value = parse_assignment(assignment)
        if answers.setdefault(name, Answer(value, "flag", "--set")).value != value:
            raise UsageError(f"{name} is given twice with different values.", hint="Leave one of them out.")
        alias = alias_in(assignment.partition("=")[0])
        if alias is not None:
            aliases.append((name.split(".")[1], alias))
    return answers, aliases


def read_answers(path: Path) -> dict[str, Any]:
    """Read the settings of an answers file in the format of config.toml. Raises BrokenConfig, UsageError."""
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
    """Check the settings below [memory] and [storage] of a TOML document, and return them by name. Raises BrokenConfig
    and UsageError, with `where` in the message."""
    settings: dict[str, Any] = {}
    for section in _SECTIONS:
        table = document.get(section, {})
        if not isinstance(table, dict):
            raise BrokenConfig(f"{where}: {section} is {kind_of(table)} and must be a table.", hint="Fix that line.")
        for written, value in _leaves(table, section):
            if is_left_out(written):
                continue
            try:
                name = setting_name(written)
                value = check_setting(name, value)
            except UsageError as problem:
                raise UsageError(f"{where}: {problem.message}", hint=problem.hint) from problem
            if settings.setdefault(name, value) != value:
                raise UsageError(f"{where} sets {name} twice with different values.", hint="Leave one of them out.")
    return settings


def _leaves(table: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    """Each key with its full path and its value."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{above}.{name}")
        else:
            yield f"{above}.{name}", value
