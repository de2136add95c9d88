"""The Lucid bridge: the local brain.db is the authority, and the lucid program adds what it lacks.

The program is run without a shell and within a time limit, and what it prints is read and merged as ZeroClaw does it.
"""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import signal
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from zeroclaw_tui.backends.base import Entries, Memory, Stamps
from zeroclaw_tui.backends.fallback import as_found
from zeroclaw_tui.backends.health import Health, StoreRecall
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.backends.tables import local_now
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.storage import LUCID_COMMAND, LUCID_VARIABLES, source_of
from zeroclaw_tui.memory.change import Advance, Draft, Edit, Keep, Removal, Stamp, StoredRow, Vector, Written
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import NotFound, NotReachable, Refused, SearchInterrupted
from zeroclaw_tui.memory.query import Facets
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.statistics import Statistics
from zeroclaw_tui.memory.text import WHITE_SPACE, cut, mask_secrets, one_line
from zeroclaw_tui.scoring.evidence import Evidence
from zeroclaw_tui.scoring.keywords import lists_recent
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, ScoringSettings, Version, parse_version

if TYPE_CHECKING:
    import numpy as np

STAGE = "lucid"
SCALE = "by rank: 1.0, 0.95, 0.90 … 0.1"
OPENING, CLOSING = "<lucid-context>", "</lucid-context>"

_ITEM = "- ["
_LEAST_SCORE, _LESS_EACH = 0.1, 0.05
_CATEGORIES = {
    "decision": "core",
    "learning": "core",
    "solution": "core",
    "context": "conversation",
    "conversation": "conversation",
    "bug": "daily",
}
_TYPES = {"core": "decision", "daily": "context", "conversation": "conversation"}

MOST_BYTES = 1 << 20
"""So much of what the program prints is kept; a context of 200 tokens has about a kilobyte."""

_MOST_ERROR_BYTES = 4096
_BYTES_AT_ONCE = 1 << 16
_LONGEST_TOLD = 120
_DEFAULT_NAMESPACE = "default"
_PARSED_AT_ONCE = 50_000
"""Up to so many characters are read in well under a frame; more go to a thread."""

_WITHOUT_VARIABLES: Version = (0, 8, 0)
_WITH_TABLE: Version = (0, 8, 4)
_OF_THE_TABLE = ("binary_path", "recall_timeout_ms", "store_timeout_ms")
_BY_VARIABLES = frozenset(map(source_of, (LUCID_COMMAND, *LUCID_VARIABLES)))

KEEPS = "Lucid keeps its own copy: its program has no command to delete."
_RUNS = "Recall runs the program lucid where too few local memories match"
_HANDS_OVER = "and a new memory is handed to it; it never hears of deletions, edits, undo, imports and copies"
NOT_OURS = "This memory is lucid's own and cannot be changed or deleted here."
NO_COMMAND = "Its program has no command for that."
NOT_THE_AGENTS = (
    "ZeroClaw >= 0.8.0 asks lucid only where no agent is named; its agents recall from the local database alone."
)

WITHHELD = "lucid's own"
"""Why an agent is not given a row."""


@dataclass(frozen=True, slots=True)
class LucidSettings:
    """What holds for one version. Times are milliseconds, `budget` tokens; the defaults are those up to 0.8.3.

    `local_hit_threshold` is how many local hits are enough not to ask.
    """

    binary_path: str = "lucid"
    budget: int = 200
    local_hit_threshold: int = 3
    recall_timeout_ms: int = 500
    store_timeout_ms: int = 800
    failure_cooldown_ms: int = 15_000


