"""The points of a stand-in Qdrant: one collection in memory that filters, searches and deletes like Qdrant."""

from __future__ import annotations

import bisect
import itertools
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

PointId = int | str
Test = Callable[[PointId], bool]
_PARTS = ("must", "should", "must_not")
_UNIT, _ZERO = 1e-6, 2**-23


class Wrong(Exception):
    """Raised for a request that Qdrant refuses with a status and a reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


def checked_id(given: Any) -> PointId:
    """Return a point id: a number, or a UUID in its canonical form."""
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 2**64:
        return given
    try:
        return str(uuid.UUID(given))
    except (ValueError, TypeError, AttributeError):
        reason = f"value {given} is not a valid point ID, valid values are either an unsigned integer or a UUID"
        raise Wrong(400, f"Format error in JSON body: {reason}") from None


def scroll_order(id: PointId) -> tuple[str, int]:
    """Sort key: numbers before UUIDs, as Qdrant scrolls."""
    return ("", id) if isinstance(id, int) else (id, 0)


class PointStore:
    """One collection with one unnamed vector."""

    def __init__(self, size: int, distance: str) -> None:
        self.size, self.distance = size, distance
        self.payloads: dict[PointId, dict[str, Any]] = {}
        self.vectors: dict[PointId, np.ndarray] = {}
        self._ids: list[tuple[str, int]] | None = None
        self._matrix: tuple[list[PointId], np.ndarray] | None = None

    def upsert(self, points: Sequence[Mapping[str, Any]]) -> None:
        """Write whole points; none of them if one is invalid."""
        made = [(checked_id(point.get("id")), point.get("payload") or {}, point.get("vector")) for point in points]
        vectors = [self._vector(vector) for _, _, vector in made]
        for (name, payload, _), vector in zip(made, vectors, strict=True):
            self.payloads[name], self.vectors[name] = dict(payload), vector
        self._changed()

    def set_vectors(self, points: Sequence[Mapping[str, Any]]) -> None:
        """Replace the vectors of existing points."""
        made = [(checked_id(point.get("id")), self._vector(point.get("vector"))) for point in points]
        for name, vector in made:
            if name not in self.payloads:
                raise Wrong(404, f"Not found: No point with id {name} found")
            self.vectors[name] = vector
        self._changed()

    def delete(self, ids: Iterable[PointId]) -> None:
        """Delete points and ignore missing ones."""
        for name in [*ids]:
            self.payloads.pop(name, None)
            self.vectors.pop(name, None)
        self._changed()

    def matching_ids(self, condition: Mapping[str, Any] | None) -> list[PointId]:
        """Return the ids that match a filter, in order."""
        return [*filter(self._test(condition), (named if named else number for named, number in self._ordered()))]

    def scroll(self, condition: Mapping[str, Any] | None, limit: int, offset: Any) -> tuple[list[PointId], Any]:
        """Return a page of ids and the offset of the next page."""
        ordered = self._ordered()
        start = 0 if offset is None else bisect.bisect_left(ordered, scroll_order(checked_id(offset)))
        found: list[PointId] = []
        test = self._test(condition)
        for named, number in itertools.islice(ordered, start, None):
            name = named if named else number
            if test(name):
                found.append(name)
            if len(found) > limit:
                break
        return found[:limit], found[limit] if len(found) > limit else None

    def search(self, vector: Any, condition: Mapping[str, Any] | None, limit: int) -> list[tuple[PointId, float]]:
        """Return the nearest points, best first."""
        query = self._vector(vector)
        if self._matrix is None:
            ids = list(self.vectors)
            self._matrix = ids, np.stack([self.vectors[name] for name in ids]) if ids else np.zeros((0, self.size))
        ids, matrix = self._matrix
        scores = matrix @ query
        allowed = None if condition is None else set(self.matching_ids(condition))
        found: list[tuple[PointId, float]] = []
        for at in np.argsort(-scores, kind="stable"):
            if allowed is None or ids[at] in allowed:
                found.append((ids[at], float(scores[at])))
            if len(found) == limit:
                break
        return found

    def _ordered(self) -> list[tuple[str, int]]:
        if self._ids is None:
            self._ids = sorted(map(scroll_order, self.payloads))
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
        """Whether a point matches a filter, or one of its conditions."""
        match condition:
            case None:
                return lambda name: True
            case {"has_id": ids}:
                wanted = {checked_id(one) for one in ids}
                return lambda name: name in wanted
            case {"is_empty": {"key": field}}:
                return lambda name: self.payloads[name].get(field) in (None, [])
            case {"key": field, "match": {"any": values}}:
                return self._equals(field, values)
        must, should, must_not = ([*map(self._test, condition.get(part, ()))] for part in _PARTS)
        return lambda name: (
            all(test(name) for test in must)
            and (not should or any(test(name) for test in should))
            and not any(test(name) for test in must_not)
        )

    def _equals(self, field: str, values: Sequence[Any]) -> Test:
        return lambda name: self.payloads[name].get(field) in values
