"""Where the wizard starts: which config it would write, which ZeroClaw reads it, and what memory is there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import (
    CONFIG_NAME,
    Install,
    command_at,
    data_install,
    database_of,
    expand,
    holds_anything,
    installs_meant,
    read_config,
    workspace_install,
    workspace_rule,
)
from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA, MemoryConfig, Notes, agent_folders, form_of
from zeroclaw_tui.config.real_binary import real_zeroclaw, zeroclaw_version
from zeroclaw_tui.config.save import list_backups
from zeroclaw_tui.config.schema import STORE_KINDS, kind_of
from zeroclaw_tui.config.secrets import KEY_FILE, WAYS_WITHOUT_KEY, encrypted_names_in, missing_key_words
from zeroclaw_tui.config.setting_names import Target
from zeroclaw_tui.config.storage import OTHERS_DB_URL, OUR_DB_URLS
from zeroclaw_tui.files.disk import exists, is_folder, names_in
from zeroclaw_tui.memory.errors import BrokenConfig, InspectorError, UsageError
from zeroclaw_tui.memory.query import EXCERPTS, NEWEST_STORED, MemoryFilter, Query
from zeroclaw_tui.memory.text import counted, mask_secrets
from zeroclaw_tui.scoring.profiles import SCHEMA_VERSIONS, parse_version

_ROWS_LOOKED_AT = 50


class Candidate(NamedTuple):
    """One place the wizard might write to: an install that is there, or the one that would be made."""

    install: Install
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Situation:
    """A config.toml and what is around it."""

    config_file: Path
    install: Install
    raw: bytes | None
    """The bytes of the file, None where there is none yet."""
    document: ConfigDocument
    target: Target
    binary: Path | None = None
    """The real zeroclaw on PATH."""
    backend: str = "sqlite"
    """The kind that counts today, overrides included."""
    found: tuple[str, ...] = ()
    """Facts in words: "data/memory/brain.db: 2,431 memories, tables of ZeroClaw 0.8.3 or later"."""
    warnings: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    has_vectors: bool = False
    """Whether the newest memories of a database here have vectors."""
    agent_folders: Mapping[str, Path] = field(default_factory=dict)
    """The existing folders of notes of the agents that the config has."""

    @property
    def config_dir(self) -> Path:
        """The folder of the config, where `.secret_key` is too."""
        return self.config_file.parent

    @property
    def own_dir(self) -> Path:
        """Where this program keeps its own files for it."""
        return self.install.own_dir

    @property
    def is_new(self) -> bool:
        """Whether there is no config.toml yet."""
        return self.raw is None

    @property
    def has_no_key(self) -> bool:
        """Whether there is no config.toml yet, or one of comments and blanks alone."""
        return not self.document.values


def candidates(
    environ: Mapping[str, str], home: Path, *, config_dir: Path | None = None, workspace: Path | None = None
) -> tuple[Candidate, ...]:
    """The places, the one that wins first, one for each config dir; never empty.

    Where nothing is there yet, it is the place ZeroClaw itself would use. Raises UsageError for a store without a
    config dir, and Unreadable.
    """
    if config_dir is None and workspace is not None:
        installs = [_of_workspace(workspace, environ, home)]
    else:
        installs = list(installs_meant(environ, home, config_dir=config_dir, workspace=workspace))
    first: dict[str, Install] = {}
    for install in [each for each in installs if holds_anything(each)] or installs[:1]:
        if install.config_dir is not None:
            first.setdefault(os.path.realpath(install.config_dir), install)
    return tuple(Candidate(install, _names_found(install)) for install in first.values())


def _of_workspace(workspace: Path, environ: Mapping[str, str], home: Path) -> Install:
    folder = expand(str(workspace), home)
    if not exists(folder) or (is_folder(folder) and not names_in(folder)):
        # Nothing is there yet: ZeroClaw itself would go by the name alone.
        return workspace_install(*workspace_rule(folder), "--workspace")
    install = installs_meant(environ, home, workspace=workspace)[0]
    if install.config_dir is None:
        raise UsageError(
            f"{folder} is a store without a config directory, and the wizard writes a config.toml.",
            hint="Pass the directory of its config.toml too: --config-dir DIR --workspace DIR.",
        )
    return install


class _Store(NamedTuple):
    """A folder with memory in it, and what is there in words; `database` is None where there is none."""

    root: Path
    database: Path | None
    database_name: str
    notes: str


def _stores(install: Install, more: Iterable[Path] = ()) -> list[_Store]:
    """Every folder of a config dir that has memory, the one in use first, and of `more`. Raises Unreadable."""
    config_dir = install.config_dir or install.root
    agents = config_dir / "agents"
    own = [agents / name / "workspace" for name in names_in(agents)] if install.layout == "data" else []
    folders = (install.root, config_dir / "data", config_dir / "workspace", config_dir, *own, *more)
    distinct: dict[str, Path] = {}
    for folder in folders:
        distinct.setdefault(os.path.realpath(folder), folder)
    found = []
    for root in distinct.values():
        name = root.relative_to(config_dir) if root.is_relative_to(config_dir) else root
        database = database_of(root)
        day_notes = sum(file.endswith(".md") for file in names_in(root / "memory"))
        parts = ["MEMORY.md"] if exists(root / "MEMORY.md") else []
        parts += [f"{counted(day_notes, 'Markdown file')} in memory/"] if day_notes else []
        where = "the config directory" if root == config_dir else str(name)
        notes = f"{where}: {' and '.join(parts)}" if parts else ""
        has_database = exists(database)
        if has_database or notes:
            database_name = str(name / database.relative_to(root)) if has_database else ""
            found.append(_Store(root, database if has_database else None, database_name, notes))
    return found


def _names_found(install: Install) -> tuple[str, ...]:
    """What is in a config dir, one fact each, without opening anything."""
    config = install.config_file
    facts = [CONFIG_NAME] if config is not None and exists(config) else []
    for store in _stores(install):
        facts += filter(None, (store.database_name, store.notes))
    return tuple(facts)


async def situation_at(candidate: Candidate, environ: Mapping[str, str]) -> Situation:
    """Read the config and look at what is there; never writes. The version is asked of the real binary.

    Raises BrokenConfig for a config that the wizard must not touch, because it cannot be read or is of an unknown form.
    """
    install = candidate.install
    config_file = install.config_file
    if config_file is None:
        raise UsageError(f"{install.root} has no config directory.", hint="Pass one: --config-dir DIR.")
    raw = read_config(config_file)
    try:
        document = ConfigDocument() if raw is None else ConfigDocument.from_bytes(raw, config_file)
        _check_outline(document, config_file)
    except BrokenConfig as problem:
        if list_backups(install.own_dir):
            command = command_at(install, environ, "zeroclaw onboard", "--restore")
            problem.hint += f" `{command}` restores an earlier version."
        raise
    binary = real_zeroclaw(environ)
    version = await asyncio.to_thread(zeroclaw_version, binary) if binary is not None else None
    target = _target_of(document, install, version)
    read = _as_read(install, target)
    if not is_folder(install.root):
        install = read
    config = load_config(read, _without_ours(environ), version=version, values=document.values)
    folders = agent_folders(config)
    found, has_vectors = await _look_at_stores(install, folders.values())
    return Situation(
        config_file=config_file,
        install=install,
        raw=raw,
        document=document,
        target=target,
        binary=binary,
        backend=config.zeroclaw_backend,
        found=found,
        warnings=_warnings(config, document, config_file.parent),
        environ=environ,
        has_vectors=has_vectors,
        agent_folders=folders,
    )


def warnings_then(situation: Situation, document: ConfigDocument) -> tuple[str, ...]:
    """The warnings of loading the config with this document instead."""
    install, environ = _as_read(situation.install, situation.target), _without_ours(situation.environ)
    config = load_config(install, environ, version=situation.target.version, values=document.values)
    return _warnings(config, document, situation.config_dir)


def _warnings(config: MemoryConfig, document: ConfigDocument, config_dir: Path) -> tuple[str, ...]:
    warnings = tuple(map(mask_secrets, config.warnings))
    names = encrypted_names_in(document.values)
    if not names or os.path.lexists(config_dir / KEY_FILE):
        return warnings
    return (f"{missing_key_words(config_dir, names)} {WAYS_WITHOUT_KEY}", *warnings)


def _check_outline(document: ConfigDocument, config_file: Path) -> None:
    """Raise BrokenConfig where a config is of a shape that no ZeroClaw known here reads."""
    schema = document.get(("schema_version",), 1)
    is_number = isinstance(schema, int) and not isinstance(schema, bool)
    if not is_number or schema < 1:
        raise BrokenConfig(
            f"{config_file}: schema_version is {schema if is_number else kind_of(schema)} and must be a whole number "
            "from 1.",
            hint=f"ZeroClaw writes 2 or {NEWEST_SCHEMA}. Fix that line first.",
        )
    if schema > NEWEST_SCHEMA:
        raise BrokenConfig(
            f"{config_file}: schema_version {schema} is newer than this program knows ({NEWEST_SCHEMA}).",
            hint="A newer release of this program may know it. The file was not changed.",
        )
    for name in ("memory", "storage"):
        value = document.get((name,), {})
        if not isinstance(value, Mapping):
            raise BrokenConfig(
                f"{config_file}: {name} is {kind_of(value)} and must be a table, [{name}].", hint="Fix that line first."
            )


def _target_of(document: ConfigDocument, install: Install, version: str | None) -> Target:
    """Which form a file is written in, and which ZeroClaw reads it.

    The file's own form, the layout on disk and the installed program say so. A file without any key is written in the
    form of the installed program, and without one in the newest form.
    """
    values = dict(document.values)
    form = form_of(values, install, Notes())
    has_aliases = form.schema >= NEWEST_SCHEMA or _spells_aliases(values)
    is_new_binary = version is not None and parse_version(version) >= (0, 8, 0)
    is_modern = form.is_modern or has_aliases or is_new_binary
    if values:
        return Target(form.schema, has_aliases, is_modern, version)
    # Only ZeroClaw up to 0.7.5 has a workspace.
    is_untouched = not (is_folder(install.root) or install.rule.startswith("--workspace"))
    is_modern = is_modern or (version is None and is_untouched)
    writes_schema = version is not None and parse_version(version) >= (0, 7, 3)
    return Target(NEWEST_SCHEMA if is_modern else 2 if writes_schema else 1, is_modern, is_modern, version)


def _spells_aliases(values: Mapping[str, Any]) -> bool:
    """Whether a config names `kind.alias`, or has a `[storage.<kind>.<alias>]`, whatever its schema."""
    backend, storage = values.get("memory", {}).get("backend"), values.get("storage", {})
    kind, dot, _ = backend.strip().lower().partition(".") if isinstance(backend, str) else ("", "", "")
    if dot and kind in STORE_KINDS:
        return True
    tables = [storage[kind] for kind in STORE_KINDS if isinstance(storage.get(kind), Mapping)]
    return any(isinstance(below, Mapping) for table in tables for below in table.values())


def _as_read(install: Install, target: Target) -> Install:
    """The install as its ZeroClaw takes it: >= 0.8.0 moves an old layout into `data` when it starts."""
    if target.is_modern and install.layout != "data" and install.config_dir is not None:
        return data_install(install.config_dir, install.rule)
    return install


def _without_ours(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables except those of this program, because they do not describe the config."""
    return {name: value for name, value in environ.items() if name not in (*OUR_DB_URLS, OTHERS_DB_URL)}


