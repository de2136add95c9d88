"""Copying memories from one store to another of any backend, verified, with what is lost said before."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.backends.profiles import backend_profile, has_database, has_notes
from zeroclaw_tui.config.document.replacing import temporary_folder
from zeroclaw_tui.config.given_path import install_to_be
from zeroclaw_tui.config.install import Install
from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import home_folder
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.server_url import is_url
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.opening import OpenOptions, check_location, configs_for
from zeroclaw_tui.curation.profile_choice import choose_profile
from zeroclaw_tui.curation.superseded import superseded_hidden
from zeroclaw_tui.curation.transfer.reconcile import (
    OnClash,
    Spool,
    Stopped,
    StoreSupply,
    What,
    bring,
    reconciled,
    verify,
)
from zeroclaw_tui.curation.trash.reads import store_name
from zeroclaw_tui.memory.change import Advance
from zeroclaw_tui.memory.errors import NothingYet, Refused, WrongUse
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import one_line


@dataclass(slots=True)
class CopyTarget:
    """Where memories go. `library` is None where the store is not there yet; then `makes` says what will be made.

    `profile` is the ZeroClaw version given for it, if any. Once the copy has made the store, `library` is it.
    """

    config: MemoryConfig
    library: Library | None
    makes: NothingYet | None = None
    profile: str | None = None
    location: str = ""
    """Where it is or will be, for people."""

    async def close(self) -> None:
        """Let go of it."""
        if self.library is not None:
            await self.library.close()

    async def make(self) -> Library:
        """The open store, made first where it is not there yet. Raises what making and opening raise."""
        if self.library is None:
            memory = _not_made(self.config)
            try:
                await memory.make((await choose_profile(self.config, memory, self.profile)).profile)
            finally:
                await memory.close()
            self.library = await open_library(self.config, self.profile)
        return self.library


async def open_target(
    source: Library,
    backend: str,
    location: str | None,
    profile: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
) -> CopyTarget:
    """The store to copy to, as this install's config names that backend, or at a path or URL.

    Raises WrongUse where it is the source itself, and what opening raises; a store that is not there yet is no error.
    """
    config = await asyncio.to_thread(
        _config, source.config, backend, location, os.environ if environ is None else environ
    )
    memory = create_memory(config)
    try:
        _refuse_itself(source, memory)
        if memory.keeps_lines and not await memory.health_check():
            raise NothingYet(f"There is no folder {memory.location} yet.")
        library = await open_library(config, profile)
    except NothingYet as nothing:
        return CopyTarget(config, None, nothing, profile, memory.location)
    finally:
        await memory.close()
    try:
        _refuse_itself(source, library.memory)
    except BaseException:
        await library.close()
        raise
    return CopyTarget(config, library, None, profile, library.memory.location)


def _config(given: MemoryConfig, backend: str, location: str | None, environ: Mapping[str, str]) -> MemoryConfig:
    """The config of this install with that backend."""
    check_location(location)
    known = backend_profile(backend)
    kind = backend if known is None else known.key
    if location is None and has_database(kind):
        # Named outright: of an install that has notes alone, its database would not be opened.
        location = str(given.install.database)
    elif location is not None and "://" not in location:
        location = str(Path(location).expanduser())
    return load_config(_install(given, kind, location, environ), environ, backend=kind, location=location)


def _install(given: MemoryConfig, backend: str, location: str | None, environ: Mapping[str, str]) -> Install:
    """The install in whose trash the copy is kept, where it can be taken back: that of the source.

    A lone source cannot be named beside the target, so there it is the one the target's own place leads to.
    """
    if location is None or given.install.config_dir is not None:
        return given.install
    if is_url(location):
        return configs_for(OpenOptions(backend=backend, location=location), environ)[0].install
    home = home_folder(environ, None)
    return install_to_be(Path(location), environ, home, is_folder=has_notes(backend))


@asynccontextmanager
async def foreseen(target: CopyTarget) -> AsyncIterator[Memory]:
    """The target, or where it is not there yet one that is as it will be."""
    if target.library is not None:
        yield target.library.memory
        return
    memory = _not_made(target.config)
    if memory.file is None:
        try:
            yield memory
        finally:
            await memory.close()
        return
    profile = (await choose_profile(target.config, memory, target.profile)).profile
    with temporary_folder("zeroclaw-tui-") as folder:
        sample = create_memory(replace(target.config, location=str(folder / "brain.db"), read_only=False))
        sample.location = target.location
        try:
            await sample.make(profile)
            await sample.open()
            yield sample
        finally:
            await sample.close()


def _not_made(config: MemoryConfig) -> Memory:
    """The store of a config that is not there yet; a folder that was named is made too."""
    memory = create_memory(config)
    if memory.keeps_lines and config.location is not None:
        alone = replace(config.install, root=Path(memory.location), layout="lone", is_loose=False)
        return create_memory(replace(config, install=alone, location=None))
    return memory


def _refuse_itself(source: Library, memory: Memory) -> None:
    """Raises WrongUse where both are one store, and Refused where nothing is ever stored."""
    theirs = source.memory
    if _name(theirs, source.config) == _name(memory, source.config) or _is_one_file(theirs, memory):
        raise WrongUse(
            f"{one_line(memory.location)} is the store to copy from.",
            hint="--to and --to-location name another one.",
        )
    if memory.keeps_nothing:
        raise Refused(memory.read_only_because or "Nothing is stored there.", hint="Name another backend.")


def _name(memory: Memory, config: MemoryConfig) -> str:
    return store_name(memory.trash_name, memory.location, config.install.config_dir)


def _is_one_file(one: Memory, other: Memory) -> bool:
    if one.file is None or other.file is None:
        return False
    try:
        return os.path.samefile(one.file, other.file)
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """What a copy would bring: how many new ones, the same already, and how many whose id or key is taken.

    `losses` are sentences: what this target does not keep ("Markdown keeps no session (41 have one)."). `makes` is a
    sentence about what is made first, or None. Of those taken, `beside` were brought before under another key, and
    `second` have the key of another one that comes with them, of another agent or a later line of notes; only "rename"
    brings those. `refused` are those the target cannot take at all, which the losses tell.
    """

    source: str
    target: str
    new: int
    same: int
    taken: int
    samples: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    makes: str | None = None
    beside: int = 0
    second: int = 0
    refused: int = 0
    superseded_hidden: int = 0
    filtered_out: int = 0

    @property
    def count(self) -> int:
        """How many memories the source gives."""
        return self.new + self.same + self.taken + self.refused

    def brings(self, on_clash: OnClash) -> int:
        """How many would be written."""
        more = {"skip": 0, "rename": self.taken - self.beside, "overwrite": self.taken - self.second}
        return self.new + more[on_clash]


@dataclass(frozen=True, slots=True)
class CopyOutcome:
    """How a copy went. `verified` is how many memories of the source were found again in the target with the same hash
    over what it keeps; `differing` are keys of those that were not, at most a hundred, `differs` how many they are.
    `left` were left out: their id or key is taken, or the target cannot take them. Undone as one action there.
    """

    copied: int
    verified: int
    differing: tuple[str, ...] = ()
    left: int = 0
    cancelled: bool = False
    action: int | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    differs: int = 0
    until: str | None = None
    """When the trash lets go of the action, RFC 3339."""


async def plan_copy(
    source: Library, target: CopyTarget, filter: MemoryFilter, *, advance: Advance | None = None
) -> CopyPlan:
    """Compare both, in constant memory; nothing is written, in either. Raises Refused for a target that takes none."""
    is_there = target.library is not None
    supply = StoreSupply(source.memory, filter)
    async with foreseen(target) as memory:
        if is_there:
            _refuse(memory)
        async with reconciled(supply, memory, target.config, source.trash.now(), advance, is_there=is_there) as found:
            hidden = await superseded_hidden(source, filter)
            rest = 0 if filter.is_empty else max(0, await source.memory.count() - found.count - hidden)
            return CopyPlan(
                source=source.memory.location,
                target=target.location,
                new=found.of(What.NEW),
                same=found.of(What.SAME),
                taken=found.of(What.TAKEN, What.SECOND),
                samples=tuple(found.samples),
                losses=tuple(found.losses.sentences()),
                makes=None if is_there else _makes(memory, target),
                beside=found.beside,
                second=found.of(What.SECOND),
                refused=found.refused,
                superseded_hidden=hidden,
                filtered_out=rest,
            )


async def copy_memories(
    source: Library,
    target: CopyTarget,
    filter: MemoryFilter,
    on_clash: OnClash,
    *,
    advance: Advance | None = None,
) -> CopyOutcome:
    """Make the target where it is not there yet, bring over what it lacks, then read it again and compare hashes.

    Doing it again goes on where it was cut off. The source is only read. `advance` is told how many came over so far.
    """
    library = await target.make()
    _refuse(library.memory)
    going = _going(advance)
    supply = StoreSupply(source.memory, filter)
    with Spool() as spool:
        now = library.trash.now()
        reconciling = reconciled(supply, library.memory, target.config, now, going, spool=spool, on_clash=on_clash)
        async with reconciling as found:
            summary = f"copied {spool.count:,} from {one_line(source.memory.name)}"
            done = await bring(library, "copy", summary, found, spool, on_clash, advance)
            outcome = CopyOutcome(
                copied=done.count,
                verified=0,
                left=found.of(What.NEW, What.TAKEN, What.SECOND) - spool.count + found.refused,
                cancelled=done.cancelled,
                action=None if done.action is None else done.action.number,
                until=None if done.action is None else done.action.until,
                renamed=done.renamed,
                notes=done.notes,
            )
            if done.cancelled:
                return outcome
            try:
                verified, differs, differing = await verify(library, found.matching, going)
            except Stopped:
                return replace(outcome, verified=found.matching.verified(), cancelled=True)
            return replace(outcome, verified=verified, differs=differs, differing=differing)


def _going(advance: Advance | None) -> Advance | None:
    """The same, for passes over a store in which nothing comes over."""
    return None if advance is None else lambda done: advance(0)


def _refuse(memory: Memory) -> None:
    """Raises Refused for a store that takes nothing."""
    if memory.read_only_because is not None or not memory.capabilities.write:
        raise memory.refuse_to_write()


def _makes(memory: Memory, target: CopyTarget) -> str:
    """A sentence about what is made first."""
    what = "The database" if memory.file is not None else "The folder" if memory.keeps_lines else "The store"
    return f"{what} {one_line(target.location)} is made first."
