"""Repairs of what the doctor found, vectors that are missing among it, compacting, and the backup that comes first."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.cancellation import CancellableTask, read_in_thread
from zeroclaw_tui.backends.factory import create_memory, has_database
from zeroclaw_tui.backends.health import Repair
from zeroclaw_tui.backends.lookup import fill_vectors, require_database, row_with_id
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.changes import Outcome, refuse_read_only, run_change
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.side_files import FileVanished, remove_file
from zeroclaw_tui.curation.trash.trash import RunningAction
from zeroclaw_tui.curation.words import vector_words
from zeroclaw_tui.embeddings.base import Embedder, EmbeddingRequest, InputRejectedError, estimate_tokens
from zeroclaw_tui.embeddings.endpoint import BACKGROUND, OpenAIEmbedder, RetryPolicy, Sleep, embed_each
from zeroclaw_tui.files.database import wal_file, why_not_writable
from zeroclaw_tui.files.disk import (
    FULL,
    MAKE_ROOM,
    file_size,
    make_folder,
    names_in,
    remove_abandoned,
    remove_stale_temp_files,
    sync_folder,
    work_folder,
)
from zeroclaw_tui.files.whole_database import (
    copy_database,
    describe_processes,
    free_bytes,
    processes_using,
    remove_database,
    require_exclusive,
)
from zeroclaw_tui.memory.change import NewVector, ProgressCallback, Row, RowVersion, Vector
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, DiskFull, EmbeddingFailed, Locked, NotFound, Refused, Unreadable
from zeroclaw_tui.memory.text import WHITE_SPACE, counted, one_line, size_shown

if TYPE_CHECKING:
    from zeroclaw_tui.curation.doctor.examination import DoctorFinding


AT_ONCE = 16
"""How many texts go into one request, and at most how many vectors a kill loses."""
_MOST_CHARACTERS = 100_000
_SLICE = 0.25
"""Seconds of a wait after which a stop is noticed."""
_LONGEST_KEY_SHOWN = 60


@dataclass(frozen=True, slots=True)
class ReindexPlan:
    """Which memories lack a vector, or have one that fits no query. `characters` and `tokens` (about a quarter of
    them) are what would be sent.

    `wrong` are vectors of another length, all zeros, or with numbers that are none; of memories named by ids, any.
    """

    missing: tuple[RowVersion, ...]
    wrong: tuple[RowVersion, ...]
    characters: int
    tokens: int
    model: str
    is_remote: bool

    @property
    def count(self) -> int:
        """How many vectors to make."""
        return len(self.missing) + len(self.wrong)


@dataclass(frozen=True, slots=True)
class Reindexed:
    """How it went; `left` changed meanwhile, `failed` are sentences. `stopped` says that it can be gone on with.

    `zeros` got a vector of zeros, as ZeroClaw stores it too, which no query is like.
    """

    filled: int
    left: int
    failed: tuple[str, ...] = ()
    stopped: bool = False
    zeros: int = 0


async def plan_reindex(library: Library, *, ids: tuple[str, ...] | None = None) -> ReindexPlan:
    """What is to be done, of all memories or of these. Raises Refused with the reason where there is no embedder or the
    store keeps no vectors."""
    embedder = _embedder(library)
    missing: list[RowVersion] = []
    wrong: list[RowVersion] = []
    characters = 0

    def look(row: Row) -> None:
        nonlocal characters
        content = row.values.get("content")
        if not isinstance(content, str) or not content.strip(WHITE_SPACE):
            return
        vector = row.values.get("embedding")
        if vector and ids is None and _is_good(vector, embedder.dimensions):
            return
        (wrong if vector else missing).append(library.memory.stamp_of(row))
        characters += len(content)

    if ids is None:
        await library.memory.scan(look)
    else:
        for row in [await row_with_id(library.memory, named) for named in dict.fromkeys(ids)]:
            if row is not None:
                look(row)
    model, tokens = library.config.embedding.model, estimate_tokens(characters)
    return ReindexPlan(tuple(missing), tuple(wrong), characters, tokens, model, is_remote=embedder.is_remote)


def announce(library: Library, plan: ReindexPlan) -> EmbeddingRequest | None:
    """Announce what the plan sends to another machine, if nothing was sent there yet; None if it sends nothing."""
    embedder = library.embedder
    if not plan.is_remote or not plan.count or embedder is None:
        return None
    request = EmbeddingRequest(library.embedding_host, plan.model, plan.count, plan.characters, is_query=False)
    embedder.announce(request)
    return request


async def reindex(
    library: Library,
    plan: ReindexPlan,
    *,
    on_progress: Callable[[int], bool] | None = None,
    retries: RetryPolicy = BACKGROUND,
) -> Reindexed:
    """Create the vectors of the plan and write them in batches, so that a stopped or killed run loses one batch.

    `on_progress` gets the number of finished memories and stops the run with False. A busy endpoint is asked again; any
    other failure ends the run. Raises Refused before anything is sent if the store names another model, and the errors
    of every write.
    """
    refuse_read_only(library)
    embedder = _embedder(library)
    embedding = library.config.embedding
    database = library.memory.upkeep.database
    if database is not None:
        await database.check_model(embedding.provider, embedding.model, embedder.dimensions)
    run = _Reindexing(library, plan, embedder, on_progress)
    if not isinstance(embedder, OpenAIEmbedder):
        return await run.run()
    patient = OpenAIEmbedder(embedding, retries._replace(sleep=run.stoppable(retries.sleep)))
    run.embedder = patient
    try:
        return await run.run()
    finally:
        await patient.close()


class _Stopped(Exception):
    """A person stops the run while a busy endpoint is waited for."""


class _Reindexing:
    """One run; `filled`, `left`, `zeros` and `failed` are so far."""

    def __init__(
        self, library: Library, plan: ReindexPlan, embedder: Embedder, on_progress: Callable[[int], bool] | None
    ) -> None:
        self.embedder = embedder
        self._library, self._advance = library, on_progress
        self._wanted = (*plan.missing, *plan.wrong)
        self._missing = frozenset(stamp.id for stamp in plan.missing)
        self.filled = self.left = self.zeros = 0
        self.failed: list[str] = []

    def stoppable(self, sleep: Sleep) -> Sleep:
        """Split a wait into slices, between which a person can stop the run."""

        async def wait(seconds: float) -> None:
            for _ in range(math.ceil(seconds / _SLICE)):
                if not self._goes_on():
                    raise _Stopped
                await sleep(_SLICE)

        return wait

    async def run(self) -> Reindexed:
        """Batch by batch until all are done, someone stops, or the endpoint says no."""
        batch: list[Row] = []
        try:
            for stamp in self._wanted:
                row = await self._still_wanted(stamp)
                if row is None:
                    self.left += 1
                    continue
                if batch and (len(batch) == AT_ONCE or _characters([*batch, row]) > _MOST_CHARACTERS):
                    await self._do(batch)
                    batch = []
                    if not self._goes_on():
                        return self._ended(stopped=True)
                batch.append(row)
            if batch:
                await self._do(batch)
                self._goes_on()
        except _Stopped:
            return self._ended(stopped=True)
        except EmbeddingFailed as failure:
            self.failed.append(failure.message)
        return self._ended(stopped=False)

    async def _do(self, rows: Sequence[Row]) -> None:
        made = await embed_each(self.embedder, [self._library.memory.text_to_embed(row) for row in rows])
        embedding = self._library.config.embedding
        vectors: list[NewVector] = []
        for row, found in zip(rows, made, strict=True):
            name = one_line(row.key)[:_LONGEST_KEY_SHOWN]
            if isinstance(found, InputRejectedError):
                self.failed.append(f"{name}: {found.message}")
                continue
            self.zeros += not found.any()
            vector = Vector(found.astype("<f4").tobytes(), embedding.provider, embedding.model)
            vectors.append(NewVector(row.id, row.fingerprint, vector))
        filled = await fill_vectors(self._library.memory, vectors)
        self.filled += filled.filled
        self.left += len(filled.left)

    async def _still_wanted(self, stamp: RowVersion) -> Row | None:
        """The row as it is now; None where it has gone, or got a vector meanwhile."""
        row = await row_with_id(self._library.memory, stamp.id)
        if row is None or not isinstance(row.values.get("content"), str):
            return None
        vector = row.values.get("embedding")
        has_one = bool(vector) and _is_good(vector, self.embedder.dimensions)
        return None if has_one and stamp.id in self._missing else row

    def _goes_on(self) -> bool:
        return self._advance is None or self._advance(self.filled)

    def _ended(self, *, stopped: bool) -> Reindexed:
        return Reindexed(self.filled, self.left, tuple(self.failed), stopped, self.zeros)


def _embedder(library: Library) -> Embedder:
    if "vectors" in library.memory.why_not:
        because = library.memory.why_not["vectors"]
        raise Refused(because, hint="Nothing was sent.")
    if library.embedder is None:
        because = (library.no_embedder_because or "no embeddings configured").removeprefix("keyword only: ")
        raise Refused(f"No vectors can be made: {because}", hint="`zeroclaw onboard` sets it up.")
    return library.embedder


def _is_good(vector: object, dimensions: int) -> bool:
    """Whether a query of so many numbers can be like it: neither cut nor zero, and every number one."""
    import numpy as np

    if not isinstance(vector, bytes) or len(vector) != 4 * dimensions:
        return False
    numbers = np.frombuffer(vector, dtype="<f4").astype(np.float64)
    with np.errstate(all="ignore"):
        length = float(numbers @ numbers)
    return math.isfinite(length) and length > 0


def _characters(rows: Iterable[Row]) -> int:
    return sum(len(str(row.values["content"])) for row in rows)


FOLD: Repair = "fold in write-ahead log"
KEPT = 5
_FOLDER = "backups"
_END = ".db"


def size(count: int) -> str:
    """Bytes as "37 bytes", "1.2 KB" or "310 MB"."""
    return counted(count, "byte") if count < 1000 else size_shown(count)


@dataclass(frozen=True, slots=True)
class CompactPlan:
    """`size` of the database with its log and `free` of it, in bytes. `open_in` names the programs that have it open,
    where that can be told; empty else."""

    database: Path
    size: int
    free: int
    open_in: str


async def plan_compact(config: MemoryConfig) -> CompactPlan:
    """Look at the database. Raises Refused where the backend has none, and what opening it raises."""
    _refuse_other_backends(config)
    path = config.database
    free = await read_in_thread(path, free_bytes)
    found = await asyncio.to_thread(processes_using, path)
    return CompactPlan(path, file_size(path) + file_size(wal_file(path)), free, describe_processes(found or ()))


def _refuse_other_backends(config: MemoryConfig) -> None:
    """Raise Refused where memories are not in a database file here."""
    if not has_database(config.backend):
        raise Refused(f"The {config.backend} backend has no database file here.", hint="Nothing was changed.")


@dataclass(frozen=True, slots=True)
class Repaired:
    """What was done, in sentences, and where the backup lies."""

    done: tuple[str, ...]
    backup: Path | None


async def repair_finding(
    config: MemoryConfig,
    library: Library | None,
    finding: DoctorFinding,
    now: datetime,
    on_progress: ProgressCallback | None = None,
) -> Repaired:
    """Do the repair of a finding. Raises Refused where it has none or something changed, Locked, Unreadable.

    To compact, the library lets go of its connections and looks at the file anew afterwards.
    """
    if finding.repair is None or finding.repair == "join split log":
        raise Refused("This cannot be repaired here.", hint=finding.by_hand)
    if library is None:
        raise Refused("The store is not open, so nothing can be repaired in it.", hint=finding.by_hand)
    if finding.repair == "remove leftover":
        return await _remove_leftover(library, finding)
    if finding.repair == "remove unfinished":
        return await asyncio.to_thread(_remove_unfinished, library, Path(finding.target))
    await asyncio.to_thread(_refuse_unwritable, config)
    if finding.repair == "fill vectors":
        return await _fill_vectors(config, library, now, on_progress)
    database = require_database(library.memory)
    if finding.repair == "compact":
        async with database.disconnected():
            return await compact(config, now)
    backup = await back_up(config, now)
    repaired = await database.repair(finding.repair)
    done: tuple[str, ...] = ()
    match finding.repair:
        case "rebuild keyword index":
            done = ("The keyword index was built anew, with ZeroClaw's own triggers.",)
        case "repair hydrated database":
            done = ("The database has ZeroClaw's own tables, indexes and triggers now; every memory is as it was.",)
        case "name unknown agents":
            done = tuple(f"Added the agent {one_line(name)}." for name in repaired.agents)
        case "fold in write-ahead log":
            done = (f"{size(repaired.log_bytes)} of log were folded into the database.",)
    if finding.repair != FOLD:
        # What a repair wrote belongs into the file, since ZeroClaw's move to 0.8 leaves a log behind; another program
        # that has it open does that itself.
        with suppress(Locked):
            await database.repair(FOLD)
    return Repaired(done, backup)


async def compact(config: MemoryConfig, now: datetime, tell: Callable[[str], None] | None = None) -> Repaired:
    """Backup, VACUUM, rebuild of the keyword index, only when no other process has the database open.

    The caller has closed its own connections. Raises Locked naming who has it open where that can be told.
    """
    await asyncio.to_thread(_refuse_unwritable, config)
    say = tell or (lambda sentence: None)
    before = (await plan_compact(config)).size
    await asyncio.to_thread(require_exclusive, config.database)
    say("Making a backup")
    backup = await back_up(config, now)
    say("Rewriting the database")
    found = await require_database(create_memory(config)).compact()
    done = [
        f"The database has {size(found.after)} now, {size(before)} before; "
        f"each of its {counted(found.memories)} is as it was."
    ]
    if found.index_changed:
        done.append("The keyword index had fallen behind and finds other words now.")
    return Repaired(tuple(done), backup)


async def _fill_vectors(
    config: MemoryConfig, library: Library, now: datetime, on_progress: ProgressCallback | None
) -> Repaired:
    plan = await plan_reindex(library)
    backup = await back_up(config, now)
    done = await reindex(library, plan, on_progress=on_progress)
    sentences = [*vector_words(done, plan.count)]
    if done.stopped:
        sentences.append("It was stopped. Run it again to continue.")
    return Repaired((*sentences, *done.failed), backup)


async def _remove_leftover(library: Library, finding: DoctorFinding) -> Repaired:
    path = Path(finding.target)

    async def work(action: RunningAction, going: ProgressCallback) -> Outcome:
        await asyncio.to_thread(remove_file, path, action)
        return Outcome("clean", 1)

    try:
        await run_change(library, "clean", f"removed {one_line(path.name)}", work)
    except FileVanished:
        raise NotFound(f"{path} is no longer there.", hint="Examine again.") from None
    return Repaired((f"{path.name} is in the trash; undo restores it.",), None)


def _remove_unfinished(library: Library, path: Path) -> Repaired:
    refuse_read_only(library)
    try:
        removed = remove_abandoned(path)
    except FileNotFoundError:
        raise NotFound(f"{path} is no longer there.", hint="Examine again.") from None
    except OSError as error:
        raise Refused(f"{path} cannot be removed: {error.strerror}.", hint="Check its permissions.") from error
    if not removed:
        raise Refused(f"{path} is being written by another run of this program.", hint="Try again when it is done.")
    return Repaired((f"{one_line(path.name)} was removed.",), None)


def _refuse_unwritable(config: MemoryConfig) -> None:
    _refuse_other_backends(config)
    if config.read_only:
        raise Refused(ASKED_READ_ONLY, hint="Nothing was changed.")
    because = why_not_writable(config.database)
    if because is not None:
        raise Refused(because, hint="Nothing was changed.")


async def back_up(config: MemoryConfig, now: datetime) -> Path:
    """A whole copy of the config's database (SQLite's backup API, so the log is in it), under `<own dir>/backups/`,
    0600; the last five stay. Raises Unreadable when there is no room."""
    task = CancellableTask()
    return await task.run(partial(_made, config, now, task))


def backups_of(config: MemoryConfig) -> list[Path]:
    """The backups of the config's database, the newest first."""
    folder, name = _folder(config), config.database.name
    names = [one for one in names_in(folder) if one.startswith(f"{name}.") and one.endswith(_END)]
    return [folder / one for one in sorted(names, reverse=True) if one != name]