async def _look_at_stores(install: Install, more: Iterable[Path]) -> tuple[tuple[str, ...], bool]:
    """What memory is in a config dir and in the folders of `more`, and whether its databases have vectors."""
    facts: list[str] = []
    has_vectors = False
    for store in _stores(install, more):
        if store.database is not None:
            fact, vectors = await _database_fact(install, store, store.database)
            facts.append(fact)
            has_vectors = has_vectors or vectors
        if store.notes:
            facts.append(store.notes)
    return tuple(facts), has_vectors


async def _database_fact(install: Install, store: _Store, database: Path) -> tuple[str, bool]:
    """How many memories a database has and which version wrote them, or a sentence why that is unknown."""
    here = install._replace(root=store.root, database=database)
    memory = create_memory(MemoryConfig(here, backend="sqlite", read_only=True))
    try:
        await memory.open()
        count = await memory.count()
        # Counting vectors would pass over every row; the newest ones say whether any are made.
        newest = await memory.rows(Query(EXCERPTS, MemoryFilter(), NEWEST_STORED, limit=_ROWS_LOOKED_AT))
    except InspectorError as problem:
        sentence = problem.message.replace(str(database), store.database_name)
        return sentence if sentence != problem.message else f"{store.database_name}: {sentence}", False
    finally:
        await memory.close()
    versions = SCHEMA_VERSIONS.get(memory.about.generation or "")
    by = f", tables of ZeroClaw {versions}" if versions else ""
    return f"{store.database_name}: {counted(count)}{by}", any(entry.embedding_dimensions for entry in newest)
