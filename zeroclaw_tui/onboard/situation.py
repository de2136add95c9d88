"""Where the wizard starts: which config it would write, which ZeroClaw reads it, and what memory is there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of one config dir with memory in it: a database, or Markdown (`MEMORY.md`, files in `memory/`).

    `name` is the folder as seen from the config dir ("data", "agents/default/workspace"), its path where it lies
    elsewhere, and "." for the config dir itself.
    """

    root: Path
    name: str
    database: Path | None
    has_core_notes: bool
    day_notes: int

    @property
    def database_name(self) -> str:
        """The database in the manner of `name`, empty where there is none."""
        return str(Path(self.name, self.database.relative_to(self.root))) if self.database else ""

    @property
    def markdown_fact(self) -> str:
        """What Markdown there is in words ("workspace: MEMORY.md and 12 Markdown files in memory/"), or empty."""
        days = f"{counted(self.day_notes, 'Markdown file')} in memory/" if self.day_notes else ""
        parts = [part for part in ("MEMORY.md" if self.has_core_notes else "", days) if part]
        where = "the config directory" if self.name == "." else self.name
        return f"{where}: {' and '.join(parts)}" if parts else ""


def installs_to_choose(
    environ: Mapping[str, str], home: Path, config_dir: Path | None, workspace: Path | None
) -> list[Install]:
    """One install of each config dir that may be meant, the one that wins first; what `candidates` is made of.

    Config dirs that hold something go before those that do not; where none does, only the first is left.
    """
    if config_dir is None and workspace is not None:
        found = [_of_workspace(workspace, environ, home)]
    else:
        found = list(installs_meant(environ, home, config_dir=config_dir, workspace=workspace))
    holding = [install for install in found if holds_anything(install)]
    return _one_each(holding or found[:1])


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


def _one_each(installs: Iterable[Install]) -> list[Install]:
    first: dict[str, Install] = {}
    for install in installs:
        if install.config_dir is not None:
            first.setdefault(os.path.realpath(install.config_dir), install)
    return list(first.values())


def stores_of(install: Install, more: Iterable[Path] = ()) -> tuple[Store, ...]:
    """Every folder of the install's config dir that has memory, the one in use first, and of `more`, which the config
    names. Raises Unreadable."""
    looked = [_look(root, name) for root, name in _folders(install, more)]
    return tuple(store for store in looked if store.database or store.markdown_fact)


