"""Memory in a Qdrant collection, over its REST interface."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence

from zeroclaw_tui.backends import row_reverting
from zeroclaw_tui.backends.answers import Health, Readiness
from zeroclaw_tui.backends.qdrant import collection, filters, troubles
from zeroclaw_tui.backends.qdrant.address import Address, configured_address
from zeroclaw_tui.backends.qdrant.capabilities import EDITABLE_HERE, capabilities_of
from zeroclaw_tui.backends.qdrant.connection import TOTAL_SECONDS, Connection
from zeroclaw_tui.backends.qdrant.embedding import Embedding, text_of
from zeroclaw_tui.backends.qdrant.points import DEFAULT_AGENT
from zeroclaw_tui.backends.qdrant.searching import NAME
from zeroclaw_tui.backends.qdrant.writing import PointWriter, QdrantRows
from zeroclaw_tui.backends.row_writing import ROWS_AT_ONCE, kept_first
from zeroclaw_tui.config.form import NEWEST_SCHEMA
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.embeddings.base import Embedder
from zeroclaw_tui.embeddings.factory import create_embedder, why_no_embedder
from zeroclaw_tui.embeddings.remote_calls import Tell
from zeroclaw_tui.memory.change import (
    Advance,
    Batches,
    Clash,
    Conflict,
    Draft,
    DuplicateKey,
    Edit,
    FilledVectors,
    Keep,
    NewVector,
    Removal,
    Reversal,
    RowChange,
    Stamp,
    StoredRow,
    Vector,
    Written,
)
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, NothingYet, NotThere, Refused, WrongUse
from zeroclaw_tui.scoring.profiles import ScoringProfile

_OPEN_KEY = "The API key is sent over plain HTTP, readable on the way."
_SLOW = "Qdrant gives points by id alone, so each listing reads all {:,}: that takes seconds."
_SLOW_FROM = 50_000
_PURPOSE = "to store and find memories here"
_TOLD = ("namespace", "importance", "pinned")
_SESSION = "The session is stored as {!r}: this ZeroClaw keeps letters, digits, _ and - only."


class QdrantMemory(PointWriter):
    """One collection. It embeds by itself, key and content together, and refuses to store without an embedder.

    There are no transactions and no time of the last change. A store replaces the memory of that key, with a new id,
    as ZeroClaw does. `names_agents` says that points carry an agent even where none does so far (ZeroClaw >= 0.8.0).
    """

    name = NAME

    def __init__(
        self,
        address: Address,
        api_key: str = "",
        *,
        embedder: Embedder | None = None,
        no_embedder_because: str | None = None,
        names_agents: bool = False,
        read_only: bool = False,
        seconds: float = TOTAL_SECONDS,
    ) -> None:
        super().__init__(Connection(address, api_key, seconds=seconds), Embedding(embedder, no_embedder_because))
        self.location = address.location
        self.read_only_because = ASKED_READ_ONLY if read_only else None
        self._names_agents = names_agents
        self._warnings = (_OPEN_KEY,) if api_key and address.is_open_to_listeners else ()
        self._writing = asyncio.Lock()
        self._describe()

    @classmethod
    def from_config(cls, config: MemoryConfig) -> QdrantMemory:
        """The collection a config names, or one at a URL given by option. Raises WrongUse."""
        address, key = configured_address(config.storage, config.location)
        embedder, _ = create_embedder(config.embedding)
        return cls(
            address,
            key,
            embedder=embedder,
            no_embedder_because=why_no_embedder(config.embedding, purpose=_PURPOSE),
            names_agents=config.schema >= NEWEST_SCHEMA,
            read_only=config.read_only,
        )

    async def open(self) -> None:
        """Look at the collection. Raises NothingYet, NotReachable, and Unreadable for another program's."""
        self._collection = await collection.examine(self._connection)
        self._names_agents = self._names_agents or self._collection.names_agents
        self._describe()
        self.recalls_by = f"{self._scale} only"
        notices = [*self._warnings]
        if self._embedding.why_none is not None:
            notices.append(self._embedding.why_none)
        elif (mismatch := self._mismatch()) is not None:
            notices.append(mismatch)
        number = await self._counted(None)
        if number >= _SLOW_FROM:
            notices.append(_SLOW.format(number))
        self.notices = tuple(notices)

    async def close(self) -> None:
        """Let go of connections."""
        self._collection = None
        await self._connection.close()
        await self._embedding.close()

    def tell_before_first_call(self, tell: Tell) -> None:
        """Tell once, before the first text is sent to the embedding endpoint."""
        if self._embedding.asks is not None:
            self._embedding.asks.tell_before_first_call(tell)

    def ask_again_at_once(self) -> None:
        """Ask an embedding endpoint that has just failed again, at the next query."""
        if self._embedding.asks is not None:
            self._embedding.asks.ask_again_at_once()

    async def make(self, profile: ScoringProfile) -> None:
        """Make the collection: as long as the embedder's vectors, cosine, no payload index.

        Raises Refused without an embedder, and where there is a collection already.
        """
        if self.read_only_because is not None:
            raise self.refuse_to_write()
        if self._embedding.dimensions is None:
            raise Refused(self._embedding.why_none or "", hint="`zeroclaw onboard` sets it up.")
        try:
            await self._connection.describe()
        except NothingYet:
            vectors = {"size": self._embedding.dimensions, "distance": collection.DISTANCE}
            await self._connection.ask("PUT", "", {"vectors": vectors})
        else:
            raise Refused(f"There is a collection {self._connection.address.collection} already.")

    async def readiness(self, seconds: float) -> Readiness:
        """What Qdrant says of the collection: one GET, and nothing else."""
        began, name, place = time.perf_counter(), self._connection.address.collection, self._connection.address.place
        wanted = self._embedding.dimensions
        try:
            async with asyncio.timeout(seconds):
                described = await self._connection.describe()
        except TimeoutError:
            raise troubles.hangs(place, seconds) from None
        except troubles.KeyRefused as error:
            raise Refused(error.message, hint=error.hint) from None
        except NothingYet:
            made = "ZeroClaw makes it" if wanted else "ZeroClaw makes it once an embedding provider is on"
            return Readiness(_answers_in(began), (f"has no collection {shown(name)} yet: {made}",))
        if "config" not in described:
            raise troubles.not_qdrant(place)
        summary, size, points = _answers_in(began), collection.vector_size(described), described.get("points_count")
        if size is None:
            sentence = f"The collection {shown(name)} is not ZeroClaw's: it has no single unnamed vector."
            hint = "Set storage.qdrant.collection to another name."
            return Readiness(summary, problem=Refused(sentence, hint=hint))
        if wanted and size != wanted:
            sentence = (
                f"The collection {shown(name)} holds vectors of {size} numbers, but memory.embedding_dimensions is "
                f"{wanted}."
            )
            hint = (
                f"Set memory.embedding_dimensions to {size} if the model makes such vectors, or choose another "
                "collection."
            )
            right = {"memory.embedding_dimensions": size}
            return Readiness(summary, problem=WrongUse(sentence, hint=hint), corrections=right)
        held = f"{points:,} {'memory' if points == 1 else 'memories'}" if isinstance(points, int) else "memories"
        facts = (f"the collection {shown(name)} holds {held}", f"its vectors have {size:,} numbers")
        return Readiness(summary, facts)

    async def health_check(self) -> bool:
        """True when the collection answers. Raises NotReachable."""
        await self._connection.describe()
        return True

    async def health(self) -> Health:
        """What Qdrant says of the collection, and whether the embedder fits it."""
        described = await self._connection.describe()
        status = described.get("status")
        mismatch = self._embedding.why_none or self._mismatch()
        findings = [] if mismatch is None else [mismatch]
        if status not in ("green", None):
            findings.append(f"Qdrant calls the collection {status}: it is optimising, or in trouble.")
        facts = {
            "memories": await self._counted(None),
            "collection": self._connection.address.collection,
            "server": self._connection.address.place,
            "vector length": self._shape.dimensions,
            "distance": self._shape.distance,
            "status": status,
            "payload indexes": ", ".join(described.get("payload_schema") or {}) or "none",
        }
        return Health(status != "red", "answers", tuple(findings), facts)

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Write one memory of the default agent; a memory of that key is replaced by a new point, as ZeroClaw does."""
        await self.store_batch([Draft(key, content, category, session_id)])

    async def store_batch(self, drafts: Sequence[Draft]) -> None:
        """Write many memories, the last of a key and agent counts; embedded and sent some at a time."""
        self._check_writable()
        last = {(draft.key, draft.agent): draft for draft in drafts}
        wanted = [*last.values()]
        for start in range(0, len(wanted), ROWS_AT_ONCE):
            part = wanted[start : start + ROWS_AT_ONCE]
            vectors = await self.vectors_of([text_of(draft.key, draft.content) for draft in part])
            made = [self.shape.drafted(draft, None, data) for draft, data in zip(part, vectors, strict=True)]
            async with self._writing:
                # The new points first: whatever ends this in between loses nothing.
                await self.upsert(made)
                for agent in {row.agent for row in made}:
                    await self.delete_others([row for row in made if row.agent == agent], agent)

    async def forget(self, key: str) -> bool:
        """Delete by key, every agent's, as ZeroClaw does; True when there was one, which ZeroClaw always says."""
        self._check_writable()
        async with self._writing:
            found = await self._counted(filters.of_key(key))
            if found:
                await self._connection.ask("POST", "/points/delete?wait=true", {"filter": filters.of_key(key)})
        return found > 0

    async def create(self, draft: Draft, keep: Keep, *, vector: Vector | None = None, replace: bool = False) -> Written:
        """Store a new memory, embedded here unless `vector` is given. Raises Refused without an embedder,
        EmbeddingFailed, and DuplicateKey without `replace`, which keeps the id."""
        self._check_writable()
        draft = draft.checked()
        shape, agent = self.shape, draft.agent or DEFAULT_AGENT
        async with self._writing:
            existing = await self.rows_of_keys([draft.key], agent)
            if existing and not replace:
                raise DuplicateKey(draft.key, existing[0])
            data = await self._vector(draft.key, draft.content, vector)
            wanted = shape.drafted(draft, existing[0].id if existing else None, data)
            first = RowChange(existing[0] if existing else None, wanted)
            await kept_first(keep, [first, *(RowChange(row, None) for row in existing[1:])])
            await self.upsert([wanted])
            await self.delete([row.id for row in existing[1:]])
            (got,), notes = await self.written([wanted])
        told = [self.capabilities.why_not[name] for name in _TOLD if getattr(draft, name) is not None]
        if draft.agent is not None and not shape.has_agents:
            told.append(self.capabilities.why_not["agents"])
        if draft.session_id and wanted.values["session_id"] != draft.session_id:
            told.append(_SESSION.format(wanted.values["session_id"]))
        return Written(RowChange(first.before, got), (*told, *notes))

    async def update(self, id: str, edit: Edit, expected: str, keep: Keep, *, vector: Vector | None = None) -> Written:
        """Change fields of one point; another key or content is embedded anew, unless `vector` is given.

        Its unknown payload fields and its time stay. Raises Conflict, NotThere, DuplicateKey, Refused, EmbeddingFailed.
        """
        self._check_writable()
        values = edit.checked().values
        for name in values:
            if name not in EDITABLE_HERE:
                raise Refused(self.capabilities.why_not[name])
        async with self._writing:
            row = (await self.rows_of_ids([id])).get(id)
            if row is None:
                raise NotThere("This memory is no longer there.", hint="r reloads the list.")
            if row.fingerprint != expected:
                raise Conflict(row)
            if all(row.values.get(name) == value for name, value in values.items()):
                return Written(RowChange(row, row))
            key, content = (str(values.get(name, row.values[name])) for name in ("key", "content"))
            if key != row.values["key"] and (holders := await self.rows_of_keys([key], row.agent)):
                raise DuplicateKey(key, holders[0])
            is_new = (key, content) != (row.values["key"], row.values["content"])
            data = await self._vector(key, content, vector) if is_new else None
            wanted = self.shape.edited(row, values, data)
            await kept_first(keep, [RowChange(row, wanted)])
            await self.upsert([wanted])
            (got,), notes = await self.written([wanted])
        session = values.get("session_id")
        if isinstance(session, str) and wanted.values["session_id"] not in (session, None):
            notes = (_SESSION.format(wanted.values["session_id"]), *notes)
        return Written(RowChange(row, got), notes)

    async def remove(
        self, stamps: Sequence[Stamp], keep: Keep, advance: Advance | None = None, *, zero: bool = False
    ) -> Removal:
        """Delete the points that still have the state of their stamp, some hundreds by one request."""
        self._check_writable()
        removed = 0
        changed: list[str] = []
        gone: list[str] = []
        for start in range(0, len(stamps), ROWS_AT_ONCE):
            if start and advance is not None and not advance(removed):
                return Removal(removed, tuple(changed), tuple(gone), cancelled=True)
            batch = stamps[start : start + ROWS_AT_ONCE]
            async with self._writing:
                present = await self.rows_of_ids([stamp.id for stamp in batch])
                gone += [stamp.id for stamp in batch if stamp.id not in present]
                there = [stamp for stamp in batch if stamp.id in present]
                changed += [stamp.id for stamp in there if present[stamp.id].fingerprint != stamp.state]
                going = [present[stamp.id] for stamp in there if present[stamp.id].fingerprint == stamp.state]
                if going:
                    await kept_first(keep, [RowChange(row, None) for row in going])
                    await self.delete([row.id for row in going])
                    removed += len(going)
        if advance is not None:
            advance(removed)
        return Removal(removed, tuple(changed), tuple(gone))

    async def revert(
        self, changes: Batches, keep: Keep, *, clash: Clash = "refuse", advance: Advance | None = None
    ) -> Reversal:
        """Bring points back to what they were: id, payload with unknown fields, vector. Raises Clashes."""
        self._check_writable()
        agents = await asyncio.to_thread(self._agents_in, changes) if self._names_agents else [None]
        parts = [(QdrantRows(self, agent), self._part_of(changes, agent)) for agent in agents]
        reverted = 0
        renamed: dict[str, str] = {}
        notes: list[str] = []
        async with self._writing:
            if clash == "refuse" and len(parts) > 1:
                for rows, part in parts:
                    await row_reverting.look_first(rows, part)
            for rows, part in parts:
                so_far = reverted
                told = None if advance is None else lambda done, so_far=so_far: advance(so_far + done)
                done = await row_reverting.revert(rows, part, keep, clash, told)
                reverted, renamed = reverted + done.reverted, renamed | dict(done.renamed)
                notes += done.notes
                if done.cancelled:
                    return Reversal(reverted, renamed, cancelled=True, notes=tuple(dict.fromkeys(notes)))
        return Reversal(reverted, renamed, notes=tuple(dict.fromkeys(notes)))

    async def fill_vectors(self, vectors: Sequence[NewVector]) -> FilledVectors:
        """Give points other vectors; the payload stays. Raises Refused for vectors of another length."""
        self._check_writable()
        if not self.capabilities.vectors:
            raise self._no_vectors()
        data = {new.id: self._embedding.given(new.vector, self._shape) for new in vectors}
        async with self._writing:
            present = await self.rows_of_ids([new.id for new in vectors])
            same = [new.id for new in vectors if new.id in present and present[new.id].fingerprint == new.fingerprint]
            await self.write_vectors({name: data[name] for name in same})
        return FilledVectors(len(same), tuple(new.id for new in vectors if new.id not in same))

    def text_to_embed(self, row: StoredRow) -> str:
        """Key and content."""
        return text_of(str(row.values["key"]), str(row.values["content"]))

    def _describe(self) -> None:
        has_agents = self._names_agents
        self.capabilities = capabilities_of(self.read_only_because, self._embedding.why_none, has_agents=has_agents)

    def _mismatch(self) -> str | None:
        made, held = self._embedding.dimensions, self._shape.dimensions
        if made == held:
            return None
        return (
            f"The collection holds vectors of {held} numbers, but memory.embedding_dimensions is {made}: "
            "ZeroClaw can neither store nor search here."
        )

    def _check_writable(self) -> None:
        if self.read_only_because is not None:
            raise self.refuse_to_write()

    async def _vector(self, key: str, content: str, given: Vector | None) -> bytes:
        if given is not None:
            return self._embedding.given(given, self._shape)
        return (await self.vectors_of([text_of(key, content)]))[0]

    def _agents_in(self, changes: Batches) -> list[str | None]:
        return list(dict.fromkeys(self._agent_in(change) for batch in changes() for change in batch))

    def _agent_in(self, change: RowChange) -> str | None:
        return self.shape.native(change.row).agent

    def _part_of(self, changes: Batches, agent: str | None) -> Batches:
        def part() -> Iterator[Sequence[RowChange]]:
            for batch in changes():
                chosen = [change for change in batch if agent is None or self._agent_in(change) == agent]
                if chosen:
                    yield chosen

        return part


def _answers_in(began: float) -> str:
    return f"answers in {(time.perf_counter() - began) * 1000:.0f} ms"
