"""Tests of the answers; each reports one sentence without secrets."""

from __future__ import annotations

import asyncio
import copy
import os
import shutil
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from zeroclaw_tui.backends.factory import create_memory, known_backend, probe_server
from zeroclaw_tui.backends.health import StartCheck
from zeroclaw_tui.backends.program import run_program
from zeroclaw_tui.config.load import LOCAL, read_embedding, read_memory
from zeroclaw_tui.config.memory_config import EmbeddingConfig, MemoryConfig, Notes, migrate_to_schema_3, shown
from zeroclaw_tui.config.secrets import SecretUnreadable, decrypt
from zeroclaw_tui.config.storage import ConfigReader, apply_generic
from zeroclaw_tui.embeddings.base import ApiKeyError, InputRejectedError, WrongDimensionError, why_no_embedder
from zeroclaw_tui.embeddings.endpoint import create_embedder, is_loopback
from zeroclaw_tui.files.disk import is_folder, status_of
from zeroclaw_tui.memory.errors import (
    NOT_REACHABLE,
    REFUSED,
    WRONG_USE,
    DriverMissing,
    EmbeddingFailed,
    InspectorError,
    Refused,
)
from zeroclaw_tui.memory.text import one_line, with_tilde
from zeroclaw_tui.onboard.answers import DB_URL, PROVIDER_SETTING, Answers

