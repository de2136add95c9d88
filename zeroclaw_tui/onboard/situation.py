"""The initial state of the wizard: the config to write, the ZeroClaw that reads it, and the existing stores."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import (
    Install,
    candidate_installs,
    command_at,
    data_install,
    has_config_or_data,
    has_markdown,
)
from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA, MemoryConfig, Notes, agent_folders, target_of
from zeroclaw_tui.config.real_binary import real_zeroclaw, zeroclaw_version
from zeroclaw_tui.config.save import list_backups
from zeroclaw_tui.config.schema import STORE_KINDS, Target, kind_of
from zeroclaw_tui.config.secrets import KEY_FILE, WAYS_WITHOUT_KEY, encrypted_names_in, missing_key_words
from zeroclaw_tui.config.storage import OUR_DB_URLS, SHARED_DB_URL
from zeroclaw_tui.config.toml import read_config
from zeroclaw_tui.files.disk import exists, is_folder
from zeroclaw_tui.memory.errors import BrokenConfig, InspectorError, UsageError
from zeroclaw_tui.memory.query import EXCERPTS, NEWEST_STORED, MemoryFilter, Query
from zeroclaw_tui.memory.text import counted, mask_secrets, with_tilde
from zeroclaw_tui.scoring.profiles import parse_version

_SAMPLED_ROWS = 50


@dataclass(frozen=True, slots=True)
class Situation:
    """A config.toml and its environment."""

    config_file: Path
    install: Install
    raw: bytes | None
    """The bytes of the file, None if there is none yet."""
    document: ConfigDocument
    target: Target
    binary: str | None = None
    """The real zeroclaw on PATH."""
    backend: str = "sqlite"
    """The kind in use, including overrides."""
    found: tuple[str, ...] = ()
    """Facts about existing stores: "data/memory/brain.db: 2,431 memories"."""
    warnings: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    has_vectors: bool = False
    """Whether the newest memories of a local database have vectors."""

    @property
    def config_dir(self) -> Path:
        """The folder of the config and of `.secret_key`."""
        return self.config_file.parent

    @property
    def is_new(self) -> bool:
        """Whether there is no config.toml yet."""
        return self.raw is None

    @property
    def has_no_key(self) -> bool:
        """Whether there is no config.toml yet, or only one with comments and blank lines."""
        return not self.document.values


def candidates(
    environ: Mapping[str, str], home: Path, *, config_dir: Path | None = None, workspace: Path | None = None
) -> tuple[Install, ...]:
    """List the installs that the wizard could write to, the default first, one for each config dir; never empty.

    If there is no install yet, it is the one that ZeroClaw would create. Raises UsageError for a store without a config
    dir, and Unreadable.
    """
    installs = candidate_installs(environ, home, config_dir=config_dir, workspace=workspace)
    first: dict[str, Install] = {}
    for install in [each for each in installs if has_config_or_data(each)] or installs[:1]:
        if install.config_dir is not None:
            first.setdefault(os.path.realpath(install.config_dir), install)
    if not first:
        raise UsageError(
            f"{installs[0].root} is a store without a config directory, and the wizard writes a config.toml.",
            hint="Pass the directory of its config.toml too: --config-dir DIR --workspace DIR.",
        )
    return tuple(first.values())


async def situation_at(install: Install, environ: Mapping[str, str]) -> Situation:
    """Read the config and inspect the stores, without writing. The version comes from the real binary.

    Raises BrokenConfig for a config that the wizard must not edit, because it is unreadable or of an unknown format.
    """
    config_file = install.config_file
    assert config_file is not None, "a candidate always has a config dir"
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
    found, has_vectors = await _inspect_stores(config._replace(install=install))
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
    )


def warnings_with(situation: Situation, document: ConfigDocument) -> tuple[str, ...]:
    """The warnings of loading the config with another document."""
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
    """Raise BrokenConfig for a config in a format that no known ZeroClaw version reads."""
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
    """Determine the format of a file, and the ZeroClaw version that reads it.

    They depend on the file, the layout on disk and the installed program. A file without keys gets the format of the
    installed program, or else the newest format.
    """
    values = dict(document.values)
    form = target_of(values, install, Notes())
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
    """Whether a config has `kind.alias` as its backend, or a `[storage.<kind>.<alias>]`, in any schema."""
    backend, storage = values.get("memory", {}).get("backend"), values.get("storage", {})
    kind, dot, _ = backend.strip().lower().partition(".") if isinstance(backend, str) else ("", "", "")
    if dot and kind in STORE_KINDS:
        return True
    tables = [storage[kind] for kind in STORE_KINDS if isinstance(storage.get(kind), Mapping)]
    return any(isinstance(below, Mapping) for table in tables for below in table.values())


def _as_read(install: Install, target: Target) -> Install:
    """The install after ZeroClaw's start: >= 0.8.0 moves an old layout into `data`."""
    if target.is_modern and install.layout != "data" and install.config_dir is not None:
        return data_install(install.config_dir, install.rule)
    return install


def _without_ours(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables without those of this program, which do not affect ZeroClaw."""
    return {name: value for name, value in environ.items() if name not in (*OUR_DB_URLS, SHARED_DB_URL)}


async def _inspect_stores(config: MemoryConfig) -> tuple[tuple[str, ...], bool]:
    """List facts about the install's stores, and find out whether its database has vectors."""
    facts: list[str] = []
    has_vectors = False
    if exists(config.install.database):
        fact, has_vectors = await _store_fact(config, "sqlite", config.install.database)
        facts.append(fact)
    if has_markdown(config.install.root) or agent_folders(config):
        facts.append((await _store_fact(config, "markdown", config.install.root))[0])
    return tuple(facts), has_vectors


async def _store_fact(config: MemoryConfig, backend: str, place: Path) -> tuple[str, bool]:
    """The number of memories in a store as a sentence, or the error, and whether the newest ones have vectors."""
    memory = create_memory(config._replace(backend=backend, location=None, read_only=True))
    try:
        await memory.open()
        count = await memory.count()
        # Counting vectors would scan every row; the newest ones show whether there are any.
        newest = await memory.rows(Query(EXCERPTS, MemoryFilter(), NEWEST_STORED, limit=_SAMPLED_ROWS))
    except InspectorError as problem:
        return problem.message, False
    finally:
        await memory.close()
    return f"{with_tilde(str(place))}: {counted(count)}", any(entry.embedding_dimensions for entry in newest)
