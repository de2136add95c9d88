"""The answers and their sources: flags > environment > answers file > current config > default."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from zeroclaw_tui.backends.factory import BACKENDS, backend_info, keeps_nothing
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
from zeroclaw_tui.config.storage import (
    OTHERS_DB_URL,
    OUR_DB_URLS,
    given,
    source_of,
    value_of_variable,
)
from zeroclaw_tui.memory.errors import BrokenConfig, UsageError
from zeroclaw_tui.onboard.situation import Situation

Source = Literal["flag", "environment", "answers file", "answered", "config", "default"]
PROFILE_SETTINGS = (
    "memory.auto_save",
    "memory.hygiene_enabled",
    "memory.archive_after_days",
    "memory.purge_after_days",
    "memory.embedding_cache_size",
)
"""The five that follow a backend's profile when the backend changes."""
_DAYS = ("memory.archive_after_days", "memory.purge_after_days")
BACKEND_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "sqlite": "SQLite",
        "lucid": "Lucid",
        "postgres": "PostgreSQL",
        "markdown": "Markdown",
        "qdrant": "Qdrant",
        "none": "None",
    }
)
"""What ZeroClaw knows, in the order of its own list, as it is called."""
_QDRANT_SINCE = (0, 1, 7)
_LIKENESS_OF_A_SLIP = 0.6
VECTOR_WEIGHT = "memory.vector_weight"
KEYWORD_WEIGHT = "memory.keyword_weight"
DB_URL = "storage.postgres.db_url"
_EMBEDDING_PROVIDER = "memory.embedding_provider"
AUTO_SAVE = "memory.auto_save"
_NEEDED = {"postgres": DB_URL, "qdrant": "storage.qdrant.url"}
_SECTIONS = ("memory", "storage")


@dataclass(frozen=True, slots=True)
class Given:
    """One answer somebody gave. `origin` says in words where from ("--set", "environment ZEROCLAW_DB_URL", …)."""

    value: Any = field(repr=False)
    source: Source
    origin: str = ""


def is_tightened(name: str, before: Any, after: Any) -> bool:
    """True when a change deletes or archives sooner: hygiene switched on, or days made fewer, where 0 is never."""
    if name == "memory.hygiene_enabled":
        return after is True and before is False
    if name in _DAYS or name.endswith("_retention_days") or name.startswith(DAYS_BY_CATEGORY):
        return bool(after) and (not before or after < before)
    return False


def check_weights(vector: float, keyword: float, hint: str) -> None:
    """Raise UsageError where neither likeness of meaning nor shared words would count."""
    if vector == 0 and keyword == 0:
        raise UsageError("Both weights are 0, so every hybrid score would be 0.", hint=hint)


def known_backends(target: Target) -> tuple[str, ...]:
    """The kinds that may be written: all of ZeroClaw's, but for those that a known version lacks (postgres from 0.6.3
    to 0.7.3, qdrant before 0.1.7)."""
    return tuple(kind for kind in BACKEND_TITLES if _is_known_backend(kind, target))


def _is_known_backend(kind: str, target: Target) -> bool:
    if target.version is None:
        return True
    version = version_numbers(target.version)
    if kind == "postgres":
        return not POSTGRES_AWAY[0] <= version <= POSTGRES_AWAY[1]
    return kind != "qdrant" or version >= _QDRANT_SINCE


def backend_answer(text: str, target: Target) -> str:
    """The kind, or `kind.alias`, that a name stands for; postgresql and md are other names of postgres and markdown.

    Raises UsageError for what this ZeroClaw would silently take for Markdown: an unknown or misspelt name, a store of
    ours that it does not know, a name with a dot where the config is in the form up to 0.7.5.
    """
    written, dot, alias = text.strip().partition(".")
    profile = backend_info(written)
    kind = profile.key if profile else written.strip().lower()
    if kind not in BACKEND_TITLES:
        raise _unknown(kind, target)
    if kind not in known_backends(target):
        raise UsageError(
            f"ZeroClaw {shown(target.version or '')} does not know the backend {kind} and would silently use Markdown.",
            hint=_choices(target),
        )
    if not dot:
        return kind
    _check_backend_alias(kind, alias, target)
    return f"{kind}.{alias}"


def _check_backend_alias(kind: str, alias: str, target: Target) -> None:
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


def _unknown(kind: str, target: Target) -> UsageError:
    near = difflib.get_close_matches(kind, known_backends(target), n=1, cutoff=_LIKENESS_OF_A_SLIP)
    if any(profile.key == kind and profile.in_zeroclaw for profile in BACKENDS):
        why = f"Only a few old versions of ZeroClaw know the backend {kind}. Yours would silently use Markdown."
    elif near and all(profile.key != kind for profile in BACKENDS):
        why = f"ZeroClaw does not know the backend {shown(kind)}. Did you mean {near[0]}?"
    else:
        why = f"ZeroClaw does not know the backend {shown(kind) or '(nothing)'} and would silently use Markdown."
    return UsageError(why, hint=_choices(target))