@dataclass(frozen=True, slots=True)
class LucidConfig:
    """What a config says: by the variables ZEROCLAW_LUCID_*, and in the table [storage.lucid.<alias>]."""

    variables: Mapping[str, Any]
    table: Mapping[str, Any]

    @classmethod
    def of(cls, config: MemoryConfig) -> LucidConfig:
        """The settings of a config, told apart by where each comes from."""
        by_variables = {name for name in config.storage if config.sources.get(f"storage.{name}") in _BY_VARIABLES}
        return cls(
            {name: value for name, value in config.storage.items() if name in by_variables},
            {name: value for name, value in config.storage.items() if name not in by_variables},
        )

    def for_version(self, version: Version) -> LucidSettings:
        """ZeroClaw <= 0.7.5 reads the variables, 0.8.0 to 0.8.3 nothing at all, >= 0.8.4 the table.

        There a time-out of 0 counts as none given, and an empty path stays empty: nothing can be run by it.
        """
        if version < _WITHOUT_VARIABLES:
            return replace(LucidSettings(), **self.variables)
        if version < _WITH_TABLE:
            return LucidSettings()
        given = {name: self.table[name] for name in _OF_THE_TABLE if self.table.get(name) not in (None, 0)}
        return replace(LucidSettings(recall_timeout_ms=3000, store_timeout_ms=3000), **given)

    def unread_by(self, version: Version) -> tuple[str, ...]:
        """The settings given here that this version does not look at, as a person wrote them."""
        table = tuple(f"[storage.lucid] {name}" for name in self.table)
        variables = tuple(map(_variable_of, self.variables))
        if version < _WITHOUT_VARIABLES:
            return table
        return variables if version >= _WITH_TABLE else (*variables, *table)


def _variable_of(name: str) -> str:
    named = {key: variable for variable, (key, _) in LUCID_VARIABLES.items()}
    return named.get(name, LUCID_COMMAND)


_NOTHING_SAID = LucidConfig({}, {})


@dataclass(frozen=True, slots=True)
class Answer:
    """What the program printed, how long that took, and whether it printed more than is kept."""

    text: str
    milliseconds: float
    is_cut: bool = False


async def run(command: str, arguments: Sequence[str], milliseconds: int) -> Answer:
    """The program's output once it has ended well and closed it; bytes that are no UTF-8 become U+FFFD.

    Raises NotReachable with one sentence for a program that cannot be run, fails or takes longer. Its whole process
    group is ended then, and where the await is cancelled.
    """
    began = time.perf_counter()
    try:
        async with asyncio.timeout(milliseconds / 1000):
            code, output, error = await _ended([_argument(text) for text in (command, *arguments)])
    except TimeoutError:
        raise NotReachable(f"{shown(command)} did not answer within {milliseconds} ms.") from None
    except OSError as failure:
        raise NotReachable(_not_run(command, failure)) from failure
    if code != 0:
        raise NotReachable(_ended_badly(command, code, error))
    kept = output[:MOST_BYTES].decode("utf-8", "replace")
    return Answer(kept, (time.perf_counter() - began) * 1000, len(output) > MOST_BYTES)


def shown(text: str) -> str:
    """Text of the outside in a sentence: on one line, without secrets, not too long."""
    return cut(one_line(mask_secrets(text)), _LONGEST_TOLD)


def _argument(text: str) -> bytes:
    with suppress(UnicodeEncodeError):
        argument = os.fsencode(text)
        if b"\0" not in argument:
            return argument
    raise NotReachable("A text with a NUL or half a surrogate pair cannot be given to a program.")


async def _ended(arguments: Sequence[bytes]) -> tuple[int, bytes, bytes]:
    """The exit code, the output and the error output, each with one byte more than is kept where there is more."""
    with ExitStack() as open_ends:
        # A pipe of our own can be closed even while a grandchild that fled its group holds the other end.
        output, write_output = await _pipe(open_ends)
        error, write_error = await _pipe(open_ends)
        process = await _started(arguments, write_output, write_error)
        write_output.close()
        write_error.close()
        reading = [asyncio.ensure_future(_kept(output, MOST_BYTES + 1))]
        reading += [asyncio.ensure_future(_kept(error, _MOST_ERROR_BYTES))]
        try:
            told = await asyncio.gather(*reading)
            code = await process.wait()
        except BaseException:
            for task in reading:
                task.cancel()
            await _end(process)
            raise
    return code, told[0], told[1]


