"""Tests of the answers: each reports one sentence and never a secret."""

from __future__ import annotations

import asyncio
import copy
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from zeroclaw_tui.backends.dns import has_address
from zeroclaw_tui.backends.drivers import install_command
from zeroclaw_tui.backends.factory import create_memory, create_probe, has_database
from zeroclaw_tui.backends.health import StartCheck, StartProbe
from zeroclaw_tui.backends.program import run_program
from zeroclaw_tui.config.load import LOCAL, read_embedding, read_memory
from zeroclaw_tui.config.locations import Install, has_markdown
from zeroclaw_tui.config.memory_config import EmbeddingConfig, Form, MemoryConfig, Notes, shown, to_third_schema
from zeroclaw_tui.config.secrets import SecretUnreadable, reveal
from zeroclaw_tui.config.storage import apply_generic
from zeroclaw_tui.embeddings.base import ApiKeyError, InputRejectedError, WrongDimensionError
from zeroclaw_tui.embeddings.endpoint import is_loopback
from zeroclaw_tui.embeddings.factory import create_embedder, why_no_embedder
from zeroclaw_tui.files.disk import is_folder, names_in, status_of
from zeroclaw_tui.memory.errors import (
    ASKED_READ_ONLY,
    NOT_REACHABLE,
    REFUSED,
    WRONG_USE,
    AccessDenied,
    DriverMissing,
    EmbeddingFailed,
    InspectorError,
    NotReachable,
    Refused,
)
from zeroclaw_tui.memory.text import counted, one_line
from zeroclaw_tui.onboard.answers import DB_URL, Answers
from zeroclaw_tui.scoring.profiles import SCHEMA_VERSIONS

Verdict = Literal["good", "bad", "not tested"]
SECONDS = 8.0
"""The longest a test may take."""
_SEARCH_BY_VECTOR = ("sqlite", "lucid", "qdrant")
_EMBEDDING_SETTINGS = frozenset(f"memory.embedding_{name}" for name in ("provider", "model", "dimensions", "api_key"))
_STORED_VECTORS = frozenset(("memory.embedding_provider", "memory.embedding_dimensions"))
"""What decides whether vectors fit into a collection."""
_PROVIDER = "memory.embedding_provider"
_LUCID_BINARY = "storage.lucid.binary_path"
_QDRANT_URL, _QDRANT_KEY = "storage.qdrant.url", "storage.qdrant.api_key"
_LITTLE_SPACE = 100 * 10**6
_AS_ZEROCLAW = "Run this as the user who runs ZeroClaw, or fix the permissions."
_POSTGRES_SETTINGS = ("schema", "table", "connect_timeout_secs")
_URL_SHAPE = "It should look like postgres://user:password@host:5432/database."
_NO_VECTORS = "ZeroClaw cannot store anything in Qdrant without an embedding provider"
_FALL_BACK = "Without lucid, ZeroClaw uses only its own SQLite database."
_SENT_TEXT = "Who prefers tea?"
_KEYS = ("embedding_provider", "embedding_model", "embedding_dimensions")


@dataclass(frozen=True, slots=True)
class Finding:
    """What the test of one subject found. Its sentences are safe to show."""

    subject: str
    """The kind of backend, or "embedding"."""
    verdict: Verdict
    sentence: str
    facts: tuple[str, ...] = ()
    hint: str = ""
    exit_code: int = NOT_REACHABLE
    corrections: Mapping[str, Any] = field(default_factory=dict)
    """Settings that were found to be wrong, with the right value."""
    wrong: tuple[str, ...] = ()
    """The settings whose answer is the likely cause."""
    remedy: str = ""
    """What the person can do outside this program, where that is what helps: "Install the driver"."""


def subjects(answers: Answers, changed: Collection[str] | None = None) -> tuple[str, ...]:
    """What to test for these answers: the backend, then "embedding" where it searches by vector and a provider is on.

    With `changed` only those that one of these settings concerns.
    """
    backend = answers.backend()
    found = [backend] if backend in _PROBES and _concerns(backend, changed) else []
    provider = str(answers.value("memory.embedding_provider") or "").strip()
    is_on = provider not in ("", "none") and answers.value("memory.embedding_dimensions") != 0
    if is_on and backend in _SEARCH_BY_VECTOR and (changed is None or _EMBEDDING_SETTINGS & set(changed)):
        found.append("embedding")
    return tuple(found)