def _choices(target: Target) -> str:
    return f"Choose one of {', '.join(known_backends(target))}."


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers so far, immutable. Only `given` is explicit; everything else is the config's value or a default.

    Names are those of config.setting_names; the value of `memory.backend` is a kind, or `kind.alias` as given.
    """

    situation: Situation = field(repr=False)
    given: Mapping[str, Given] = field(default_factory=dict)
    is_basic: bool = False
    """True where a person wants to be asked only what nobody else can know."""
    with_defaults: bool = False
    """True where a changed backend brings all of its defaults into the file (`--defaults`)."""

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
        is_due = self.is_asked(BACKEND) or self.situation.has_no_key
        return is_due and not self.situation.document.has(("memory",))

    def writes_defaults(self) -> bool:
        """Whether all defaults of the backend are written: the file has no key yet, or --defaults asks for them."""
        return self.changes_backend() and (self.with_defaults or self.situation.has_no_key)

    def is_asked(self, name: str) -> bool:
        """True when somebody answered this, and not the environment alone."""
        answer = self.given.get(name)
        return answer is not None and answer.source != "environment"

    def current(self, name: str) -> Any:
        """What the file says, secrets as plain text where they can be read (else as they are); None when nothing."""
        situation = self.situation
        alias = DEFAULT_ALIAS if name.startswith("memory.") else self.alias(name.split(".")[1])
        value = written_value(name, situation.document, situation.target, alias)
        if value is None or not SETTINGS[name].is_secret or self._is_literal(name):
            return value
        try:
            return reveal(value, situation.config_dir)
        except SecretUnreadable:
            # Loading the config reports it; keeping it needs no plain text.
            return value

    def _is_literal(self, name: str) -> bool:
        """ZeroClaw <= 0.7.5 takes Qdrant's key as it is, whatever it begins with."""
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
        current value: the default of the backend's file when all defaults are written, else ZeroClaw's own default."""
        current = self.current(name)
        if name == BACKEND:
            in_use = self.situation.backend
            return current if current and current.partition(".")[0].strip().lower() == in_use else in_use
        today = default_of(name, self.situation.target) if current is None else current
        wished = self.proposed(name)
        if wished is None:
            return today
        is_switched_on = name == AUTO_SAVE and current is False
        return today if is_switched_on or is_tightened(name, today, wished) else wished

    def proposed(self, name: str) -> Any:
        """What the defaults would put instead of a setting that nobody answers, before retention is guarded; None
        where they leave it as it is, as they leave the profile's five while the backend stays."""
        if name in PROFILE_SETTINGS:
            profile = backend_info(self.backend()) if self.changes_backend() else None
            key = "uses_hygiene" if name == "memory.hygiene_enabled" else name.removeprefix("memory.")
            return None if profile is None else getattr(profile, key)
        is_due = self.writes_defaults() and self.current(name) is None
        return backend_defaults(self.backend()).get(name) if is_due else None

    def with_given(self, name: str, given: Given) -> Answers:
        """A copy with one more answer. Raises UsageError for a backend this ZeroClaw does not know, or a setting that
        neither its config.toml nor its environment reads."""
        own = {other: answer for other, answer in self.given.items() if answer.source != "environment"}
        own[setting_name(name)] = self._checked(setting_name(name), given)
        return replace(self, given=own).with_environment()

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

    def without(self, name: str) -> Answers:
        """A copy in which nobody answered this by hand."""
        own = {
            other: answer for other, answer in self.given.items() if other != name and answer.source != "environment"
        }
        return replace(self, given=own).with_environment()

    def with_environment(self) -> Answers:
        """A copy with what the environment says of this backend, above the answers file and below everything else.

        Raises UsageError for a backend this ZeroClaw does not know, or a value that cannot be read.
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
        except UsageError as problem:
            variable = backend.origin.removeprefix("environment ")
            raise UsageError(
                f"The environment variable {variable} cannot be used: {problem.message}",
                hint=f"Fix the variable or unset it. {problem.hint}",
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
        scheme, colon, url = str(self.value(_EMBEDDING_PROVIDER)).partition(":")
        if scheme.strip() == "custom" and not url.strip() and colon:
            missing.append(_EMBEDDING_PROVIDER)
        return tuple(missing)


def _is_blank(value: object) -> bool:
    return value is None or not str(value).strip()


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
    """Answers from `--memory`, `--set key=value` (either generation's spelling), the environment and an answers file.

    From the environment: ZEROCLAW_STORAGE_PROVIDER, _DB_URL, _CONNECT_TIMEOUT_SECS (<= 0.7.5), ZEROCLAW_POSTGRES_URL,
    ZEROCLAW_DB_URL, QDRANT_URL, QDRANT_COLLECTION, QDRANT_API_KEY, ZEROCLAW_LUCID_*, and ZEROCLAW_memory__… and
    ZEROCLAW_storage__…. DATABASE_URL is often another program's and is never taken unasked. Only those of the backend's
    own store count. A setting of an answers file that this ZeroClaw
    does not read is left out where it has ZeroClaw's own default. Raises UsageError (exit 2) for what cannot be read,
    BrokenConfig for a broken answers file.
    """
    flags, aliases = flag_answers(memory, assignments)
    from_file = _file_answers(answers_file, situation) if answers_file else {}
    answers = Answers(situation, with_defaults=with_defaults)
    # The backend first, for the environment and the aliases go by it.
    for name, answer in sorted({**from_file, **flags}.items(), key=lambda item: item[0] != BACKEND):
        answers = _with_answer(answers, name, answer)
    answers = answers.with_environment()
    for kind, alias in aliases.items():
        _check_alias_in_use(answers, kind, alias)
    return answers


def _file_answers(path: Path, situation: Situation) -> dict[str, Given]:
    target = situation.target
    return {
        name: Given(value, "answers file", f"answers file {path}")
        for name, value in read_answers(path).items()
        if is_read(name, target) or environment_variable(name, target) or value != default_of(name, target)
    }


def _with_answer(answers: Answers, name: str, answer: Given) -> Answers:
    try:
        return answers.with_given(name, answer)
    except UsageError as problem:
        if answer.source != "answers file":
            raise
        raise UsageError(f"In the {answer.origin}: {problem.message}", hint=problem.hint) from problem


def _check_alias_in_use(answers: Answers, kind: str, alias: str) -> None:
    """What is set for a table that nothing points to would have no effect."""
    used = answers.alias(kind)
    if answers.situation.target.has_aliases and alias != used:
        raise UsageError(
            f"storage.{kind}.{shown(alias)} is not the table in use, which is storage.{kind}.{shown(used)}.",
            hint=f"Add --memory {kind}.{shown(alias)} to use it.",
        )


def flag_answers(memory: str | None, assignments: tuple[str, ...]) -> tuple[dict[str, Given], dict[str, str]]:
    """The answers by setting, and the alias that a spelling such as `storage.postgres.work.db_url` names, by kind.

    Raises UsageError for a text without `=`, a setting nobody knows, a value that does not fit, or two that differ.
    """
    answers: dict[str, Given] = {}
    aliases: dict[str, str] = {}
    if memory is not None:
        _add(answers, "memory.backend", Given(parsed_value("memory.backend", memory), "flag", "--memory"))
    for assignment in assignments:
        name, value = assigned(assignment)
        _add(answers, name, Given(value, "flag", "--set"))
        alias = alias_in(assignment.partition("=")[0])
        kind = name.split(".")[1]
        if alias is not None and aliases.setdefault(kind, alias) != alias:
            raise UsageError(
                f"--set names two tables of storage.{kind}, {shown(aliases[kind])} and {shown(alias)}.",
                hint="Set one of them at a time.",
            )
    return answers, aliases


def _add(answers: dict[str, Given], name: str, answer: Given) -> None:
    before = answers.setdefault(name, answer)
    if before.value != answer.value:
        raise UsageError(f"{name} is given twice with different values.", hint="Leave one of them out.")


def backend_in_environment(environ: Mapping[str, str], target: Target) -> Given | None:
    """The backend that the variable of this generation names, not yet checked; None when it is not set."""
    variable = variable_of(BACKEND, target)
    text = given(environ, variable) if variable else ""
    return Given(text, "environment", source_of(str(variable))) if text else None


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
    """The value of a variable; None for one that ZeroClaw up to 0.7.5 leaves out."""
    try:
        if target.is_modern or variable != SETTINGS[name].variable:
            return parsed_value(name, given(environ, variable), target.reading_version)
        value = value_of_variable(SETTINGS[name], environ, Notes())
        return None if value is None else checked_value(name, value, target.reading_version)
    except UsageError as problem:
        raise UsageError(
            f"The environment variable {variable} cannot be used: {problem.message}",
            hint="Fix the variable or unset it.",
        ) from problem


def others_database(environ: Mapping[str, str], target: Target) -> str | None:
    """The database that DATABASE_URL names, which is often another program's; None unless it is PostgreSQL. Raises
    UsageError for bytes that are no text."""
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
    """The settings below [memory] and [storage] of a TOML document by name, each checked; `where` is named when one
    cannot be read. Raises BrokenConfig and UsageError."""
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