Verdict = Literal["good", "bad", "not tested"]
SECONDS = 8.0
"""The time limit of a test."""
_SEARCH_BY_VECTOR = ("sqlite", "lucid", "qdrant")
_EMBEDDING_SETTINGS = frozenset(f"memory.embedding_{name}" for name in ("provider", "model", "dimensions", "api_key"))
_STORED_VECTORS = frozenset((PROVIDER_SETTING, "memory.embedding_dimensions"))
"""The settings that decide whether vectors fit a collection."""
_LUCID_BINARY = "storage.lucid.binary_path"
_QDRANT_URL, _QDRANT_KEY = "storage.qdrant.url", "storage.qdrant.api_key"
_AS_ZEROCLAW = "Run this as the user who runs ZeroClaw, or fix the permissions."
_POSTGRES_SETTINGS = ("schema", "table", "connect_timeout_secs")
_NO_VECTORS = "ZeroClaw cannot store anything in Qdrant without an embedding provider"
_FALL_BACK = "Without lucid, ZeroClaw uses only its own SQLite database."
_SENT_TEXT = "Who prefers tea?"
_KEYS = ("embedding_provider", "embedding_model", "embedding_dimensions")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of testing one subject. Its sentences are safe to show."""

    subject: str
    """The kind of backend, or "embedding"."""
    verdict: Verdict
    sentence: str
    facts: tuple[str, ...] = ()
    hint: str = ""
    exit_code: int = NOT_REACHABLE
    corrections: Mapping[str, Any] = field(default_factory=dict)
    """Wrong settings, with the right values."""
    wrong: tuple[str, ...] = ()
    """The settings whose answers are the likely cause."""
    remedy: str = ""
    """What the user can do outside this program, if that helps: "Install the driver"."""


def subjects(answers: Answers, changed: Collection[str] | None = None) -> tuple[str, ...]:
    """List what to test: the backend, then "embedding" if the backend searches vectors and a provider is enabled.

    With `changed`, only the subjects that one of these settings affects.
    """
    backend = answers.backend()
    tested = [backend] if backend in _PROBES and _is_affected(backend, changed) else []
    provider = str(answers.value(PROVIDER_SETTING) or "").strip()
    is_on = provider not in ("", "none") and answers.value("memory.embedding_dimensions") != 0
    if is_on and backend in _SEARCH_BY_VECTOR and (changed is None or _EMBEDDING_SETTINGS & set(changed)):
        tested.append("embedding")
    return tuple(tested)


def _is_affected(backend: str, changed: Collection[str] | None) -> bool:
    if changed is None or "memory.backend" in changed:
        return True
    if backend == "qdrant" and _STORED_VECTORS & set(changed):
        return True
    return any(name.startswith(f"storage.{backend}.") for name in changed)


async def run_probe(subject: str, answers: Answers, *, seconds: float = SECONDS) -> Finding:
    """Test one subject; never writes, returns failures as findings, and ends soon after the time limit."""
    try:
        async with asyncio.timeout(seconds + 1):
            return await _PROBES[subject](answers, seconds)
    except SecretUnreadable as error:
        return Finding(subject, "not tested", f"{error.message} {error.hint}".strip())
    except InspectorError as error:
        return Finding(subject, "bad", error.message, hint=error.hint, exit_code=error.exit_code)
    except TimeoutError:
        return Finding(subject, "bad", f"There was no answer within {seconds:g} s.", hint="Try again later.")


def plain_answer(answers: Answers, name: str) -> str:
    """The trimmed and decrypted text of an answer, "" if there is none.

    Raises SecretUnreadable for a value that cannot be decrypted here.
    """
    text = answers.in_effect(name)
    if text.startswith("${"):
        raise SecretUnreadable(f"{name} is a placeholder for a variable.", hint="Test it where that variable is set.")
    return decrypt(text, answers.situation.config_dir).strip()


class _NotWritable(InspectorError):
    exit_code = NOT_REACHABLE


async def _probe_files(answers: Answers, seconds: float) -> Finding:
    """Check the database, or the folder of MEMORY.md and memory/, without writing or creating it."""
    from zeroclaw_tui.files.database import why_not_writable

    backend, install = answers.backend(), answers.situation.install
    if not known_backend(backend).has_database:
        _check_folder(install.root)
        return Finding(backend, "good", f"{one_line(with_tilde(str(install.root)))} can be written")
    database = install.database
    status = status_of(database)
    if status is None or status.st_size == 0:
        _check_folder(database.parent)
        return Finding(backend, "good", f"{one_line(with_tilde(str(database)))} will be created")
    memory = create_memory(MemoryConfig(install, backend="sqlite", read_only=True))
    try:
        await memory.open()
        because = why_not_writable(database)
        if because is not None:
            raise _NotWritable(because, hint=_AS_ZEROCLAW)
        if memory.about.not_opened_because is not None:
            raise _NotWritable(
                memory.about.not_opened_because,
                hint="Move it and MEMORY_SNAPSHOT.md to a safe place, or set memory.auto_hydrate = false.",
            )
    finally:
        await memory.close()
    return Finding(backend, "good", "the database can be written")


def _check_folder(folder: Path) -> None:
    """Raise _NotWritable unless this user can write to the folder, or create it."""
    place = next(place for place in (folder, *folder.parents) if status_of(place) is not None)
    if not is_folder(place):
        raise _NotWritable(f"{one_line(str(place))} is not a directory.", hint="Move the file elsewhere.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise _NotWritable(f"This user cannot write to {one_line(str(place))}.", hint=_AS_ZEROCLAW)


def _bad(subject: str, error: InspectorError, wrong: str = "", facts: tuple[str, ...] = ()) -> Finding:
    return Finding(subject, "bad", error.message, facts, error.hint, error.exit_code, wrong=(wrong,) if wrong else ())


async def _probe_postgres(answers: Answers, seconds: float) -> Finding:
    """Connect as ZeroClaw does and check the rights, without writing, creating or locking."""
    storage = {name: answers.value(f"storage.postgres.{name}") for name in _POSTGRES_SETTINGS}
    storage["db_url"] = plain_answer(answers, DB_URL)
    try:
        config = MemoryConfig(answers.situation.install, backend="postgres", storage=storage)
        check = await probe_server(config, seconds)
    except DriverMissing as error:
        return replace(_bad("postgres", error), remedy="Install the driver")
    except InspectorError as error:
        return _bad("postgres", error, DB_URL)
    return _of_server("postgres", check, DB_URL)


def _of_server(subject: str, found: StartCheck, setting: str, more: tuple[str, ...] = ()) -> Finding:
    """Convert the check of a server; `setting` is the answer to blame for a problem."""
    facts = (*found.facts, *more)
    if found.problem is None:
        return Finding(subject, "good", found.summary, facts)
    finding = _bad(subject, found.problem, setting, (found.summary, *facts))
    return replace(finding, corrections=found.corrections)


async def _probe_qdrant(answers: Answers, seconds: float) -> Finding:
    """Check the collection of the answers with GET requests. Raises UsageError for an invalid URL or key."""
    url = plain_answer(answers, _QDRANT_URL)
    # ZeroClaw up to 0.7.5 sends the key literally, even with the prefix of an encrypted value.
    is_modern = answers.situation.target.is_modern
    key = plain_answer(answers, _QDRANT_KEY) if is_modern else answers.in_effect(_QDRANT_KEY)
    config, _ = effective_embedding(answers)
    has_vectors = config.is_on and create_embedder(config) is not None and config.provider != LOCAL
    facts = (*_open_key_facts(url, key), *(() if has_vectors else (_NO_VECTORS,)))
    try:
        store = MemoryConfig(
            answers.situation.install,
            backend="qdrant",
            storage={"url": url, "api_key": key, "collection": answers.value("storage.qdrant.collection")},
            embedding=config if has_vectors else EmbeddingConfig(),
            read_only=True,
        )
        check = await probe_server(store, seconds)
    except InspectorError as error:
        return _bad("qdrant", error, _QDRANT_KEY if isinstance(error, Refused) else _QDRANT_URL, facts)
    return _of_server("qdrant", check, "storage.qdrant.collection", facts)


async def _probe_lucid(answers: Answers, seconds: float) -> Finding:
    """Run `lucid version`."""
    command = answers.in_effect(_LUCID_BINARY) or "lucid"
    program = shutil.which(command, path=answers.situation.environ.get("PATH", os.defpath))
    if program is None:
        how = _LUCID_BINARY if answers.situation.target.is_modern else "ZEROCLAW_LUCID_CMD"
        sentence = f"{shown(command)} was not found, or cannot be run by this user."
        hint = f"Install lucid-memory, or set its path with {how}."
        finding = Finding("lucid", "bad", sentence, (_FALL_BACK,), hint, remedy="Install Lucid")
        return replace(finding, wrong=(_LUCID_BINARY,), remedy="") if "/" in command else finding
    try:
        output = await run_program(program, ["version"], round(seconds * 1000))
    except InspectorError as failure:
        hint = f"Run `{shown(command)} version` in a terminal to see why."
        return Finding("lucid", "bad", f"{failure.message.rstrip('.')}.", (_FALL_BACK,), hint)
    version = shown(output.strip().partition("\n")[0])
    return Finding("lucid", "good", f"{shown(command)} answers: {version}")


async def _probe_embedding(answers: Answers, seconds: float) -> Finding:
    """Embed one short text, with the API key that ZeroClaw would send."""
    config, is_routed = effective_embedding(answers)
    if config.provider == LOCAL:
        sentence = "The embedding provider local exists only in this program; ZeroClaw treats it as none."
        return Finding("embedding", "not tested", sentence)
    because = why_no_embedder(config)
    if because is not None:
        return Finding("embedding", "bad", because, exit_code=WRONG_USE, wrong=(PROVIDER_SETTING,))
    from zeroclaw_tui.embeddings.endpoint import PROBE, OpenAIEmbedder

    embedder = OpenAIEmbedder(config, PROBE, seconds=seconds)
    facts = _open_key_facts(embedder.url, config.api_key)
    # The URL of a hosted provider is not an answer, so another answer cannot fix it.
    wrong = PROVIDER_SETTING if config.provider.startswith("custom:") and not is_routed else ""
    try:
        vector = await embedder.embed(_SENT_TEXT)
    except WrongDimensionError as error:
        finding = replace(_bad("embedding", error, facts=facts), exit_code=WRONG_USE)
        if is_routed:
            hint = f"Set dimensions of the embedding route to {error.found}, or choose another model."
            return replace(finding, hint=hint)
        return replace(finding, corrections={"memory.embedding_dimensions": error.found} if error.found else {})
    except ApiKeyError as error:
        return replace(_bad("embedding", error, "memory.embedding_api_key", facts), exit_code=REFUSED)
    except EmbeddingFailed as error:
        wrong = "memory.embedding_model" if isinstance(error, InputRejectedError) else wrong
        return replace(_bad("embedding", error, wrong, facts), exit_code=NOT_REACHABLE)
    finally:
        await embedder.close()
    return Finding("embedding", "good", f"answers with {len(vector):,} dimensions", facts)


def effective_embedding(answers: Answers) -> tuple[EmbeddingConfig, bool]:
    """The embedding settings that ZeroClaw would use with these answers, and whether an embedding route selects them.

    Raises SecretUnreadable if a required key cannot be decrypted here.
    """
    situation = answers.situation
    target, notes = situation.target, Notes()
    document: dict[str, Any] = copy.deepcopy(dict(situation.document.values))
    if target.is_modern:
        document = migrate_to_schema_3(document, target, notes)
    document = apply_generic(document, situation.environ, target, notes)
    memory = notes.table(document, "memory")
    memory |= {name: answers.value(f"memory.{name}") for name in _KEYS}
    memory = {name: value for name, value in memory.items() if value is not None}
    if target.is_modern and "memory.embedding_api_key" in answers.given:
        memory["embedding_api_key"] = plain_answer(answers, "memory.embedding_api_key")
    document["memory"] = memory

    def read_secret(value: str, name: str) -> str:
        return decrypt(value, situation.config_dir)

    reader = ConfigReader(document, situation.environ, target, notes, read_secret)
    config = read_embedding(reader, read_memory(document, target, notes))
    return config, "embedding_routes" in notes.sources.get(PROVIDER_SETTING, "")


def _open_key_facts(url: str, key: str | None) -> tuple[str, ...]:
    """A sentence if an API key is sent without encryption."""
    parts = urlsplit(url)
    if not key or parts.scheme != "http" or is_loopback(parts.hostname or ""):
        return ()
    return (f"the API key is sent to {shown(parts.hostname or '')} over plain HTTP, without encryption",)


_PROBES: Mapping[str, Callable[[Answers, float], Awaitable[Finding]]] = {
    "sqlite": _probe_files,
    "markdown": _probe_files,
    "postgres": _probe_postgres,
    "qdrant": _probe_qdrant,
    "lucid": _probe_lucid,
    "embedding": _probe_embedding,
}