def _concerns(backend: str, changed: Collection[str] | None) -> bool:
    if changed is None or "memory.backend" in changed:
        return True
    if backend == "qdrant" and _STORED_VECTORS & set(changed):
        return True
    return any(name.startswith(f"storage.{backend}.") for name in changed)


async def run_probe(subject: str, answers: Answers, *, seconds: float = SECONDS) -> Finding:
    """Test one subject; never writes anything, never raises for what it finds, ends within the limit."""
    try:
        return await _PROBES[subject](answers, seconds)
    except SecretUnreadable as error:
        return Finding(subject, "not tested", f"{error.message} {error.hint}".strip())
    except InspectorError as error:
        return Finding(subject, "bad", error.message, hint=error.hint, exit_code=error.exit_code)


class HostUnknown(InspectorError):
    """A name that no name server here knows."""

    title = "Host not found"
    exit_code = NOT_REACHABLE


def plain_answer(answers: Answers, name: str) -> str:
    """The trimmed text of an answer with its secret opened, "" where there is none.

    Raises SecretUnreadable for a value that is not the secret itself and cannot be opened here.
    """
    value = answers.value(name)
    text = value.strip() if isinstance(value, str) else ""
    if text.startswith("${"):
        raise SecretUnreadable(f"{name} is a placeholder for a variable.", hint="Test it where that variable is set.")
    return reveal(text, answers.situation.config_dir).strip()


class _NotWritable(InspectorError):
    exit_code = NOT_REACHABLE


async def _probe_files(answers: Answers, seconds: float) -> Finding:
    """The database and its folder, or the folder of MEMORY.md and memory/: looked at and opened for reading, never
    made."""
    backend, install = answers.backend(), answers.situation.install
    is_database = has_database(backend)
    try:
        async with asyncio.timeout(seconds):
            return await (_sqlite(install) if is_database else _markdown(install, _agent_folders(answers)))
    except TimeoutError:
        place = one_line(str(install.database if is_database else install.root))
        sentence = f"{place} could not be read within {seconds:g} s."
        return Finding(backend, "bad", sentence, hint="Check the disk, and whether another program locks the file.")


async def _sqlite(install: Install) -> Finding:
    from zeroclaw_tui.files.database import why_not_writable

    database = install.database
    status = status_of(database)
    if status is None or status.st_size == 0:
        _check_link(database)
        folder = _check_folder(database.parent)
        sentence = (
            f"{one_line(str(database))} will be created"
            if status is None
            else "the database is empty and can be filled"
        )
        return Finding("sqlite", "good", sentence, facts=(_free_space(folder),))
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
        count = await memory.count()
    finally:
        await memory.close()
    versions = SCHEMA_VERSIONS[memory.about.generation or ""]
    facts = [f"holds {counted(count)}", f"tables of ZeroClaw {versions}", _free_space(database.parent)]
    if (because := memory.why_not.get("write")) not in (None, ASKED_READ_ONLY):
        facts.append(because)
    return Finding("sqlite", "good", "the database can be written", facts=tuple(facts))


def _agent_folders(answers: Answers) -> dict[str, Path]:
    """Where each agent keeps notes of its own (ZeroClaw >= 0.8.0), as far as it has begun to."""
    if not answers.situation.target.is_modern:
        return {}
    agents = answers.situation.config_dir / "agents"
    folders = {alias: agents / alias / "workspace" for alias in names_in(agents)}
    there = {alias: folder for alias, folder in folders.items() if is_folder(folder)}
    return {**there, **answers.situation.agent_folders}


async def _markdown(install: Install, agents: Mapping[str, Path]) -> Finding:
    root = install.root
    for own in agents.values():
        _check_folder(own)
    folder = _check_folder(root)
    if folder != root:
        return Finding("markdown", "good", f"{one_line(str(root))} will be created", facts=(_free_space(folder),))
    _check_folder(root / "memory")
    notes = root / "MEMORY.md"
    _check_link(notes)
    status = status_of(notes)
    if status is not None and not os.access(notes, os.W_OK):
        raise _NotWritable(f"This user cannot write {one_line(str(notes))}.", hint=_AS_ZEROCLAW)
    facts = [_free_space(root)]
    if has_markdown(root) or any(has_markdown(own) for own in agents.values()):
        memory = create_memory(_of_notes(install, agents))
        await memory.open()
        facts.insert(0, f"holds {counted(await memory.count())}")
        await memory.close()
    return Finding("markdown", "good", f"{one_line(str(root))} can be written", facts=tuple(facts))