def _folders(install: Install, more: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Folders of an install where memory may be, each with its name."""
    config_dir = install.config_dir or install.root
    agents = config_dir / "agents"
    own = [agents / name / "workspace" for name in names_in(agents)] if install.layout == "data" else []
    seen: set[str] = set()
    for place in (install.root, config_dir / "data", config_dir / "workspace", config_dir, *own, *more):
        real = os.path.realpath(place)
        if real not in seen:
            seen.add(real)
            is_inside = place.is_relative_to(config_dir)
            yield place, str(place.relative_to(config_dir) if is_inside else place)


def _look(root: Path, name: str) -> Store:
    database = database_of(root)
    notes = [file for file in names_in(root / "memory") if file.endswith(".md")]
    return Store(root, name, database if exists(database) else None, exists(root / "MEMORY.md"), len(notes))


def found_in(install: Install) -> tuple[str, ...]:
    """What is in a config dir, one fact a line, without opening anything."""
    config = install.config_file
    facts = [CONFIG_NAME if config is not None and exists(config) else ""]
    for store in stores_of(install):
        facts += [store.database_name, store.markdown_fact]
    return tuple(fact for fact in facts if fact)


@dataclass(frozen=True, slots=True)
class Situation:
    """`config_file` may not exist (`raw` is None then, `document` empty). `install` is what memory it means; `rule`
    what chose it in words. `found` are facts in words, one a line ("data/memory/brain.db: 2,431 memories, written by
    0.8.3 or later"); `warnings` what loading the config has to tell."""

    config_file: Path
    install: Install
    rule: str
    raw: bytes | None
    document: ConfigDocument
    target: Target
    binary: Path | None = None
    """The real zeroclaw on PATH."""
    backend: str = "sqlite"
    """The kind that counts today, overrides included; "sqlite" where nothing says."""
    found: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    has_vectors: bool = False
    """True when the newest memories of a database here have vectors."""
    agent_folders: Mapping[str, Path] = field(default_factory=dict)
    """The folders of notes of the agents that the config has, as far as they are there."""

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
        """True when there is no config.toml yet."""
        return self.raw is None

    @property
    def has_no_key(self) -> bool:
        """True when there is no config.toml yet, or one of comments and blanks alone."""
        return not self.document.values


@dataclass(frozen=True, slots=True)
class Candidate:
    """One place the wizard might write to: an install that is there, or the one that would be made."""

    install: Install
    rule: str
    found: tuple[str, ...] = ()


def candidates(
    environ: Mapping[str, str], home: Path, *, config_dir: Path | None = None, workspace: Path | None = None
) -> tuple[Candidate, ...]:
    """The places, the one that wins first; never empty: where nothing is there yet, the place ZeroClaw itself would
    use by the same rules (option, ZEROCLAW_CONFIG_DIR, ZEROCLAW_DATA_DIR, ZEROCLAW_WORKSPACE, the marker, the default).

    Two candidates are two config dirs; two stores below one config dir are one candidate. Raises UsageError for a store
    without a config dir, Unreadable as locations do.
    """
    installs = installs_to_choose(environ, home, config_dir, workspace)
    return tuple(Candidate(install, install.rule, found_in(install)) for install in installs)


async def situation_at(candidate: Candidate, environ: Mapping[str, str]) -> Situation:
    """Read the config and look at what is there; never writes. The version is asked of the real binary (2 s).

    Raises BrokenConfig for everything the wizard must not touch: TOML that cannot be read, a schema_version over 3 or
    of a wrong type, `memory` or `storage` that is no table.
    """
    install = candidate.install
    config_file = install.config_file
    if config_file is None:
        raise UsageError(f"{install.root} has no config directory.", hint="Pass one: --config-dir DIR.")
    raw = read_config(config_file)
    try:
        document = ConfigDocument() if raw is None else ConfigDocument.from_bytes(raw, config_file)
        check_outline(document, config_file)
    except BrokenConfig as problem:
        if list_backups(install.own_dir):
            command = command_at(install, environ, "zeroclaw onboard", "--restore")
            problem.hint += f" `{command}` restores an earlier version."
        raise
    binary = real_zeroclaw(environ)
    version = await asyncio.to_thread(zeroclaw_version, binary) if binary is not None else None
    target = target_of(document, install, version)
    read = _as_read(install, target)
    if not is_folder(install.root):
        install = read
    config = load_config(read, _without_ours(environ), version=version, values=document.values)
    folders = agent_folders(config)
    found, has_vectors = await look_at_stores(install, folders.values())
    return Situation(
        config_file=config_file,
        install=install,
        rule=candidate.rule,
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
    return (*_of_secrets(document, config_dir), *map(mask_secrets, config.warnings))


def check_outline(document: ConfigDocument, config_file: Path) -> None:
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


def target_of(document: ConfigDocument, install: Install, version: str | None) -> Target:
    """What the file's own form and the layout say is written to.

    ZeroClaw >= 0.8.0 is also told by its installed program, before it has moved anything, and by aliases, which no
    older one reads. A file that holds no key yet is written in the form of the installed program; where there is none
    and no folder of an older one either, in the newest.
    """
    values = dict(document.values)
    form = form_of(values, install, Notes())
    has_aliases = form.schema >= NEWEST_SCHEMA or spells_aliases(values)
    is_new_binary = version is not None and parse_version(version) >= (0, 8, 0)
    is_modern = form.is_modern or has_aliases or is_new_binary
    if not values:
        is_modern = is_modern or (version is None and _is_untouched(install))
        schema = NEWEST_SCHEMA if is_modern else _schema_written_by(version)
        return Target(schema, is_modern, is_modern, version)
    return Target(form.schema, has_aliases, is_modern, version)


def _is_untouched(install: Install) -> bool:
    """True where no ZeroClaw has left anything, and nobody named a workspace, which only those up to 0.7.5 have."""
    return not (is_folder(install.root) or install.rule.startswith("--workspace"))


def _schema_written_by(version: str | None) -> int:
    """The schema of a new file of ZeroClaw up to 0.7.5, which has a number from 0.7.3 on."""
    return 2 if version is not None and parse_version(version) >= (0, 7, 3) else 1


def spells_aliases(values: Mapping[str, Any]) -> bool:
    """True for a config that already names `kind.alias`, or has a `[storage.<kind>.<alias>]`, whatever its schema."""
    memory, storage = values.get("memory", {}), values.get("storage", {})
    backend = memory.get("backend")
    kind, dot, _ = backend.strip().lower().partition(".") if isinstance(backend, str) else ("", "", "")
    if dot and kind in STORE_KINDS:
        return True
    tables = [storage[kind] for kind in STORE_KINDS if isinstance(storage.get(kind), Mapping)]
    return any(isinstance(below, Mapping) for table in tables for below in table.values())


def _of_secrets(document: ConfigDocument, config_dir: Path) -> tuple[str, ...]:
    names = encrypted_names_in(document.values)
    if not names or os.path.lexists(config_dir / KEY_FILE):
        return ()
    return (f"{missing_key_words(config_dir, names)} {WAYS_WITHOUT_KEY}",)


def _as_read(install: Install, target: Target) -> Install:
    """The install as the ZeroClaw that is there takes it: >= 0.8.0 moves an old layout into `data` when it starts."""
    if target.is_modern and install.layout != "data" and install.config_dir is not None:
        return data_install(install.config_dir, install.rule)
    return install


def _without_ours(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables except those of this program, because they do not describe the config."""
    return {name: value for name, value in environ.items() if name not in (*OUR_DB_URLS, OTHERS_DB_URL)}


async def look_at_stores(install: Install, more: Iterable[Path] = ()) -> tuple[tuple[str, ...], bool]:
    """What memory is in a config dir and in the folders of `more`, one fact a line, and whether its databases have
    vectors; reading only."""
    facts: list[str] = []
    has_vectors = False
    for store in stores_of(install, more):
        if store.database is not None:
            fact, vectors = await _database_fact(install, store, store.database)
            facts.append(fact)
            has_vectors = has_vectors or vectors
        if store.markdown_fact:
            facts.append(store.markdown_fact)
    return tuple(facts), has_vectors


async def _database_fact(install: Install, store: Store, database: Path) -> tuple[str, bool]:
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