def _made(config: MemoryConfig, now: datetime, task: CancellableTask) -> Path:
    folder = _folder(config)
    try:
        make_folder(folder)
        remove_stale_temp_files(folder)
        target = _free_name(folder, config.database.name, now)
        with work_folder(target) as room:
            made = room / target.name
            copy_database(config.database, made, task.check)
            os.rename(made, target)
        sync_folder(folder)
    except OSError as error:
        raise _no_backup(folder, error) from error
    # Never the one just made: a clock that was put back makes it look like the oldest.
    for old in [backup for backup in backups_of(config) if backup != target][KEPT - 1 :]:
        remove_database(old)
    return target


def _no_backup(folder: Path, error: OSError) -> Unreadable:
    if error.errno in FULL:
        return DiskFull(f"Cannot create a backup in {folder}: the disk is full.", hint=MAKE_ROOM)
    return Unreadable(f"Cannot create a backup in {folder}: {error.strerror}.", hint="Check its permissions.")


def _free_name(folder: Path, name: str, now: datetime) -> Path:
    at = now.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    number, target = 1, folder / f"{name}.{at}{_END}"
    while target.exists():
        number += 1
        target = folder / f"{name}.{at}_{number}{_END}"
    return target


def _folder(config: MemoryConfig) -> Path:
    return config.install.own_dir / _FOLDER