async def _started(arguments: Sequence[bytes], output: IO[bytes], error: IO[bytes]) -> Process:
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(*arguments, stdin=DEVNULL, stdout=output, stderr=error, start_new_session=True)
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # Cancelled while it starts, asyncio would end the program alone and leave its children behind.
        with suppress(OSError):
            await _end(await starting)
        raise


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # Waited for even when this is cancelled once more, so that none is left behind.
    await asyncio.shield(process.wait())


async def _pipe(open_ends: ExitStack) -> tuple[asyncio.StreamReader, IO[bytes]]:
    """A stream to read from, and the end to write to. Both are closed with `open_ends`."""
    reading, writing = (
        open_ends.enter_context(os.fdopen(end, mode, buffering=0))
        for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True)
    )
    stream = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), reading
    )
    open_ends.callback(transport.close)
    return stream, writing


async def _kept(stream: asyncio.StreamReader, most: int) -> bytes:
    """The beginning of what comes; the rest is read and dropped so that the program can end."""
    kept = bytearray()
    while more := await stream.read(_BYTES_AT_ONCE):
        kept += more[: most - len(kept)]
    return bytes(kept)


def _not_run(command: str, failure: OSError) -> str:
    if not command:
        return "The path of the lucid program is empty."
    if isinstance(failure, FileNotFoundError) and shutil.which(command) is None:
        return f"There is no file {shown(command)}." if "/" in command else f"There is no {shown(command)} on PATH."
    if os.path.isdir(command):
        return f"{shown(command)} is a folder and no program."
    if isinstance(failure, PermissionError):
        return f"{shown(command)} may not be run by this user."
    return f"{shown(command)} cannot be run: {failure.strerror or 'the system refuses it'}."


def _ended_badly(command: str, code: int, error: bytes) -> str:
    ended = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
    said = shown(error.decode("utf-8", "replace").strip().partition("\n")[0])
    return f"{shown(command)} {ended}{f': {said}' if said else '.'}"


def type_of(category: str) -> str:
    """The type under which a memory of this category is handed to lucid."""
    return _TYPES.get(category, "learning")


def category_of(label: str) -> str:
    """The category of a memory that lucid gives under this label; one that nobody knows is a category of its own."""
    lowered = label.lower()
    return "visual" if "visual" in lowered else _CATEGORIES.get(lowered, lowered)


def items_in(text: str) -> list[tuple[str, str]]:
    """Label and content of every item between the two tags, in their order; all other lines mean nothing.

    Lines end at a line feed alone, and blanks around a line, a label and a content do not count. An item lies on one
    line: lucid does not escape the line ends of a content, so what follows one is lost, in ZeroClaw as here.
    """
    items: list[tuple[str, str]] = []
    within = False
    for line in (line.strip(WHITE_SPACE) for line in text.split("\n")):
        if line == CLOSING:
            break
        if line == OPENING:
            within = True
        elif within and line.startswith(_ITEM):
            label, bracket, content = line.removeprefix(_ITEM).partition("]")
            content = content.strip(WHITE_SPACE)
            if bracket and content:
                items.append((label.strip(WHITE_SPACE), content))
    return items


def scored(items: Sequence[tuple[str, str]], now: str, namespace: str | None, asked: int) -> list[ScoredEntry]:
    """The items as memories of this moment, in the order lucid gave them, each scored by its place.

    Lucid numbers nothing itself: ids and keys are those ZeroClaw makes up, the same for every query. `asked` makes the
    handles of one answer differ from those of any other.
    """
    found = []
    for place, (label, content) in enumerate(items):
        entry = MemoryEntry(
            id=f"lucid:{place}",
            key=f"lucid_{place}",
            content=content,
            category=category_of(label),
            timestamp=now,
            namespace=namespace,
            handle=f"lucid:{asked}:{place}",
        )
        score = max(_LEAST_SCORE, 1.0 - place * _LESS_EACH)
        found.append(ScoredEntry(entry.whole(content), place + 1, score, stage=STAGE))
    return found


