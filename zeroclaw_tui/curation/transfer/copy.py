"""Copying memories from one store to another of any backend, verified, with what is lost said before."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import backend_info, create_memory, has_database
from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import OpenOptions, command_at, is_url
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.config_choice import check_location, configs_for
from zeroclaw_tui.curation.export import superseded_sentence
from zeroclaw_tui.curation.library import Library, trash_name
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.transfer.comparison import Stopped, compare_all
from zeroclaw_tui.curation.transfer.delivery import deliver, verify
from zeroclaw_tui.curation.transfer.incoming import store_supply
from zeroclaw_tui.curation.transfer.plan import OnClash, Plan
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.change import ProgressCallback
from zeroclaw_tui.memory.errors import NoInstall, Refused, UsageError
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import counted, first_names, mask_secrets, one_line

_MAX_NAMED = 10


async def open_target(
    source: Library,
    backend: str,
    location: str | None,
    profile: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
) -> Target:
    """The store to copy to, as this install's config names that backend, or at a path or URL."""
    variables = os.environ if environ is None else environ
    config = await asyncio.to_thread(_config, source.config, backend, location, variables)
    target = await Target.at(config, profile)
    try:
        # A store that is not there yet is not the source.
        if target.library is not None:
            _refuse_itself(source, target.library.memory)
    except BaseException:
        await target.close()
        raise
    return target


def _config(given: MemoryConfig, backend: str, location: str | None, environ: Mapping[str, str]) -> MemoryConfig:
    """The config of this install with that backend; its trash records the copy.

    For a source that was named alone it is the install that the location of the target leads to, or, without a
    location, the one that ZeroClaw uses.
    """
    check_location(location)
    known = backend_info(backend)
    kind = backend if known is None else known.key
    install, is_path = given.install, location is not None and not is_url(location)
    if install.config_dir is None:
        options = OpenOptions(backend=kind, location=location)
        if location is None:
            options = OpenOptions()
        elif is_path:
            options = OpenOptions(path=Path(location), backend=kind, is_made=True)
        with suppress(NoInstall):
            install = configs_for(options, environ)[0].install
    if location is None and has_database(kind):
        # Named outright: of an install that has notes alone, its database would not be opened.
        location = str(install.database)
    elif location is not None and is_path:
        location = str(Path(location).expanduser())
    return load_config(install, environ, backend=kind, location=location)


def _refuse_itself(source: Library, memory: Memory) -> None:
    """Raises UsageError where both are one store, and Refused where nothing is ever stored."""
    theirs = source.memory
    paths = theirs.about.path, memory.about.path
    is_one_file = None not in paths and len({os.path.realpath(path) for path in paths if path is not None}) == 1
    if is_one_file or trash_name(theirs, source.config) == trash_name(memory, source.config):
        raise UsageError(
            f"Source and target are the same store: {one_line(memory.about.location)}.",
            hint="Name another target with --to and --to-location.",
        )
    if memory.about.keeps_nothing:
        raise Refused(memory.why_not.get("write", "Nothing is stored there."), hint="Name another backend.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPlan(Plan):
    """What a copy would bring, and how many superseded memories stay in the source."""

    source: str
    target: str
    superseded_hidden: int

    @property
    def left_out(self) -> str:
        """How many superseded memories stay in the source, in a sentence; "" for none."""
        return superseded_sentence(self.superseded_hidden)

    def as_json(self) -> dict[str, Any]:
        # The dataclass is rebuilt with slots, so that super() needs its names.
        return {
            **super(CopyPlan, self).as_json(),
            "losses": list(self.losses),
            "superseded_hidden": self.superseded_hidden,
        }


@dataclass(frozen=True, slots=True)
class CopyOutcome(Outcome):
    """How a copy went, which is undone as one action of the target. `verified` is how many memories of the source were
    found again there, the same in all that it keeps; `differing` are keys of those that were not, at most a hundred,
    `differs` how many they are. `left` were left out, because their key is taken.
    """

    verified: int = 0
    differs: int = 0
    differing: tuple[str, ...] = ()
    left: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            **super(CopyOutcome, self).as_json(),
            "verified": self.verified,
            "differs": self.differs,
            "differing": list(self.differing),
            "left": self.left,
        }

    def texts(self, target: str) -> Iterator[str]:
        """What came to a store, what was found again there, and what was left out; a sentence each."""
        yield f"Copied {counted(self.count)} to {target}."
        if not self.cancelled and (self.count or self.verified):
            yield f"Verified {self.verified:,} by comparing what the target stores."
        if self.differs:
            named = first_names(self.differing, self.differs, most=_MAX_NAMED)
            differ = "differs" if self.differs == 1 else "differ"
            yield f"{counted(self.differs)} in the target {differ} from what was copied: {named}."
        if self.left and not self.cancelled:
            yield f"Left out {counted(self.left)} whose key is taken."


async def plan_copy(
    source: Library, target: Target, filter: MemoryFilter, *, on_progress: ProgressCallback | None = None
) -> CopyPlan:
    """Compare both, in constant memory; nothing is written, in either. Raises Refused for a target that takes none."""
    async with target.planned_store() as memory:
        supply = await store_supply(source.memory, filter)
        facts = await compare_all(supply, memory, target, source.trash.now(), on_progress)
    return CopyPlan(
        **facts,
        source=source.memory.about.location,
        target=target.location,
        superseded_hidden=await source.superseded_hidden(filter),
    )


async def copy_memories(
    source: Library,
    target: Target,
    filter: MemoryFilter,
    on_clash: OnClash,
    *,
    on_progress: ProgressCallback | None = None,
) -> CopyOutcome:
    """Make the target where it is not there yet, bring over what it lacks, then read it again and compare.

    Doing it again goes on where it was cut off. The source is only read; a note says that config.toml still names it.
    """
    library = await target.make()
    supply = await store_supply(source.memory, filter)
    summary = f"copied from {one_line(source.memory.name)}"
    done, delivery = await deliver(library, "copy", summary, supply, target, on_clash, on_progress)
    outcome = CopyOutcome(**{one.name: getattr(done, one.name) for one in fields(done)}, left=delivery.left)
    if done.cancelled:
        return outcome
    try:
        verified, differs, differing = await verify(target, delivery, on_progress)
    except Stopped:
        return replace(outcome, cancelled=True)
    notes = outcome.notes
    if outcome.count and not differs and filter.is_empty and await _is_still_named(source):
        command = command_at(source.config.install, os.environ, "zeroclaw onboard", "--interactive")
        location = one_line(mask_secrets(source.memory.about.location))
        still = f"config.toml still names {location}, so ZeroClaw continues to use it."
        notes = (*notes, f"{still} Run `{command}` to switch to the copy.")
    return replace(outcome, verified=verified, differs=differs, differing=differing, notes=notes)


async def _is_still_named(source: Library) -> bool:
    """Whether config.toml names the copied store."""
    if source.config.install.config_file is None:
        return False
    named = await asyncio.to_thread(load_config, source.config.install, os.environ)
    memory = create_memory(named)
    try:
        return trash_name(memory, named) == trash_name(source.memory, source.config)
    finally:
        await memory.close()
