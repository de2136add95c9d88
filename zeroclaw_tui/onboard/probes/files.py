"""Whether the files of the SQLite and the Markdown backend can be written where ZeroClaw keeps them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.config.locations import Install, has_markdown, is_folder, names_in, status_of
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.files.database import why_not_writable
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, NOT_REACHABLE, InspectorError
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.probes.finding import Finding
from zeroclaw_tui.scoring.generations import VERSIONS

_LITTLE_SPACE = 100 * 10**6
_AS_ZEROCLAW = "Run this as the user who runs ZeroClaw, or correct the permissions."


class _NotWritable(InspectorError):
    exit_code = NOT_REACHABLE


async def probe_sqlite(answers: Answers, seconds: float) -> Finding:
    """The database and its folder; looked at, opened for reading, never made."""
    install = answers.situation.install
    try:
        async with asyncio.timeout(seconds):
            return await _sqlite(install)
    except TimeoutError:
        return _late("sqlite", install.database, seconds)


async def probe_markdown(answers: Answers, seconds: float) -> Finding:
    """The folder of MEMORY.md and memory/, and what is in it."""
    install = answers.situation.install
    try:
        async with asyncio.timeout(seconds):
            return await _markdown(install, _agent_folders(answers))
    except TimeoutError:
        return _late("markdown", install.root, seconds)


def _late(subject: str, path: Path, seconds: float) -> Finding:
    return Finding(
        subject,
        "bad",
        f"{one_line(str(path))} could not be read within {seconds:g} s.",
        hint="Is its disk busy, or does another program hold it?",
    )


async def _sqlite(install: Install) -> Finding:
    database = install.database
    status = status_of(database)
    if status is None or status.st_size == 0:
        _check_link(database)
        folder = _check_folder(database.parent)
        sentence = (
            f"{one_line(str(database))} can be made" if status is None else "the database is empty and can be filled"
        )
        return Finding("sqlite", "good", sentence, facts=(_free_space(folder),))
    memory = create_memory(MemoryConfig(install, backend="sqlite", read_only=True))
    try:
        await memory.open()
        because = why_not_writable(database)
        if because is not None:
            raise _NotWritable(because, hint=_AS_ZEROCLAW)
        if memory.not_opened_because is not None:
            raise _NotWritable(
                memory.not_opened_because,
                hint="Move it and MEMORY_SNAPSHOT.md to a safe place, or set memory.auto_hydrate = false.",
            )
        count = await memory.count()
    finally:
        await memory.close()
    versions = VERSIONS[memory.generation or ""]
    facts = [_memories(count), f"tables of ZeroClaw {versions}", _free_space(database.parent)]
    if memory.read_only_because not in (None, ASKED_READ_ONLY):
        facts.append(str(memory.read_only_because))
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
        return Finding("markdown", "good", f"{one_line(str(root))} can be made", facts=(_free_space(folder),))
    _check_folder(root / "memory")
    notes = root / "MEMORY.md"
    _check_link(notes)
    status = status_of(notes)
    if status is not None and not os.access(notes, os.W_OK):
        raise _NotWritable(f"{one_line(str(notes))} may not be written by this user.", hint=_AS_ZEROCLAW)
    facts = [_free_space(root)]
    if has_markdown(root) or any(has_markdown(own) for own in agents.values()):
        memory = create_memory(_of_notes(install, agents))
        await memory.open()
        facts.insert(0, _memories(await memory.count()))
        await memory.close()
    return Finding("markdown", "good", f"{one_line(str(root))} can be written", facts=tuple(facts))


def _of_notes(install: Install, agents: Mapping[str, Path]) -> MemoryConfig:
    """The notes of an install and of these agents, whatever layout they have so far."""
    return MemoryConfig(
        replace(install, layout="data"),
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
            raise _NotWritable(f"{one_line(str(place))} is no folder.", hint="Move it out of the way.")
        if os.statvfs(place).f_flag & os.ST_RDONLY:
            raise _NotWritable(
                f"The file system of {one_line(str(place))} is mounted for reading only.",
                hint="Mount it for writing, or choose another place with --config-dir.",
            )
        if not os.access(place, os.W_OK | os.X_OK):
            made = "may not be written by this user" if place == folder else "lets this user make no folder in it"
            raise _NotWritable(f"The folder {one_line(str(place))} {made}.", hint=_AS_ZEROCLAW)
        return place
    raise _NotWritable(f"There is no folder {one_line(str(folder))}.", hint="Give an absolute path.")


def _check_link(path: Path) -> None:
    if status_of(path) is None and path.is_symlink():
        raise _NotWritable(
            f"{one_line(str(path))} is a link to {one_line(os.readlink(path))}, which is not there.",
            hint="Make what it points to, or remove the link.",
        )


def _memories(count: int) -> str:
    return f"holds {count:,} {'memory' if count == 1 else 'memories'}"


def _free_space(folder: Path) -> str:
    system = os.statvfs(folder)
    free = system.f_bavail * system.f_frsize
    if free < _LITTLE_SPACE:
        return f"only {free / 10**6:.0f} MB are free on its disk"
    return f"{free / 10**9:,.1f} GB are free on its disk"
