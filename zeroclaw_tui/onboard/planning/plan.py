"""From answers to the exact change of config.toml, with what has to be said about it. Nothing is written here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from zeroclaw_tui.config.document.document import ConfigDocument, KeyPath
from zeroclaw_tui.config.document.saving import save_config
from zeroclaw_tui.config.environment import OTHERS_DB_URL
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.config.secrets import make_key_file
from zeroclaw_tui.config.setting_names import SETTINGS, environment_lines, is_read
from zeroclaw_tui.config.validation import check_change
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.answers.from_environment import others_database
from zeroclaw_tui.onboard.planning.new_file import first_key, new_document
from zeroclaw_tui.onboard.planning.reasons import notes_of
from zeroclaw_tui.onboard.planning.sealing import seal_values
from zeroclaw_tui.onboard.planning.wanted import (
    PROVIDER,
    before_of,
    is_backend_asked,
    is_changed,
    path_of,
    provider_wanted,
    wanted_settings,
)

_NEEDS = {
    "storage.postgres.db_url": "a database URL",
    "storage.qdrant.url": "the URL of Qdrant",
    "memory.embedding_provider": "the URL of the embedding provider",
}
_EXAMPLES = {
    "storage.postgres.db_url": "postgres://user:password@host:5432/zeroclaw",
    "storage.qdrant.url": "http://localhost:6333",
    "memory.embedding_provider": "custom:https://host/v1",
}


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
    defaults file where the backend changes or is asked for without a [memory]; what this ZeroClaw does not start
    without where [memory] is touched; `storage.provider.config.provider` put right where it names another backend.

    A new file is the commented defaults file of the backend; it, and a file that holds no key, begins with
    `default_temperature = 0.7`, or with the `schema_version` where ZeroClaw 0.7.3 or later reads it. Raises WrongUse
    naming the flag for each missing answer and for what ZeroClaw's own validation would refuse, BrokenConfig for a
    wrong type in a key that would be edited, SecretUnreadable where a secret must be encrypted and the key file is
    missing beside encrypted values, or damaged.
    """
    _check_complete(answers)
    wanted = _all_wanted(answers)
    changes = tuple(_changes(answers, wanted))
    before = answers.situation.document
    exports = environment_lines(_for_exports(answers), answers.situation.target)
    names = frozenset(change.name for change in changes)
    notes = notes_of(answers, wanted, names)
    if not changes:
        return Plan(answers, before, before, (), notes, exports)
    sealing = seal_values(
        {change.path: change.after for change in changes},
        frozenset(change.path for change in changes if change.is_secret),
        answers.situation,
    )
    base, values = before, dict(sealing.values)
    if answers.situation.has_no_key:
        path, value = first_key(answers.situation.target)
        changes = (Change(path[0], path, None, value), *changes)
        values = {path: value, **values}
    if answers.situation.is_new:
        base = new_document(answers.backend(), answers.situation.target, sealing.values)
    after = base.with_values(values)
    touched = [".".join(change.path) for change in changes]
    check_change(before.values, after.values, touched, answers.situation.target.reading_version)
    return Plan(answers, before, after, changes, (*notes, *sealing.notes), exports, sealing.new_key)


def apply_plan(plan: Plan) -> str | None:
    """Write it: the key file if it needs one, then config.toml with its backup. The backup's name, None without one.

    Raises what config.document.saving raises; an existing key file is never touched.
    """
    situation = plan.answers.situation
    if plan.is_empty:
        return None
    if plan.new_key is not None:
        make_key_file(situation.config_dir, plan.new_key)
    backup = save_config(
        situation.config_file, situation.raw, plan.after.to_bytes(), situation.own_dir, datetime.now(UTC)
    )
    return None if backup is None else backup.name


def _check_complete(answers: Answers) -> None:
    """Raise WrongUse for what is missing; an address that nobody asks about may lie in ZeroClaw's own environment."""
    missing = answers.missing()
    if not is_backend_asked(answers):
        missing = tuple(name for name in missing if name.startswith("memory."))
    if not missing:
        return
    needs = " and ".join(_NEEDS.get(name, name) for name in missing)
    flags = " ".join(f"--set {name}={_EXAMPLES.get(name, 'VALUE')}" for name in missing)
    tables = " or ".join(f"--memory {answers.backend()}.{shown(alias)}" for alias in _other_aliases(answers, missing))
    raise WrongUse(
        f"The backend {answers.backend()} needs {needs}, and there is no default for that.",
        hint=f"Give it: {flags}" + (f", or name the one meant: {tables}" if tables else "") + _others(answers, missing),
        title="An answer is missing",
    )


def _others(answers: Answers, missing: tuple[str, ...]) -> str:
    """That another program's variable could be meant, which is nothing to take unasked."""
    if "storage.postgres.db_url" not in missing or others_database(answers.situation.environ) is None:
        return ""
    return f'. The database of {OTHERS_DB_URL} may be another program\'s; to take it: --set db_url="${OTHERS_DB_URL}"'


def _other_aliases(answers: Answers, missing: tuple[str, ...]) -> list[str]:
    """The other stores of this kind that the file has, where the one meant lacks its address."""
    if missing[0].startswith("memory.") or not answers.situation.target.has_aliases:
        return []
    return [alias for alias in answers.aliases(answers.backend()) if alias != answers.alias()]


def _all_wanted(answers: Answers) -> dict[str, Any]:
    """Everything that has to be in the file, in the order of the defaults files: who and where before the rest."""
    wanted = wanted_settings(answers)
    provider = provider_wanted(answers, wanted)
    if provider is not None:
        wanted[PROVIDER] = provider
    return {name: wanted[name] for name in sorted(wanted, key=_rank)}


def _rank(name: str) -> int:
    """Where a setting stands in its table; settings of one rank keep their order."""
    if not name.startswith("storage."):
        return 0
    return 1 if name == PROVIDER else 2 if name in _NEEDS else 3


def _changes(answers: Answers, wanted: Mapping[str, Any]) -> Iterator[Change]:
    for name, value in wanted.items():
        if is_changed(answers, name, value):
            is_secret = name in SETTINGS and SETTINGS[name].is_secret
            yield Change(name, path_of(answers, name), before_of(answers, name), value, is_secret)


def _for_exports(answers: Answers) -> dict[str, Any]:
    """The answers for the backend's store that its config.toml does not hold."""
    prefix = f"storage.{answers.backend()}."
    return {
        name: answers.value(name)
        for name in SETTINGS
        if name.startswith(prefix) and not is_read(name, answers.situation.target)
    }