def merged(local: Iterable[ScoredEntry], lucid: Iterable[ScoredEntry], limit: int) -> list[ScoredEntry]:
    """The local rows, then lucid's, each pair of key and content once whatever its letters' case, at most `limit`."""
    first: dict[str, ScoredEntry] = {}
    for found in (*local, *lucid):
        first.setdefault(f"{found.entry.key.lower()}\0{found.entry.content.lower()}", found)
    return list(islice(first.values(), max(limit, 0)))


def within_bounds(request: RecallRequest) -> Callable[[ScoredEntry], bool]:
    """Whether a row lies within the time bounds of a request, as moments; a time that cannot be read does."""
    since, until = moment(request.since), moment(request.until)

    def holds(found: ScoredEntry) -> bool:
        at = moment(found.entry.timestamp)
        return at is None or not ((since is not None and at < since) or (until is not None and at > until))

    return holds


def ranked(found: Iterable[ScoredEntry]) -> tuple[ScoredEntry, ...]:
    """The same rows with their places in this order."""
    return tuple(replace(each, rank=rank) for rank, each in enumerate(found, 1))


@dataclass(frozen=True, slots=True)
class Question:
    """A recall as the bridge has it: the request, the limit of the recall within, and what holds for its version."""

    request: RecallRequest
    limit: int
    profile: ScoringProfile
    settings: LucidSettings
    project: Path
    has_namespaces: bool

    @property
    def is_kept_from_agents(self) -> bool:
        """Whether what lucid adds reaches no agent, and this asks what does: ZeroClaw >= 0.8.0 always names one."""
        return self.request.layer == "agent" and self.profile.agent_scope != "none"

    def arguments(self) -> list[str]:
        """What the program is called with; ZeroClaw >= 0.7.5 asks for the newest, "*", with an empty text."""
        query = self.request.query
        if self.profile.star_lists_recent and lists_recent(query, self.profile):
            query = ""
        project = _path_text(self.project)
        return ["context", query, f"--budget={self.settings.budget}", f"--project={project}"]


