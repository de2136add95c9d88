"""R-Mem's database: browsed, and recalled as R-Mem does it. It is read-only."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from zeroclaw_tui.backends.base import Capabilities, Entries, Neighbours, Scored
from zeroclaw_tui.backends.fallback import HeldMemory, copied_by, show
from zeroclaw_tui.backends.health import Health, PastText, StoreRecall
from zeroclaw_tui.backends.rmem.recall import LIMIT, SCALE, Answer, merged, searched
from zeroclaw_tui.backends.rmem.tables import (
    OF_RELATIONS,
    READ_ONLY,
    WHY_NOT,
    Contents,
    Shape,
    check_place,
    is_living,
    read_contents,
    read_shape,
    relation_handle,
    shown_user,
)
from zeroclaw_tui.files.database import (
    FileIdentity,
    Readings,
    ReadOnlyConnection,
    as_text,
    connect_read_only,
    file_identity,
    translated,
    wal_file,
)
from zeroclaw_tui.files.disk import exists, file_size
from zeroclaw_tui.memory import change
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import Refused, Unreadable, UsageError
from zeroclaw_tui.memory.query import MemoryFilter, Sort, SortField, Superseded
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.text import counted
from zeroclaw_tui.scoring.evidence import Evidence, OwnEvidence
from zeroclaw_tui.scoring.neighbours import Neighbour
from zeroclaw_tui.scoring.profiles import ScoringProfile, ScoringSettings
from zeroclaw_tui.scoring.vectors import plain_cosines

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.config.memory_config import MemoryConfig

Done = TypeVar("Done")

STAGE = "rmem"
"""What the stage of every result is called, whichever part of R-Mem's recall it comes from."""
NOT_READ = "R-Mem's own agents read this; no ZeroClaw does."
MODEL_UNKNOWN = (
    "The database does not name the embedding model, only R-Mem's rustmem.toml does. No embeddings can be created here."
)
LEFT_BEHIND = "R-Mem keeps a copy of what it deletes in its archive, and the text in its history."
TWO_RULES = (
    "This file is of R-Mem 0.2.x, which had two rules: shown is that of late 0.2.0 and 0.2.1; 0.2.0 as first released "
    "ranked every memory."
)
_ONE_OF_SEVERAL = (
    "R-Mem searches for one user at a time: the hits of its {} users are put together by score; --namespace names one."
)
_NO_VECTOR = "Without the query's vector R-Mem would rank nothing: shown is what its keyword stage picks, unranked."
_OTHER_LENGTH = "The query's vector has {:,} numbers and those here have {:,}: another model made them."
_NO_BOUNDS = "R-Mem's search knows no bounds in time, so they leave nothing out."
_AT_ONCE = 500


