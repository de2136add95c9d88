"""What is in the way of a memory that shall become again what it was; for stores that know rows by id and owner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from zeroclaw_tui.backends.session_ids import sanitised
from zeroclaw_tui.memory.change import AGENTS, Clashes, ClashFound, RowChange, StoredRow, Value

Reason = Literal["key exists", "changed", "gone"]
_TOLD = 100
_SANITISED = "session_id"


class View(Protocol):
    """The memories as they are, or will be."""

    def with_id(self, id: str, handle: object = None) -> StoredRow | None:
        """The row of an id."""

    def with_key(self, key: Value, owner: Value) -> StoredRow | None:
        """The row of a key, of one agent's where memories have owners."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a change meets that shall be taken back.

    `own` is the row that has the id of the wanted one, `left` the one the change left, `holder` another row with the
    wanted key. `reason` is None where nothing is in the way. `is_done` means there is nothing to do.
    """

    own: StoredRow | None = None
    left: StoredRow | None = None
    holder: StoredRow | None = None
    reason: Reason | None = None
    is_done: bool = False

    @property
    def in_the_way(self) -> list[StoredRow]:
        """Every row that goes when the wanted one takes its place, the likeliest ancestor first."""
        rows = {row.id: row for row in (self.own, self.left, self.holder) if row is not None}
        return list(rows.values())


def situation(view: View, change: RowChange, owner: Value) -> Situation:
    """Look at the rows one change is about; `owner` is the agent's id the wanted row will have."""
    wanted, after = change.before, change.after
    if wanted is None:
        left = view.with_id(change.row.id, change.row.handle)
        if left is None:
            return Situation(is_done=True)
        return Situation(left=left, reason=None if same(left, change.row) else "changed")
    own = view.with_id(wanted.id, wanted.handle)
    if own is not None and same(own, wanted):
        return Situation(own=own, is_done=True)
    left = own if after is None or after.id == wanted.id else view.with_id(after.id, after.handle)
    holder = view.with_key(wanted.values.get("key"), owner)
    if holder is not None and holder.id in (there.id for there in (own, left) if there is not None):
        holder = None
    return Situation(own, left, holder, _reason(after, own, left, holder))


def _reason(
    after: StoredRow | None, own: StoredRow | None, left: StoredRow | None, holder: StoredRow | None
) -> Reason | None:
    if after is None or (own is not None and own is not left):
        changed = own is not None
    else:
        changed = left is not None and not same(left, after)
    if changed:
        return "changed"
    if holder is not None:
        return "key exists"
    return "gone" if after is not None and left is None else None


def same(now: StoredRow, then: StoredRow) -> bool:
    """Whether a row is what it was; after a migration, as far as both have the same columns."""
    if isinstance(now, _Light):
        return now.state == _state(then)
    if now.fingerprint == then.fingerprint:
        return True
    if now.values.keys() - {"embedding"} == then.values.keys() - {"embedding"}:
        return False
    common = now.values.keys() & then.values.keys()
    return _part(now, common).fingerprint == _part(then, common).fingerprint


def _part(row: StoredRow, names: Iterable[str]) -> StoredRow:
    """ZeroClaw >= 0.8.0 rewrites session ids when it opens a file, and gives every memory an owner."""
    values = {name: row.values[name] for name in names if name != "agent_id"}
    session = values.get(_SANITISED)
    return StoredRow(row.id, values | {_SANITISED: sanitised(session) if isinstance(session, str) else None})


class Found:
    """Clashes met so far: the first hundred, and how many."""

    def __init__(self) -> None:
        self._first: list[ClashFound] = []
        self._total = 0

    def add(self, change: RowChange, met: Situation) -> None:
        """One more."""
        if met.reason is None:
            return
        self._total += 1
        if len(self._first) < _TOLD:
            present = met.holder if met.reason == "key exists" else met.own or met.left
            self._first.append(ClashFound(change.row, present, met.reason))

    def raise_any(self) -> None:
        """Raises Clashes when there are any."""
        if self._total:
            raise Clashes(self._first, self._total)


def with_agents_back(agents: Mapping[str, str], changes: Iterable[RowChange]) -> dict[str, str]:
    """Aliases by id as they will be: an agent that comes back with its memories owns them again."""
    back = [change.before for change in changes if change.row.table == AGENTS and change.before is not None]
    known = set(agents.values())
    return {**{agent.id: agent.agent or agent.id for agent in back if agent.agent not in known}, **agents}


class Ahead:
    """The memories as they will be after the changes looked at so far are taken back; nothing is written."""

    def __init__(self) -> None:
        self._now: View | None = None
        self._rows: dict[str, StoredRow | None] = {}
        self._keys: dict[tuple[Value, Value], str] = {}

    def look_at(
        self, changes: Sequence[RowChange], now: View, owner_of: Callable[[StoredRow], Value], found: Found
    ) -> None:
        """Take changes of memories back in thought; `now` knows at least the rows of their ids and keys."""
        self._now = now
        for change in changes:
            self._take_back(change, owner_of, found)

    def _take_back(self, change: RowChange, owner_of: Callable[[StoredRow], Value], found: Found) -> None:
        owner = None if change.before is None else owner_of(change.before)
        met = situation(self, change, owner)
        found.add(change, met)
        if met.reason is not None or met.is_done:
            return
        for row in met.in_the_way:
            self._rows[row.id] = None
        if change.before is not None:
            wanted = change.before
            self._rows[wanted.id] = _light(wanted, owner)
            self._keys[owner, wanted.values.get("key")] = wanted.id

    def with_id(self, id: str, handle: object = None) -> StoredRow | None:
        """As it will be."""
        if id in self._rows:
            return self._rows[id]
        return None if self._now is None else self._now.with_id(id, handle)

    def with_key(self, key: Value, owner: Value) -> StoredRow | None:
        """As it will be."""
        put = self._rows.get(self._keys.get((owner, key), ""))
        if put is not None and put.values.get("key") == key:
            return put
        there = None if self._now is None else self._now.with_key(key, owner)
        return None if there is None or there.id in self._rows else there


@dataclass(frozen=True, slots=True)
class _Light(StoredRow):
    """A row without the weight of its vector and content, which still tells itself from others."""

    state: int = 0


def _light(row: StoredRow, owner: Value) -> StoredRow:
    kept: Mapping[str, Value] = {"key": row.values.get("key"), "agent_id": owner}
    return _Light(row.id, kept, row.handle, row.agent, row.table, _state(row))


def _state(row: StoredRow) -> int:
    """A quick fingerprint, for as long as this process lives."""
    return hash(frozenset((name, type(value), value) for name, value in row.values.items() if name != "embedding"))