class Asking:
    """One bridge's questions to the program: its last answer, its last failure, and what runs now."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failed_at: float | None = None
        self._asked = 0
        self._answered: dict[str, MemoryEntry] = {}
        self._running: set[asyncio.Task[Answer]] = set()

    def seconds_of_rest(self, settings: LucidSettings) -> float:
        """For how many more seconds the program is not asked; 0 when it is."""
        if self._failed_at is None:
            return 0.0
        return max(0.0, self._failed_at + settings.failure_cooldown_ms / 1000 - self._clock())

    def answered(self) -> tuple[MemoryEntry, ...]:
        """What lucid gave when it was last asked and had something."""
        return tuple(self._answered.values())

    def stop(self) -> None:
        """End every program that runs; whoever waits for one gets SearchInterrupted."""
        for task in self._running:
            task.cancel()

    async def completed(self, question: Question, local: StoreRecall) -> StoreRecall:
        """The local recall with what lucid adds, and a note on why it does or does not."""
        found, notes = await self._found(question, len(local.entries))
        if not found:
            kept = _picked(local.entries, question)
            return replace(local, entries=kept, notes=(*local.notes, *notes))
        if question.is_kept_from_agents:
            found = [replace(row, withheld=WITHHELD) for row in found]
        rows = merged(local.entries, found, question.limit)
        if question.profile.has_time_bounds:
            rows = list(filter(within_bounds(question.request), rows))
        kept = _picked(rows, question)
        self._remember(found)
        stages = {row.stage for row in kept}
        if STAGE not in stages:
            return replace(local, entries=kept, notes=(*local.notes, *notes))
        if question.profile.agent_scope != "none":
            notes.append(NOT_THE_AGENTS)
        is_alone = len(stages) == 1
        mode = STAGE if is_alone else local.mode
        scale = f"lucid {SCALE}" if is_alone else f"{local.scale}; lucid {SCALE}"
        return StoreRecall(kept, mode, scale, (*local.notes, *notes))

    async def _found(self, question: Question, hits: int) -> tuple[list[ScoredEntry], list[str]]:
        """What the program gives, where it is asked, and what a person should know about that."""
        settings, request = question.settings, question.request
        because = _why_not_asked(hits, question.limit, settings.local_hit_threshold)
        if because is None and request.agents and question.profile.agent_scope != "none":
            because = NOT_THE_AGENTS
        resting = self.seconds_of_rest(settings)
        if because is None and resting:
            because = f"Lucid was not asked: it rests for {math.ceil(resting)} s after it failed."
        if because is not None:
            return [], [because]
        try:
            answer = await self._answer(question)
        except NotReachable as failure:
            self._failed_at = self._clock()
            return [], [f"Local memories only: {failure.message}"]
        self._failed_at = None
        items = await self._items(answer.text)
        self._asked += 1
        namespace = _DEFAULT_NAMESPACE if question.has_namespaces else None
        notes = [_told(answer, len(items))]
        if answer.is_cut:
            notes.append(f"Lucid printed more than {MOST_BYTES >> 20} MiB; the rest was not read.")
        # No two of lucid's rows have one key, so all beyond these would be cut off.
        most = question.limit + hits
        return scored(items[:most], local_now(), namespace, self._asked), notes

    async def _answer(self, question: Question) -> Answer:
        settings = question.settings
        task = asyncio.ensure_future(run(settings.binary_path, question.arguments(), settings.recall_timeout_ms))
        self._running.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            if waiting is not None and waiting.cancelling():
                raise
            raise SearchInterrupted from None
        finally:
            self._running.discard(task)

    async def _items(self, text: str) -> list[tuple[str, str]]:
        if len(text) <= _PARSED_AT_ONCE:
            return items_in(text)
        return await asyncio.to_thread(items_in, text)

    def _remember(self, found: Iterable[ScoredEntry]) -> None:
        self._answered = {row.entry.id: row.entry for row in found}


def _picked(rows: Iterable[ScoredEntry], question: Question) -> tuple[ScoredEntry, ...]:
    """The rows of the namespace asked for, up to the limit, with their places; lucid's are in the default one."""
    wanted = question.request.namespace
    if wanted is None:
        return ranked(rows)
    kept = (row for row in rows if (row.entry.namespace or _DEFAULT_NAMESPACE) == wanted)
    return ranked(islice(kept, max(question.request.limit, 0)))


