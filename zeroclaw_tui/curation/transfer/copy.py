"""Copy memories from one store to another of any backend, and compare them afterwards."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.factory import backend_info
from zeroclaw_tui.config.locations import OpenOptions, is_url
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.transfer.comparison import Compared, Comparison, Stopped, from_store
from zeroclaw_tui.curation.transfer.plan import Plan, Target, compare_all, plan_transfer, short_key, write_all
from zeroclaw_tui.memory.change import OnConflict, ProgressCallback
from zeroclaw_tui.memory.errors import Refused, UsageError
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import counted, first_names, one_line

_MAX_DIFFERING, _MAX_NAMED = 100, 10


async def open_target(
    source: Library,
    backend: str,
    location: str | None,
    profile: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
) -> Target:
    """Open the store to copy to, at a path or URL, or as this install's config names it. It is opened like the commands
    open it later, so that they find the copy in its trash."""
    info = backend_info(backend)
    folder = source.config.install.config_dir
    options = OpenOptions(config_dir=folder, backend=backend if info is None else info.key, location=location)
    if folder is None and location is not None and not is_url(location):
        options = options._replace(path=Path(location), location=None, create_missing=True)
    config, *_ = await asyncio.to_thread(configs_for, options, environ)
    target = await Target.at(config, profile)
    try:
        # A missing store cannot be the source.
        if target.library is not None:
            _refuse_itself(source, target.library)
    except BaseException:
        await target.close()
        raise
    return target


def _refuse_itself(source: Library, target: Library) -> None:
    """Raise UsageError if both are the same store, and Refused if the target stores nothing."""
    memory = target.memory
    paths = source.memory.about.path, memory.about.path
    is_one_file = None not in paths and len({os.path.realpath(path) for path in paths if path is not None}) == 1
    if is_one_file or source.trash.store == target.trash.store:
        raise UsageError(
            f"Source and target are the same store: {one_line(memory.about.location)}.",
            hint="Name another target with --to and --to-location.",
        )
    if memory.about.keeps_nothing:
        raise Refused(memory.why_not.get("write", "Nothing is stored there."), hint="Name another backend.")


@dataclass(frozen=True, slots=True)
class CopyOutcome(Outcome):
    """The result of a copy, which is undone as one action of the target. `verified` memories of the source are equal in
    the target, in all that it stores; `differs` are not, and `differing` has at most a hundred of their keys. `left`
    were left out, because their key is taken.
    """

    verified: int = 0
    differs: int = 0
    differing: tuple[str, ...] = ()
    left: int = 0

    def as_json(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in ("verified", "differs", "differing", "left")}
        return {**super(CopyOutcome, self).as_json(), **found}

    def texts(self, target: str) -> Iterator[str]:
        """Yield sentences on what was copied, verified, different and left out."""
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
) -> Plan:
    """Compare both stores in constant memory, without writing. Raises Refused for a target that stores nothing."""
    async with target.planned_store() as memory:
        incoming = await from_store(source.memory, filter)
        return await plan_transfer("copy", incoming, memory, target, source.trash.now(), on_progress)


async def copy_memories(
    source: Library,
    target: Target,
    filter: MemoryFilter,
    on_conflict: OnConflict,
    *,
    on_progress: ProgressCallback | None = None,
) -> CopyOutcome:
    """Create a missing target, copy what it lacks, and compare everything again; a second run continues the first."""
    library, incoming = await target.make(), await from_store(source.memory, filter)
    summary = f"copied from {one_line(source.memory.name)}"
    done, left_out = await write_all(library, incoming, on_conflict, "copy", summary, on_progress)
    outcome = CopyOutcome(**{field.name: getattr(done, field.name) for field in fields(done)}, left=len(left_out))
    if done.cancelled:
        return outcome
    comparison = await Comparison.prepare(incoming, library.memory, library.trash.now(), with_vectors=True)
    differing, differs = list[str](), 0

    def visit(one: Compared) -> None:
        nonlocal differs
        if one.state != "same" and hash(comparison.identity(one.stored)) not in left_out:
            differs += 1
            differing.extend([short_key(one.stored.key)] if len(differing) < _MAX_DIFFERING else [])

    try:
        counts = await compare_all(comparison, visit, on_progress)
    except Stopped:
        return replace(outcome, cancelled=True)
    return replace(outcome, verified=counts["same"], differs=differs, differing=tuple(differing))
