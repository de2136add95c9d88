"""The points of a stand-in Qdrant: one collection in memory, with filters, scroll, search and deletion as Qdrant's."""

from __future__ import annotations

import bisect
import itertools
import operator
import re
import uuid
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

PointId = int | str
Test = Callable[[PointId], bool]
_PARTS = ("must", "should", "must_not")
_UNIT, _ZERO = 1e-6, 2**-23
_MAKE_ONE = "Please create one"
_SEE = "Check https://qdrant.tech/documentation/concepts/indexing/#payload-index to see which payload schemas fit"
_SIGNS = {"lt": operator.lt, "lte": operator.le, "gt": operator.gt, "gte": operator.ge}
_SHORT_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?")


class Wrong(Exception):
    """A request Qdrant answers with a status and a reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


def checked_id(given: Any) -> PointId:
    """A number, or a UUID in its usual spelling."""
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 2**64:
        return given
    try:
        return str(uuid.UUID(given))
    except (ValueError, TypeError, AttributeError):
        reason = f"value {given} is not a valid point ID, valid values are either an unsigned integer or a UUID"
        raise Wrong(400, f"Format error in JSON body: {reason}") from None


def in_order(id: PointId) -> tuple[str, int]:
    """Numbers first, then UUIDs, as Qdrant scrolls."""
    return ("", id) if isinstance(id, int) else (id, 0)


class PointStore:
    """One collection with one unnamed vector."""

    def __init__(self, size: int, distance: str) -> None:
        self.size, self.distance = size, distance
        self.payloads: dict[PointId, dict[str, Any]] = {}
        self.vectors: dict[PointId, np.ndarray] = {}
        self.indexes: dict[str, str] = {}
        """The payload indexes: field and type."""
        self.version = (1, 20, 0)
        """Ranges may be moments from 1.8 on; a text is looked for by words from 1.19.1 on, by letters from 1.20 on."""
        self._ids: list[tuple[str, int]] | None = None
        self._matrix: tuple[list[PointId], np.ndarray] | None = None

    def upsert(self, points: Sequence[Mapping[str, Any]]) -> None:
        """Write points whole; none of them where one is wrong."""
        made = [(checked_id(point.get("id")), point.get("payload") or {}, point.get("vector")) for point in points]
        vectors = [self._vector(vector) for _, _, vector in made]
        for (name, payload, _), vector in zip(made, vectors, strict=True):
            self.payloads[name], self.vectors[name] = dict(payload), vector
        self._changed()

    def set_vectors(self, points: Sequence[Mapping[str, Any]]) -> None:
        """Other vectors for points that are there."""
        made = [(checked_id(point.get("id")), self._vector(point.get("vector"))) for point in points]
        for name, vector in made:
            if name not in self.payloads:
                raise Wrong(404, f"Not found: No point with id {name} found")
            self.vectors[name] = vector
        self._changed()

    def delete(self, ids: Iterable[PointId]) -> None:
        """Delete points; those that are not there are nobody's concern."""
        for name in [*ids]:
            self.payloads.pop(name, None)
            self.vectors.pop(name, None)
        self._changed()

    def left_by(self, condition: Mapping[str, Any] | None) -> list[PointId]:
        """The ids a filter leaves, in order."""
        return [*filter(self._test(condition), (named if named else number for named, number in self._ordered()))]

    def scroll(self, condition: Mapping[str, Any] | None, limit: int, offset: Any) -> tuple[list[PointId], Any]:
        """A page of ids and where the next one begins."""
        ordered = self._ordered()
        start = 0 if offset is None else bisect.bisect_left(ordered, in_order(checked_id(offset)))
        found: list[PointId] = []
        test = self._test(condition)
        for named, number in itertools.islice(ordered, start, None):
            name = named if named else number
            if test(name):
                found.append(name)
            if len(found) > limit:
                break
        return found[:limit], found[limit] if len(found) > limit else None

    def scroll_by(
        self, condition: Mapping[str, Any] | None, limit: int, order: Mapping[str, Any]
    ) -> list[tuple[PointId, int]]:
        """The first ids in the order of a field of moments, with these in microseconds; those of one come anyhow."""
        field, descending = order["key"], order.get("direction") == "desc"
        if self.indexes.get(field) != "datetime":
            raise Wrong(
                400, f"Wrong input: No range index for `order_by` key: `{field}`. {_MAKE_ONE} to use `order_by`. {_SEE}"
            )
        start = order.get("start_from")
        begin = None if start is None else _microseconds(start)
        if start is not None and begin is None:
            raise Wrong(400, "Format error in JSON body: data did not match any variant of untagged enum StartFrom")
        found = [
            (when, name)
            for name in self.left_by(condition)
            if (when := _microseconds(self.payloads[name].get(field))) is not None
            and (begin is None or (when <= begin if descending else when >= begin))
        ]
        found.sort(key=lambda one: (-one[0] if descending else one[0], zlib.crc32(str(one[1]).encode())))
        return [(name, when) for when, name in found[:limit]]

    def facet(self, condition: Mapping[str, Any] | None, field: str, limit: int) -> list[tuple[str, int]]:
        """How many points have each text of a field, the most frequent first."""
        if self.indexes.get(field) != "keyword":
            raise Wrong(
                400, f"Wrong input: No appropriate index for faceting: `{field}`. {_MAKE_ONE} to facet on it. {_SEE}"
            )
        counts = Counter[str]()
        for name in self.left_by(condition):
            value = self.payloads[name].get(field)
            values = value if isinstance(value, list) else [value]
            counts.update({one for one in values if isinstance(one, str)})
        return sorted(counts.items(), key=lambda hit: (-hit[1], hit[0]))[:limit]

    def search(self, vector: Any, condition: Mapping[str, Any] | None, limit: int) -> list[tuple[PointId, float]]:
        """The nearest points, best first."""
        query = self._vector(vector)
        if self._matrix is None:
            ids = list(self.vectors)
            self._matrix = ids, np.stack([self.vectors[name] for name in ids]) if ids else np.zeros((0, self.size))
        ids, matrix = self._matrix
        scores = matrix @ query
        allowed = None if condition is None else set(self.left_by(condition))
        found: list[tuple[PointId, float]] = []
        for at in np.argsort(-scores, kind="stable"):
            if allowed is None or ids[at] in allowed:
                found.append((ids[at], float(scores[at])))
            if len(found) == limit:
                break
        return found

    def _ordered(self) -> list[tuple[str, int]]:
        if self._ids is None:
            self._ids = sorted(map(in_order, self.payloads))
        return self._ids

    def _changed(self) -> None:
        self._ids = self._matrix = None

    def _vector(self, given: Any) -> np.ndarray:
        if not isinstance(given, list):
            raise Wrong(400, "Format error in JSON body: data did not match any variant of untagged enum VectorStruct")
        if len(given) != self.size:
            raise Wrong(400, f"Wrong input: Vector dimension error: expected dim: {self.size}, got {len(given)}")
        vector = np.array(given, dtype=np.float32)
        square = float(vector.astype(np.float64) @ vector)
        if self.distance != "Cosine" or square < _ZERO or abs(square - 1) <= _UNIT:
            return vector
        return (vector / np.sqrt(square)).astype(np.float32)

    def _test(self, condition: Mapping[str, Any] | None) -> Test:
        """Whether a point meets a filter, or one of its conditions."""
        match condition:
            case None:
                return lambda name: True
            case {"has_id": ids}:
                wanted = {checked_id(one) for one in ids}
                return lambda name: name in wanted
            case {"is_empty": {"key": field}}:
                return lambda name: self.payloads[name].get(field) in (None, [])
            case {"is_null": {"key": field}}:
                return lambda name: _is_null(self.payloads[name].get(field, ...))
            case {"key": field, "match": {"any": values}}:
                return self._equals(field, values)
            case {"key": field, "match": {"value": value}}:
                return self._equals(field, [value])
            case {"key": field, "match": {"text": text}}:
                return self._has_words(field, text)
            case {"key": field, "match": {"substring": text}} if self.version >= (1, 20, 0):
                return self._has_letters(field, text)
            case {"key": field, "range": limits}:
                return self._is_within(field, limits)
            case {"match": _}:
                raise Wrong(400, "Format error in JSON body: data did not match any variant of untagged enum Match")
        if unknown := set(condition) - {"must", "should", "must_not"}:
            raise Wrong(400, f"Format error in JSON body: unknown field `{min(unknown)}`")
        must, should, must_not = ([*map(self._test, _listed(condition.get(part)))] for part in _PARTS)
        return lambda name: (
            all(test(name) for test in must)
            and (not should or any(test(name) for test in should))
            and not any(test(name) for test in must_not)
        )

    def _has_words(self, field: str, text: str) -> Test:
        """Each word in any case; without an index of words once the letters as they are."""
        if self.version < (1, 19, 1) and self.indexes.get(field) != "text":
            return self._has_letters(field, text)
        words = _words(text)
        return lambda name: bool(words) and words <= _words(self.payloads[name].get(field))

    def _has_letters(self, field: str, text: str) -> Test:
        return lambda name: isinstance(value := self.payloads[name].get(field), str) and text in value

    def _is_within(self, field: str, limits: Mapping[str, Any]) -> Test:
        bounds = {sign: _microseconds(limit) for sign, limit in limits.items()}
        if self.version < (1, 8, 0) or None in bounds.values():
            raise Wrong(
                400, "Format error in JSON body: data did not match any variant of untagged enum RangeInterface"
            )

        def test(name: PointId) -> bool:
            when = _microseconds(self.payloads[name].get(field))
            return when is not None and all(_SIGNS[sign](when, bound) for sign, bound in bounds.items())

        return test

    def _equals(self, field: str, values: Sequence[Any]) -> Test:
        wanted = {(type(value), value) for value in values}

        def test(name: PointId) -> bool:
            value = self.payloads[name].get(field)
            return any((type(one), one) in wanted for one in (value if isinstance(value, list) else [value]))

        return test


def _listed(conditions: Any) -> list[Any]:
    if conditions is None:
        return []
    return conditions if isinstance(conditions, list) else [conditions]


def _words(value: Any) -> set[str]:
    return set(re.findall(r"[^\W_]+", value.lower())) if isinstance(value, str) else set()


def _microseconds(value: Any) -> int | None:
    """A moment as Qdrant reads one."""
    if not isinstance(value, str):
        return None
    if short := _SHORT_DAY.fullmatch(value):
        value = f"{short[1]}-{short[2]:0>2}-{short[3]:0>2}"
    if _MOMENT.fullmatch(value) is None:
        return None
    try:
        when = datetime.fromisoformat(value)
    except ValueError:
        return None
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    return (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, list) and None in value)