class LucidMemory(SqliteMemory):
    """A brain.db whose recall asks the lucid program for more, and which hands it each new memory.

    All else is the database's own. What lucid answers is no row of it: such an entry has text as its handle, can be
    read as long as it is the last answer, and is refused to whoever would change or delete it. A batch is stored in the
    database alone: lucid would be started once for each of its memories.
    """

    name = "lucid"
    keeps_deleted = (
        "ZeroClaw also gave these memories to the lucid program, which keeps them in its own ~/.lucid/memory.db and "
        "has no delete; where it keeps them elsewhere, that is not ours to look into."
    )
    has_quotas = False

    def __init__(
        self,
        path: Path,
        *,
        location: str | None = None,
        read_only: bool = False,
        project: Path | None = None,
        config: LucidConfig = _NOTHING_SAID,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`project` is ZeroClaw's workspace or data folder; `clock` gives seconds that only rise."""
        super().__init__(path, location=location, read_only=read_only)
        around = path.parent.parent if path.parent.name == "memory" else path.parent
        self._project = project or around
        self._config = config
        self._asking = Asking(clock)
        self._version: str | None = None

    @classmethod
    def from_config(cls, config: MemoryConfig) -> LucidMemory:
        """The bridge of an install. Raises what SqliteMemory's does."""
        local = SqliteMemory.from_config(config)
        project = None if config.location else config.install.root
        return cls(local.path, read_only=config.read_only, project=project, config=LucidConfig.of(config))

    @property
    def trash_name(self) -> str:
        """That of the database: its rows are the same by either name."""
        return SqliteMemory.name

    @property
    def standing(self) -> str | None:
        """How long lucid is not asked any more after it failed."""
        seconds = self._asking.seconds_of_rest(self._settings)
        return f"lucid rests for {math.ceil(seconds)} s" if seconds else None

    async def open(self) -> None:
        """Open the database; lucid itself is looked for when it is asked."""
        await super().open()
        told = f"{_RUNS}, {_HANDS_OVER}." if self.read_only_because is None else f"{_RUNS}."
        self.notices, self.facts = (*self.notices, told), (*self.facts, told)
        why_not = {**self.capabilities.why_not, "zeroclaw_forget": KEEPS}
        self.capabilities = self.capabilities._replace(why_not=why_not)

    async def close(self) -> None:
        """Stop asking, and what SqliteMemory does."""
        self._asking.stop()
        await super().close()

    def interrupt(self) -> None:
        """Stop the search that runs now, the program too."""
        self._asking.stop()
        super().interrupt()

    async def search(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> StoreRecall:
        """The database's recall and, where that finds too little, what lucid adds, by the rules of `profile`.

        A program that fails, hangs or is not there costs nothing but its rows; a note says so.
        """
        self._version = profile.version
        # ZeroClaw asks for twice the limit and then picks out the namespace, which lucid's rows pass through too.
        doubled = replace(request, namespace=None, limit=request.limit * 2)
        wanted = request if request.namespace is None else doubled
        local = await super().search(wanted, profile, settings, query_vector)
        question = Question(request, wanted.limit, profile, self._settings, self._project, self.capabilities.namespaces)
        found = await self._asking.completed(question, local)
        unread = self._config.unread_by(parse_version(profile.version))
        if not unread:
            return found
        told = f"{', '.join(unread)} {'is' if len(unread) == 1 else 'are'} not read by ZeroClaw {profile.version}."
        return replace(found, notes=(*found.notes, told))

    # Lucid's rows come behind what the database has decided, so only the answer of `search` can be judged.
    recall_evidence = Memory.recall_evidence

    async def evidence(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> Evidence:
        """That of the database, unless lucid's rows take part in this recall: then only its answer can be judged."""
        found = await self.search(request, profile, settings, query_vector)
        if any(_is_lucid(scored.entry.handle) for scored in found.entries):
            return as_found(request, found, profile, settings)
        evidence = await super().evidence(request, profile, settings, query_vector)
        local = await super().search(request, profile, settings, query_vector)
        notes = tuple(note for note in found.notes if note not in local.notes)
        return replace(evidence, notes=(*evidence.notes, *notes))

    async def whole_rows(self, handles: Sequence[Handle]) -> Entries:
        """The rows of the database and of lucid's last answer, in that order."""
        held = {entry.handle: entry for entry in await super().whole_rows(handles)}
        held |= {entry.handle: entry for entry in self._asking.answered()}
        return [held[handle] for handle in handles if handle in held]

    async def rows(self, handles: Sequence[Handle]) -> Entries:
        """The rows of the database and of lucid's last answer, as excerpts, in that order."""
        held = {entry.handle: entry for entry in await super().rows([each for each in handles if not _is_lucid(each)])}
        held |= {entry.handle: entry.excerpt() for entry in self._asking.answered()}
        return [held[handle] for handle in handles if handle in held]

    async def whole(self, handle: Handle) -> MemoryEntry:
        """One row with its full content. Raises NotFound when it has gone, or was of an earlier answer of lucid's."""
        if not _is_lucid(handle):
            return await super().whole(handle)
        for entry in self._asking.answered():
            if entry.handle == handle:
                return entry
        raise NotFound("Lucid has been asked something else since.", hint="Recall it again.")

    async def stamps_of(self, handles: Sequence[Handle]) -> Stamps:
        """The stamps of the database's rows. Raises Refused where all that is meant is lucid's."""
        own = [handle for handle in handles if not _is_lucid(handle)]
        if handles and not own:
            raise _not_ours()
        return await super().stamps_of(own)

    async def stored(self, id: str) -> StoredRow | None:
        """One memory of the database. Raises Refused for one of lucid's last answer."""
        row = await super().stored(id)
        if row is None and any(entry.id == id for entry in self._asking.answered()):
            raise _not_ours()
        return row

    async def create(self, draft: Draft, keep: Keep, *, vector: Vector | None = None, replace: bool = False) -> Written:
        """Store a new memory in the database, then hand it to lucid; where that fails a note says so."""
        written = await super().create(draft, keep, vector=vector, replace=replace)
        draft, settings = draft.checked(), self._settings
        arguments = [
            "store",
            f"{draft.key}: {draft.content}",
            f"--type={type_of(draft.category)}",
            f"--project={_path_text(self._project)}",
        ]
        try:
            await run(settings.binary_path, arguments, settings.store_timeout_ms)
        except NotReachable as failure:
            return Written(written.change, (*written.notes, f"Stored here, but not in lucid: {failure.message}"))
        return written

    async def update(self, id: str, edit: Edit, expected: str, keep: Keep, *, vector: Vector | None = None) -> Written:
        """Change a row of the database; ZeroClaw has no such verb, and lucid none to be told by."""
        await self.stored(id)
        written = await super().update(id, edit, expected, keep, vector=vector)
        return Written(written.change, (*written.notes, KEEPS))

    async def remove(
        self, stamps: Sequence[Stamp], keep: Keep, advance: Advance | None = None, *, zero: bool = False
    ) -> Removal:
        """Delete rows of the database. Raises Refused where one of them is lucid's."""
        if any(_is_lucid(stamp.handle) for stamp in stamps):
            raise _not_ours()
        removal = await super().remove(stamps, keep, advance, zero=zero)
        return replace(removal, notes=(*removal.notes, KEEPS)) if removal.removed else removal

    async def health(self) -> Health:
        """The database's, and the facts of the program, which is looked for but not run."""
        return await self._with_program(await super().health())

    async def health_counted(self, rows: Statistics, every: Facets) -> Health:
        """The same."""
        return await self._with_program(await super().health_counted(rows, every))

    async def _with_program(self, health: Health) -> Health:
        settings = self._settings
        program = await asyncio.to_thread(shutil.which, settings.binary_path)
        findings, facts = [*health.findings], dict(health.facts)
        if program is None:
            command = shown(settings.binary_path)
            findings.append(f"The program {command} cannot be run here: recall is the local database's alone.")
        facts["lucid program"] = shown(program) if program else "not found"
        facts["lucid is asked"] = f"below {settings.local_hit_threshold} local hits, for {settings.budget} tokens"
        facts["lucid time-outs"] = f"recall {settings.recall_timeout_ms} ms, store {settings.store_timeout_ms} ms"
        return replace(health, findings=tuple(findings), facts=facts)

    @property
    def _settings(self) -> LucidSettings:
        """By the version whose rules the last search had, else the newest that has this schema."""
        return self._config.for_version(parse_version(self._version or self.newest_version or NEWEST))


def _is_lucid(handle: Handle) -> bool:
    """The database's own handles are numbers."""
    return isinstance(handle, str)


def _not_ours() -> Refused:
    return Refused(NOT_OURS, hint=NO_COMMAND)


def _path_text(path: Path) -> str:
    """A path as ZeroClaw prints it: bytes that are no UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def _why_not_asked(hits: int, limit: int, threshold: int) -> str | None:
    """Why lucid is not asked, by how many local hits there are; None where it is."""
    if limit <= 0:
        return "Lucid was not asked: no memory was wanted."
    if hits < min(limit, threshold):
        return None
    counted = "1 local hit is" if hits == 1 else f"{hits} local hits are"
    return f"Lucid was not asked: {counted} enough."


def _told(answer: Answer, rows: int) -> str:
    """What lucid said, and how long that took."""
    milliseconds = f"{answer.milliseconds:.0f} ms"
    if rows:
        return f"Lucid was asked and gave {rows} {'memory' if rows == 1 else 'memories'} in {milliseconds}."
    if answer.text.strip():
        return f"Lucid was asked and printed no memories in {milliseconds}: its answer has another form."
    return f"Lucid was asked and has nothing on this, after {milliseconds}."