class RMemMemory(HeldMemory):
    """A rustmem.db of R-Mem 0.1.0 to 0.3.0; a user_id is a namespace.

    Its living memories have rowids as handles. The archive is shown as memories that were superseded, its relations as
    memories of the kind "semantic:relation". Texts are held; vectors are read when they are needed.
    """

    name = "rmem"
    program = "R-Mem"
    recall_limit = LIMIT
    keeps_history = True
    keeps_texts = True
    not_read_because = NOT_READ
    recalls_by = "R-Mem's own rule"
    keeps_deleted = LEFT_BEHIND
    read_only_because = READ_ONLY

    def __init__(self, path: Path) -> None:
        self.path = path
        self.location = str(path)
        self._connection: ReadOnlyConnection | None = None
        self._file: FileIdentity | None = None
        self._seen: int | None = None
        self._changes = 0
        self._contents: Contents | None = None
        self._looking = asyncio.Lock()
        self._readings = Readings(path)
        self.capabilities = capabilities_of(None)

    @classmethod
    def from_config(cls, config: MemoryConfig) -> RMemMemory:
        """The file that the location or the config names, else the lone database that was opened. Raises UsageError."""
        named = config.location or config.storage.get("path")
        if isinstance(named, str) and named:
            return cls(Path(named).expanduser())
        if config.install.layout != "lone":
            raise UsageError(
                "No R-Mem database given.",
                hint="Pass --location PATH or set path under [storage.rmem] in config.toml.",
            )
        return cls(config.install.database)

    @property
    def shape(self) -> Shape:
        """What the database has; only after `open`."""
        if self._contents is None or self._contents.shape is None:
            raise RuntimeError("open() comes first")
        return self._contents.shape

    async def open(self) -> None:
        """Connect, tell the version and read the texts. Raises Unreadable, Corrupt, Locked."""
        if not await asyncio.to_thread(exists, self.path):
            # R-Mem makes it, and no ZeroClaw.
            raise Unreadable(f"There is no file {self.path}.", hint="Pass the path of a rustmem.db.")
        await asyncio.to_thread(check_place, self.path)
        file, connection = file_identity(self.path), await connect_read_only(self.path)
        try:
            with translated(self.path):
                ((version,),) = await connection.execute_fetchall("PRAGMA data_version")
            contents = await self._readings.run(lambda one: read_contents(one, read_shape(one, self.path), self.path))
        except BaseException:
            await connection.close()
            raise
        earlier, self._connection = self._connection, connection
        self._file, self._seen, self._contents = file, version, contents
        self._changes += 1
        shape = self.shape
        self.capabilities = capabilities_of(shape)
        told = [f"This is the store of R-Mem {shape.version}: {NOT_READ}"]
        if shape.version == "0.2.x":
            told.append(TWO_RULES)
        if len(contents.namespaces) > 1:
            told.append(f"It holds the memories of {len(contents.namespaces):,} users; --namespace names one.")
        self.notices = self.facts = (*told, copied_by(self.path))
        if earlier is not None:
            await earlier.close()

    async def close(self) -> None:
        """Stop what runs and let go of the connection."""
        self._readings.stop()
        async with self._looking:
            connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def held(self) -> Contents:
        """What the tables hold now; read anew where anybody has written since."""
        await self.version()
        if self._contents is None:
            raise RuntimeError("open() comes first")
        return self._contents

    async def version(self) -> int | None:
        """Changes when anybody has written, or put another file in place; then everything is read anew."""
        async with self._looking:
            if self._connection is None:
                raise RuntimeError("open() comes first")
            with translated(self.path):
                ((version,),) = await self._connection.execute_fetchall("PRAGMA data_version")
            if version != self._seen or file_identity(self.path) != self._file:
                await self.open()
            return self._changes

    def order_value(self, entry: MemoryEntry, field: SortField) -> tuple[Any, ...]:
        """The archive and the graph come among the memories by their times, which all are in UTC."""
        value = super().order_value(entry, field)
        return (entry.timestamp, value) if field is SortField.STORED else value

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Raises Refused: see READ_ONLY."""
        raise self.refuse_to_write()

    async def forget(self, key: str) -> bool:
        """Raises Refused: see READ_ONLY."""
        raise self.refuse_to_write()

    async def health(self) -> Health:
        """The facts of the file."""
        contents = await self.held()
        shape, living = self.shape, [entry for entry in contents.entries if is_living(entry)]
        archived = sum(str(entry.handle).startswith("archive:") for entry in contents.entries)
        relations = [entry for entry in contents.entries if entry.kind == OF_RELATIONS]
        facts = {
            "database": str(self.path),
            "bytes": file_size(self.path),
            "write-ahead log bytes": file_size(wal_file(self.path)),
            "R-Mem": shape.version,
            "memories": len(living),
            "users": [shown_user(user) for user in contents.namespaces],
            "archived": archived,
            "relations": sum(entry.superseded_by is None for entry in relations),
            "relations no longer valid": sum(entry.superseded_by is not None for entry in relations),
            "lines of history": await self._readings.run(_lines_of_history),
            "keyword index": "yes" if shape.has_index else "none in this version",
            "embedding model": "not in the database: only rustmem.toml names it",
        }
        return Health(True, f"{counted(len(living))} of R-Mem {shape.version}: answers.", (MODEL_UNKNOWN,), facts)

    async def vector_norm(self, handle: Handle) -> float | None:
        """The Euclidean length of one row's vector; None when it has none."""
        import numpy as np

        vectors = await self._vectors([handle])
        return float(np.linalg.norm(vectors[handle].astype(np.float64))) if handle in vectors else None

    async def nearest(self, entry: MemoryEntry | None, vector: np.ndarray | None, limit: int) -> Neighbours:
        """The rows nearest by cosine among all vectors of that length, archived ones too."""
        import numpy as np

        contents = await self.held()
        if entry is not None:
            vector = (await self._vectors([entry.handle])).get(entry.handle)
        if vector is None or not len(vector):
            return None
        wanted, found = np.asarray(vector, dtype=np.float32), list[Neighbour]()
        handles = [
            other.handle
            for other in contents.entries
            if other.embedding_dimensions == len(wanted) and (entry is None or other.handle != entry.handle)
        ]
        for start in range(0, len(handles), _AT_ONCE):
            vectors = await self._vectors(handles[start : start + _AT_ONCE])
            matrix = np.stack([*vectors.values()]) if vectors else np.zeros((0, len(wanted)), dtype=np.float32)
            scores = await asyncio.to_thread(plain_cosines, wanted, matrix)
            found += [Neighbour(handle, float(score)) for handle, score in zip(vectors, scores, strict=True)]
        found.sort(key=lambda neighbour: -neighbour.score)
        return found[:limit], len(found)

    async def history(self, id: str) -> Sequence[PastText]:
        """R-Mem's own history of a memory, that of the archive's copies being theirs."""
        own = id.removesuffix(":deleted").partition(":superseded:")[0]
        shape = self.shape
        columns = ", ".join(shape.column("history", name) for name in ("action", "old_text", "new_text", "created_at"))
        statement = f"SELECT {columns} FROM history WHERE memory_id = CAST(? AS TEXT) ORDER BY rowid"

        def look(connection: sqlite3.Connection) -> Sequence[PastText]:
            rows = connection.execute(statement, (own.encode("utf-8", "surrogateescape"),)).fetchall()
            return [
                PastText(as_text(action), _text_or_none(old), _text_or_none(new), as_text(at))
                for action, old, new, at in rows
            ]

        return await self._readings.run(look)

    async def related(self, entry: MemoryEntry) -> Entries:
        """Other versions of the memory, and of its user the relations whose source or destination its text names; of a
        relation, the memories that name one of the two."""
        contents, user = await self.held(), entry.namespace
        own = entry.id.removesuffix(":deleted").partition(":superseded:")[0]
        ends = await self._readings.run(_ends_of_relations)

        def names(text: str, handle: Handle) -> bool:
            folded = text.casefold()
            return any(end and end in folded for end in ends.get(handle, ()))

        def is_related(other: MemoryEntry) -> bool:
            if other.handle == entry.handle or other.namespace != user:
                return False
            if entry.kind == OF_RELATIONS:
                return is_living(other) and names(other.content, entry.handle)
            if other.kind == OF_RELATIONS:
                return other.superseded_by is None and names(entry.content, other.handle)
            return other.id.removesuffix(":deleted").partition(":superseded:")[0] == own

        return [other for other in contents.entries if is_related(other)]

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """R-Mem's recall without the query's vector; a session and bounds in time make no difference."""
        answers = await self._answers(RecallRequest(query, limit), None)
        return list(_results(await self.held(), answers, limit))

    async def search(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> StoreRecall:
        """R-Mem's own recall, whatever the profile: for the user that `namespace` names, else for every one."""
        found, _ = await self._searched(request, query_vector)
        return found

    async def evidence(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> Evidence:
        """The answer for this limit alone, with what the rule did with every memory."""
        found, answers = await self._searched(request, query_vector)
        return _evidence(request, found, answers)

    async def recall_evidence(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> Evidence:
        """The same."""
        return await self.evidence(request, profile, settings, query_vector)

    async def _searched(
        self, request: RecallRequest, query_vector: np.ndarray | None
    ) -> tuple[StoreRecall, Sequence[Answer]]:
        contents = await self.held()
        notes = [TWO_RULES] if self.shape.version == "0.2.x" else []
        vector, because = _usable(contents, query_vector)
        notes += [because] if because else []
        answers = await self._answers(request, vector)
        for answer in answers:
            notes += answer.notes(is_one_of_several=len(answers) > 1)
        if len(answers) > 1:
            notes.append(_ONE_OF_SEVERAL.format(f"{len(answers):,}"))
        if vector is None and any(isinstance(hit.handle, int) for answer in answers for hit in answer.hits):
            notes.append(_NO_VECTOR)
        elif vector is None:
            notes.append("Without the query's vector R-Mem's recall cannot rank memories or look into its archive.")
        if request.since is not None or request.until is not None:
            notes.append(_NO_BOUNDS)
        if request.session_id is not None:
            notes.append(f"{WHY_NOT['sessions']} The session leaves nothing out.")
        if request.agents:
            notes.append(f"{WHY_NOT['agents']} The agents leave nothing out.")
        results = tuple(_results(contents, answers, request.limit))
        return StoreRecall(results, STAGE, SCALE, tuple(notes)), answers

    async def _answers(self, request: RecallRequest, vector: np.ndarray | None) -> Sequence[Answer]:
        contents, shape = await self.held(), self.shape
        users = contents.namespaces if request.namespace is None else (request.namespace,)

        def look(connection: sqlite3.Connection) -> Sequence[Answer]:
            return [searched(connection, shape, user, request.query, vector, request.limit) for user in users]

        return await self._readings.run(look, is_search=True)

    async def stored(self, id: str) -> change.StoredRow | None:
        """One memory as it is shown, with its vector."""
        return (await self.stored_by_id([id])).get(id)

    async def stored_by_id(self, ids: Sequence[str]) -> dict[str, change.StoredRow]:
        """The same for many."""
        known = (await self.held()).by_id
        return {row.id: row for row in await self._with_vectors([known[one] for one in ids if one in known])}

    async def stored_of(self, handles: Sequence[Handle]) -> Sequence[change.StoredRow]:
        """The rows of these handles, in that order."""
        return await self._with_vectors(await self.whole_rows(handles))

    async def scan(self, see: change.See, filter: MemoryFilter | None = None) -> None:
        """Show every row with its vector, in the order of storing, some hundreds read at a time."""
        wanted = MemoryFilter(superseded=Superseded.SHOW) if filter is None else filter
        ordered = await self._ordered(wanted, Sort(descending=False))
        for start in range(0, len(ordered), _AT_ONCE):
            rows = await self.stored_of([entry.handle for entry in ordered[start : start + _AT_ONCE]])
            await show(rows, see)

    async def fill_vectors(self, vectors: Sequence[change.NewVector]) -> change.FilledVectors:
        """Raises Refused: see MODEL_UNKNOWN."""
        raise Refused(MODEL_UNKNOWN, hint="R-Mem itself embeds what it stores.")

    async def check_model(self, provider: str, model: str, dimensions: int) -> None:
        """Raises Refused: see MODEL_UNKNOWN."""
        raise Refused(MODEL_UNKNOWN, hint="R-Mem itself embeds what it stores.")

    def interrupt(self) -> None:
        """Stop the search that runs now."""
        self._readings.stop(only_searches=True)

    async def _vectors(self, handles: Sequence[Handle]) -> dict[Handle, np.ndarray]:
        """The vectors of these rows, without those that are none."""
        import numpy as np

        def look(connection: sqlite3.Connection) -> dict[Handle, np.ndarray]:
            found: dict[Handle, np.ndarray] = {}
            for handle in handles:
                table, _, rowid = str(handle).rpartition(":")
                if table not in ("", "archive"):
                    continue
                row = connection.execute(
                    f"SELECT embedding FROM {table or 'memories'} WHERE rowid = ?", (int(rowid),)
                ).fetchone()
                if row is not None and isinstance(row[0], bytes) and row[0] and not len(row[0]) % 4:
                    found[handle] = np.frombuffer(row[0], dtype="<f4")
            return found

        return await self._readings.run(look)

    async def _with_vectors(self, entries: Sequence[MemoryEntry]) -> Sequence[change.StoredRow]:
        vectors = await self._vectors([entry.handle for entry in entries])
        return [
            replace(row, values={**row.values, "embedding": vectors[row.handle].tobytes()})
            if row.handle in vectors
            else row
            for row in map(change.StoredRow.of, entries)
        ]


def capabilities_of(shape: Shape | None) -> Capabilities:
    """What can be done with a file of this version."""
    has_index = shape is not None and shape.has_index
    no_index = {} if has_index else {"keyword": "R-Mem before 0.2.0 has no keyword index."}
    return Capabilities(
        vectors=True,
        keyword=has_index,
        sessions=False,
        namespaces=True,
        superseded=True,
        kind=True,
        watch=True,
        why_not=WHY_NOT | no_index,
    )


def _usable(contents: Contents, vector: np.ndarray | None) -> tuple[np.ndarray | None, str | None]:
    """The query's vector where rows have vectors of its length, and a sentence where they have others."""
    import numpy as np

    if vector is None:
        return None, None
    lengths = Counter(entry.embedding_dimensions for entry in contents.entries if entry.embedding_dimensions)
    if lengths and len(vector) not in lengths:
        return None, _OTHER_LENGTH.format(len(vector), lengths.most_common(1)[0][0])
    return np.ascontiguousarray(vector, dtype=np.float32), None


def _results(contents: Contents, answers: Sequence[Answer], limit: int) -> Iterator[ScoredEntry]:
    rank = 0
    for hit in merged(answers, limit):
        entry = contents.by_handle.get(hit.handle)
        if entry is not None:
            rank += 1
            yield ScoredEntry(entry, rank, hit.score, vector_score=hit.cosine, stage=STAGE, source=hit.source)


def _evidence(request: RecallRequest, found: StoreRecall, answers: Sequence[Answer]) -> OwnEvidence:
    by_user = {answer.user: answer for answer in answers}

    def told(entry: MemoryEntry) -> str:
        answer = by_user.get(entry.namespace or "")
        if answer is None:
            return f"it is of the user {shown_user(entry.namespace or '')}, and another one is asked for"
        return answer.told(entry)

    return OwnEvidence(
        request,
        found.entries,
        found.mode,
        found.scale,
        False,
        found.notes,
        (0,) * len(found.entries),
        is_of_limit=True,
        program=RMemMemory.program,
        told=told,
    )


def _ends_of_relations(connection: sqlite3.Connection) -> dict[Handle, tuple[str, str]]:
    """Source and destination of every relation, in small letters."""
    rows = connection.execute("SELECT rowid, source, destination FROM relations")
    return {relation_handle(rowid): (as_text(one).casefold(), as_text(other).casefold()) for rowid, one, other in rows}


def _lines_of_history(connection: sqlite3.Connection) -> int:
    ((lines,),) = connection.execute("SELECT count(*) FROM history")
    return int(lines)


def _text_or_none(value: object) -> str | None:
    return None if value is None else as_text(value)