def _of_notes(install: Install, agents: Mapping[str, Path]) -> MemoryConfig:
    """The notes of an install and of these agents, whatever layout they have so far."""
    return MemoryConfig(
        install._replace(layout="data"),
        backend="markdown",
        agents=dict.fromkeys(agents, ()),
        agent_workspaces={alias: str(folder.absolute()) for alias, folder in agents.items()},
        read_only=True,
    )


def _check_folder(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there. Raises _NotWritable or Unreadable."""
    for place in (folder, *folder.parents):
        _check_link(place)
        if status_of(place) is None:
            continue
        if not place.is_dir():
            raise _NotWritable(f"{one_line(str(place))} is not a directory.", hint="Move the file elsewhere.")
        if os.statvfs(place).f_flag & os.ST_RDONLY:
            raise _NotWritable(
                f"The file system of {one_line(str(place))} is mounted read-only.",
                hint="Mount it for writing, or choose another directory with --config-dir.",
            )
        if not os.access(place, os.W_OK | os.X_OK):
            what = "write to" if place == folder else "create directories in"
            raise _NotWritable(f"This user cannot {what} {one_line(str(place))}.", hint=_AS_ZEROCLAW)
        return place
    raise _NotWritable(f"Directory not found: {one_line(str(folder))}.", hint="Give an absolute path.")


def _check_link(path: Path) -> None:
    if status_of(path) is None and path.is_symlink():
        raise _NotWritable(
            f"{one_line(str(path))} is a link to {one_line(os.readlink(path))}, which does not exist.",
            hint="Create the target, or remove the link.",
        )


def _free_space(folder: Path) -> str:
    system = os.statvfs(folder)
    free = system.f_bavail * system.f_frsize
    if free < _LITTLE_SPACE:
        return f"only {free / 10**6:.0f} MB free on its disk"
    return f"{free / 10**9:,.1f} GB free on its disk"


def _bad(subject: str, error: InspectorError, wrong: str = "", facts: tuple[str, ...] = ()) -> Finding:
    return Finding(subject, "bad", error.message, facts, error.hint, error.exit_code, wrong=(wrong,) if wrong else ())


async def _probe_postgres(answers: Answers, seconds: float) -> Finding:
    """Connect as ZeroClaw does and look at the rights; nothing is ever written, made or locked."""
    url = plain_answer(answers, DB_URL)
    if not url:
        sentence = "The database URL is missing."
        return Finding("postgres", "bad", sentence, hint=_URL_SHAPE, exit_code=WRONG_USE, wrong=(DB_URL,))
    settings = {name: answers.value(f"storage.postgres.{name}") for name in _POSTGRES_SETTINGS}
    try:
        found = await postgres_probe(url, answers, settings).run(seconds)
    except DriverMissing:
        hint = f"Install it: `{install_command('postgres')}`"
        missing = Finding("postgres", "bad", "The PostgreSQL driver is not installed.", hint=hint, exit_code=REFUSED)
        return replace(missing, remedy="Install the driver")
    except AccessDenied as error:
        return replace(_bad("postgres", error, DB_URL), exit_code=REFUSED)
    except InspectorError as error:
        return _bad("postgres", error, DB_URL)
    return _of_server("postgres", found, DB_URL)


def postgres_probe(url: str, answers: Answers, settings: dict[str, Any] | None = None) -> StartProbe:
    """What tries the database of a URL. Raises UsageError for a URL or a name that cannot be."""
    config = MemoryConfig(answers.situation.install, backend="postgres", storage={"db_url": url, **(settings or {})})
    return create_probe(config)


def _of_server(subject: str, found: StartCheck, setting: str, more: tuple[str, ...] = ()) -> Finding:
    """`setting` is the answer that is wrong where the server finds a problem."""
    facts = (*found.facts, *more)
    if found.problem is None:
        return Finding(subject, "good", found.summary, facts)
    finding = _bad(subject, found.problem, setting, (found.summary, *facts))
    return replace(finding, corrections=found.corrections)


async def _probe_qdrant(answers: Answers, seconds: float) -> Finding:
    """Ask for the collection of the answers; only GET is sent. Raises UsageError for a bad URL or key."""
    url = plain_answer(answers, _QDRANT_URL)
    # ZeroClaw up to 0.7.5 sends the key literally, whatever it begins with.
    is_modern = answers.situation.target.is_modern
    key = plain_answer(answers, _QDRANT_KEY) if is_modern else str(answers.value(_QDRANT_KEY) or "").strip()
    config, _ = effective_embedding(answers)
    has_vectors = config.is_on and create_embedder(config)[0] is not None and config.provider != LOCAL
    probe = create_probe(
        MemoryConfig(
            answers.situation.install,
            backend="qdrant",
            storage={"url": url, "api_key": key, "collection": answers.value("storage.qdrant.collection")},
            embedding=config if has_vectors else EmbeddingConfig(),
            read_only=True,
        )
    )
    facts = (*_open_key_facts(url, key), *(() if has_vectors else (_NO_VECTORS,)))
    try:
        async with asyncio.timeout(seconds):
            await _check_host(url)
        found = await probe.run(seconds)
    except TimeoutError:
        late = f"{shown(urlsplit(url).hostname or '')} could not be looked up within {seconds:g} s."
        return Finding("qdrant", "bad", late, facts, "Check that DNS works here.", wrong=(_QDRANT_URL,))
    except InspectorError as error:
        return _bad("qdrant", error, _QDRANT_KEY if isinstance(error, Refused) else _QDRANT_URL, facts)
    return _of_server("qdrant", found, "storage.qdrant.collection", facts)


async def _probe_lucid(answers: Answers, seconds: float) -> Finding:
    """Run `lucid version`."""
    command = str(answers.value(_LUCID_BINARY) or "").strip() or "lucid"
    program = shutil.which(command, path=answers.situation.environ.get("PATH", os.defpath))
    if program is None:
        return _not_found(command, answers)
    began = time.perf_counter()
    try:
        output = await run_program(program, ["version"], round(seconds * 1000))
    except NotReachable as failure:
        hint = f"Run `{shown(command)} version` in a terminal to see why."
        return Finding("lucid", "bad", f"{failure.message.rstrip('.')}.", (_FALL_BACK,), hint)
    milliseconds = (time.perf_counter() - began) * 1000
    version = shown(output.strip().partition("\n")[0])
    answer = f"{shown(command)} answers in {milliseconds:.0f} ms{f': {version}' if version else ''}"
    return Finding("lucid", "good", answer, facts=(shown(program),))


def _not_found(command: str, answers: Answers) -> Finding:
    how = _LUCID_BINARY if answers.situation.target.is_modern else "ZEROCLAW_LUCID_CMD"
    hint = f"Install lucid-memory, or set its path with {how}."
    if "/" not in command:
        sentence = f"{shown(command)} was not found on your PATH."
        return Finding("lucid", "bad", sentence, (_FALL_BACK,), hint, remedy="Install Lucid")
    problem = "is a directory" if Path(command).is_dir() else "cannot be run by this user"
    sentence = f"{shown(command)} {problem}." if os.path.exists(command) else f"File not found: {shown(command)}."
    return Finding("lucid", "bad", sentence, (_FALL_BACK,), hint, wrong=(_LUCID_BINARY,))


async def _probe_embedding(answers: Answers, seconds: float) -> Finding:
    """Ask for the vector of one short text, with the key ZeroClaw would send."""
    config, is_routed = effective_embedding(answers)
    if config.provider == LOCAL:
        sentence = "The embedding provider local exists only in this program; ZeroClaw treats it as none."
        return Finding("embedding", "not tested", sentence)
    because = why_no_embedder(config)
    if because is not None:
        return Finding("embedding", "bad", because, exit_code=WRONG_USE, wrong=(_PROVIDER,))
    from zeroclaw_tui.embeddings.endpoint import PROBE, OpenAIEmbedder

    embedder = OpenAIEmbedder(config, PROBE, connect_seconds=seconds, total_seconds=seconds)
    facts = _open_key_facts(embedder.url, config.api_key)
    # The URL of a hosted provider is not the person's answer, so no other answer can repair it.
    wrong = _PROVIDER if config.provider.startswith("custom:") and not is_routed else ""
    try:
        async with asyncio.timeout(seconds):
            await _check_host(embedder.url)
            vector = await embedder.embed(_SENT_TEXT)
    except WrongDimensionError as error:
        finding = replace(_bad("embedding", error, facts=facts), exit_code=WRONG_USE)
        if is_routed:
            hint = f"Set dimensions of the embedding route to {error.found}, or choose another model."
            return replace(finding, hint=hint)
        return replace(finding, corrections={"memory.embedding_dimensions": error.found} if error.found else {})
    except HostUnknown as error:
        finding = _bad("embedding", error, wrong, facts)
        return finding if wrong else replace(finding, hint="Check your network connection, and that DNS works here.")
    except ApiKeyError as error:
        return replace(_bad("embedding", error, "memory.embedding_api_key", facts), exit_code=REFUSED)
    except EmbeddingFailed as error:
        wrong = "memory.embedding_model" if isinstance(error, InputRejectedError) else wrong
        return replace(_bad("embedding", error, wrong, facts), exit_code=NOT_REACHABLE)
    except TimeoutError:
        host = shown(urlsplit(embedder.url).hostname or "")
        late = f"The embedding endpoint on {host} did not answer within {seconds:g} s."
        return Finding("embedding", "bad", late, facts, "Try again later.", wrong=(wrong,) if wrong else ())
    finally:
        await embedder.close()
    return Finding("embedding", "good", f"answers with {len(vector):,} dimensions", facts)


def effective_embedding(answers: Answers) -> tuple[EmbeddingConfig, bool]:
    """What ZeroClaw would make vectors with if the answers were written, and whether an embedding route says so.

    Raises SecretUnreadable where a needed key cannot be decrypted here.
    """
    situation = answers.situation
    form, notes = Form(situation.target.schema, situation.target.is_modern), Notes()
    document: dict[str, Any] = copy.deepcopy(dict(situation.document.values))
    if form.is_modern:
        document = to_third_schema(document, form, notes)
    document = apply_generic(document, situation.environ, form, notes)
    memory = notes.table(document, "memory")
    memory |= {name: answers.value(f"memory.{name}") for name in _KEYS}
    memory = {name: value for name, value in memory.items() if value is not None}
    if form.is_modern and "memory.embedding_api_key" in answers.given:
        memory["embedding_api_key"] = plain_answer(answers, "memory.embedding_api_key")
    document["memory"] = memory

    def opened(value: str, name: str) -> str:
        return reveal(value, situation.config_dir)

    config = read_embedding(document, read_memory(document, form, notes), situation.environ, form, notes, opened)
    return config, "embedding_routes" in notes.sources.get("memory.embedding_provider", "")


def _open_key_facts(url: str, key: str | None) -> tuple[str, ...]:
    """That a key travels readable, where it does."""
    parts = urlsplit(url)
    if not key or parts.scheme != "http" or is_loopback(parts.hostname or ""):
        return ()
    return (f"the API key is sent to {shown(parts.hostname or '')} over plain HTTP, without encryption",)


async def _check_host(url: str) -> None:
    """Look the host up first, which a slow name server cannot stretch. Raises HostUnknown.

    Behind a proxy the proxy looks it up.
    """
    import urllib.request

    parts = urlsplit(url)
    host = parts.hostname or ""
    proxies = urllib.request.getproxies()
    if (parts.scheme in proxies or "all" in proxies) and not urllib.request.proxy_bypass(host):
        return
    if not await has_address(host):
        raise HostUnknown(f"Host not found: {shown(host)}.", hint="Check the spelling, and that DNS works here.")


_PROBES: Mapping[str, Callable[[Answers, float], Awaitable[Finding]]] = {
    "sqlite": _probe_files,
    "markdown": _probe_files,
    "postgres": _probe_postgres,
    "qdrant": _probe_qdrant,
    "lucid": _probe_lucid,
    "embedding": _probe_embedding,
}
