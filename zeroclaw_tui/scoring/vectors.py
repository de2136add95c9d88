"""Exact cosine search over one matrix of float32 vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

_UNIT_ROUNDOFF = 2.0**-24
_FLOAT64_EPSILON = 2.0**-52
_SMALLEST_SURE_NORM = 1e-12
_LARGEST_SURE_NORM = 1e30
_BLOCK = 1024
_WIDE_BLOCK = 512
_COLUMNS = 64
_SPARE = 256


def plain_cosines(query: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """The cosine of each vector to the query, dot / (|a| * |b|), every step rounded to 32 bits and summed in order.

    As a loop over f32 in Rust gives it, bit by bit. Shapes (numbers,) and (rows, numbers), float32; the answer has
    shape (rows,), 0.0 where a length is 0. Nothing is clamped.
    """
    import numpy as np

    with np.errstate(all="ignore"):
        dots = _summed(vectors * query)
        lengths = np.sqrt(_summed(vectors * vectors))
        length = np.sqrt(_summed((query * query)[None, :]))
        cosines: np.ndarray = dots / (length * lengths)
        cosines[(lengths == 0) | (length == 0)] = 0.0
    return cosines


def _summed(products: np.ndarray) -> np.ndarray:
    """The sum of each row, one number after the other: NumPy's own sum adds in another order."""
    import numpy as np

    if not products.shape[1]:
        return np.zeros(len(products), dtype=np.float32)
    summed: np.ndarray = np.cumsum(products, axis=1, dtype=np.float32)[:, -1]
    return summed


class VectorIndex:
    """The vectors of one length, by ascending handle, kept as they are stored, with their norms.

    A product in any order only picks candidates, or is taken where no rounding can change the 32 bits of the answer;
    all others are scored in 64 bits, element after element, as ZeroClaw's loop does. So the answer is that of the loop.
    """

    def __init__(self, dimensions: int, capacity: int) -> None:
        import numpy as np

        self.dimensions = dimensions
        self._count = 0
        # Memory that is never written to costs nothing, so some spare rows make appending cheap.
        rows = capacity + max(_SPARE, capacity // 8)
        self._matrix: np.ndarray = np.empty((rows, dimensions), dtype="<f4")
        self._bytes = _bytes_of(self._matrix)
        self._norms: np.ndarray = np.empty(rows, dtype=np.float64)
        self._divisors: np.ndarray = np.empty(rows, dtype=np.float32)
        self._handles: np.ndarray = np.empty(rows, dtype=np.int64)
        self._measured = 0
        self._has_unsure = False
        self._expected: dict[bytes, np.ndarray] = {}
        # Kept, because asking for room anew costs more than the arithmetic done in it.
        self._gathered: np.ndarray = np.empty((_COLUMNS, dimensions), dtype="<f4")
        self._columns: np.ndarray = np.zeros((dimensions, _COLUMNS), dtype=np.float64)

    def __len__(self) -> int:
        return self._count

    @property
    def handles(self) -> np.ndarray:
        """The handles in order, shape (rows,), int64."""
        return self._handles[: self._count]

    def append(self, handle: int, blob: bytes) -> None:
        """Add a row after all others; `blob` is little-endian float32, and a trailing part of a number is ignored."""
        if self._count == len(self._handles):
            self._grow()
        self._write(self._count, blob)
        self._handles[self._count] = handle
        self._count += 1

    def replace(self, handle: int, blob: bytes) -> None:
        """Give a row that is there another vector."""
        at = int(self.handles.searchsorted(handle))
        self._write(at, blob)
        self._measure_range(at, at + 1)

    def remove(self, handles: Sequence[int]) -> None:
        """Drop rows; handles that are not there are ignored."""
        import numpy as np

        self.measure()
        kept = np.flatnonzero(~np.isin(self.handles, np.asarray(handles, dtype=np.int64)))
        for start in range(0, len(kept), _BLOCK):
            # Rows only move down, and each block is copied before it is written.
            block = kept[start : start + _BLOCK]
            target = slice(start, start + len(block))
            self._matrix[target] = self._matrix[block]
            self._norms[target] = self._norms[block]
            self._divisors[target] = self._divisors[block]
            self._handles[target] = self._handles[block]
        self._count = self._measured = len(kept)
        self._expected = {}

    def positions(self, handles: np.ndarray) -> np.ndarray:
        """Where rows are, in the order of `handles`, int64, valid until `remove`; rows not there are left out."""
        import numpy as np

        positions = np.searchsorted(self.handles, handles)
        known = positions < self._count
        known[known] = self._handles[positions[known]] == handles[known]
        return positions[known]

    def measure(self) -> None:
        """Compute the norms of rows added since the last time; a search does it too."""
        if self._measured < self._count:
            self._measure_range(self._measured, self._count)
            self._measured = self._count

    def expect(self, queries: Sequence[np.ndarray]) -> None:
        """Have one product for the next `search` of each of these queries: the vectors are read once for them all.

        Takes 4 bytes for each row and query until they are searched for, the rows change or others are expected.
        """
        import numpy as np

        self.measure()
        self._expected = {}
        measured = [found for query in queries if (found := self._measured_query(query)) is not None]
        if not measured:
            return
        directions = np.stack([_direction(*found) for found in measured])
        with np.errstate(all="ignore"):
            rough = directions @ self._matrix[: self._count].T
            rough /= self._divisors[: self._count]
        self._expected = {direction.tobytes(): row for direction, row in zip(directions, rough, strict=True)}

    def search(self, query: np.ndarray, count: int, among: np.ndarray | None = None) -> list[tuple[int, float]]:
        """The `count` best handles with a cosine above 0, best first; equal scores keep the order of the scan.

        `query` has shape (dimensions,). `among` are the only `positions` allowed, in the order they are scanned; None
        is all rows by handle. Scores are clamped to 0..1 and rounded to 32 bits. Another length finds nothing.
        """
        import numpy as np

        measured = self._measured_query(query)
        if measured is None or count <= 0:
            return []
        wide, norm = measured
        self.measure()
        chosen = self._candidates(_direction(wide, norm), float(norm), count, among)
        scores = self._exact(wide, norm, chosen)
        above = scores > 0.0
        chosen, scores = chosen[above], scores[above]
        best = np.argsort(-scores, kind="stable")[:count]
        return list(zip(self._handles[chosen[best]].tolist(), scores[best].tolist(), strict=True))

    def search_all(self, query: np.ndarray, check: Callable[[], None]) -> tuple[np.ndarray, np.ndarray]:
        """Every handle with a cosine above 0, int64, and the cosines, float32, best first, exactly as `search` has.

        Takes seconds for the largest stores: `check` is called every few milliseconds and may raise to end it.
        """
        import numpy as np

        nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        measured = self._measured_query(query)
        if measured is None:
            return nothing
        self.measure()
        scores = self._all_scores([measured], check)[0]
        above = np.flatnonzero(scores > 0.0)
        best = above[np.argsort(-scores[above], kind="stable")]
        return self._handles[best], scores[best]

    def _all_scores(self, measured: Sequence[tuple[np.ndarray, np.float64]], check: Callable[[], None]) -> np.ndarray:
        """The cosines of all rows to queries with their norms, shape (queries, rows), float32."""
        import numpy as np

        wides, norms = np.stack([wide for wide, _ in measured]), np.array([norm for _, norm in measured])
        scores = np.empty((len(measured), self._count), dtype=np.float32)
        matrix = np.empty((min(_WIDE_BLOCK, self._count), self.dimensions), dtype=np.float64)
        for start in range(0, self._count, _WIDE_BLOCK):
            check()
            end = min(start + _WIDE_BLOCK, self._count)
            matrix[: end - start] = self._matrix[start:end]
            with np.errstate(all="ignore"):
                low, high = self._bounds(wides @ matrix[: end - start].T, norms[:, None] * self._norms[start:end])
            scores[:, start:end] = low
            for at in np.flatnonzero((low != high).any(axis=1)):
                unsure = start + np.flatnonzero(low[at] != high[at])
                scores[at, unsure] = self._exact(wides[at], float(norms[at]), unsure)
        return scores

    def _measured_query(self, query: np.ndarray) -> tuple[np.ndarray, np.float64] | None:
        """The query in 64 bits and its norm; None where no row can have a cosine to it."""
        import numpy as np

        wide = np.asarray(query, dtype=np.float32).astype(np.float64)
        if wide.shape != (self.dimensions,) or not self._count or not self.dimensions:
            return None
        norm = np.sqrt(np.cumsum(wide * wide)[-1])
        return (wide, norm) if np.isfinite(norm) and norm != 0.0 else None

    def _candidates(self, direction: np.ndarray, norm: float, count: int, positions: np.ndarray | None) -> np.ndarray:
        """Positions that may be among the best, in scan order; `norm` is the query's, `direction` has length 1."""
        import numpy as np

        eligible = self._count if positions is None else len(positions)
        if eligible <= count:
            return np.arange(self._count) if positions is None else positions
        with np.errstate(all="ignore"):
            rough = self._expected.pop(direction.tobytes(), None)
            if rough is None:
                rough = self._matrix[: self._count] @ direction
                rough /= self._divisors[: self._count]
            if norm * _SMALLEST_SURE_NORM < _FLOAT64_EPSILON:
                # Next to so short a query a row can be too short to score at all, however well it points.
                rough[~(norm * self._norms[: self._count] >= _FLOAT64_EPSILON)] = -2.0
        if positions is not None:
            rough = rough[positions]
        unsure = np.isnan(rough) if self._has_unsure else None
        sure = rough if unsure is None else np.where(unsure, np.float32(-2.0), rough)
        margin = self._margin
        cut = np.partition(sure, eligible - count)[eligible - count]
        near = sure >= max(float(cut) - 2 * margin, -margin)
        chosen = np.flatnonzero(near if unsure is None else near | unsure)
        return chosen if positions is None else positions[chosen]

    @property
    def _margin(self) -> float:
        """How far a 32-bit cosine can be off: as many roundings as the product has terms, and a few more.

        The bound is the standard one for a dot product of n terms in any order, n u / (1 - n u) with u = 2**-24.
        """
        roundings = (self.dimensions + 16) * _UNIT_ROUNDOFF
        return roundings / (1 - min(roundings, 0.5))

    def _bounds(self, dots: np.ndarray, product: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Between which 32-bit cosines the exact ones lie, by dot products that were summed in any order in 64 bits.

        Both sums are within n u / (1 - n u) of the true one, u = 2**-53, as a share of the product of the lengths.
        """
        import numpy as np

        roundings = (self.dimensions + 16) * _FLOAT64_EPSILON
        margin = 2 * roundings / (1 - min(roundings, 0.5))
        usable = np.isfinite(product) & (product >= _FLOAT64_EPSILON)
        cosine = np.where(usable, dots / product, -2.0)
        low, high = (np.clip(cosine + off, 0.0, 1.0).astype(np.float32) for off in (-margin, margin))
        return low, high

    def _exact(self, query: np.ndarray, norm: float, positions: np.ndarray) -> np.ndarray:
        """The cosines at these positions as ZeroClaw computes them, shape (positions,), float32."""
        import numpy as np

        dots = np.empty(len(positions), dtype=np.float64)
        with np.errstate(all="ignore"):
            for start in range(0, len(positions), _COLUMNS):
                block = positions[start : start + _COLUMNS]
                rows = np.take(self._matrix, block, axis=0, out=self._gathered[: len(block)], mode="clip")
                dots[start : start + _COLUMNS] = self._running_sums(rows, query)
            product = norm * self._norms[positions]
            cosine = dots / product
            usable = np.isfinite(product) & (product >= _FLOAT64_EPSILON) & np.isfinite(cosine)
            return np.where(usable, np.clip(cosine, 0.0, 1.0), 0.0).astype(np.float32)

    def _running_sums(self, rows: np.ndarray, factor: np.ndarray | None) -> np.ndarray:
        """The products of at most _COLUMNS rows with `factor`, None for themselves, shape (rows,), float64.

        Each is added from the first element to the last, as a loop would. NumPy adds in pairs only along the axis that
        is contiguous in memory; over the other axis of a block of two or more columns it adds in order.
        """
        import numpy as np

        columns = self._columns[:, : max(len(rows), 2)]
        columns[:, : len(rows)] = rows.T
        np.multiply(columns, columns if factor is None else factor[:, None], out=columns)
        sums: np.ndarray = np.add.reduce(columns, axis=0)[: len(rows)]
        return sums

    def _measure_range(self, start: int, stop: int) -> None:
        """Norms in 64 bits, and as 32-bit divisors; NaN where 32 bits are too coarse, so that the row is rescored."""
        import numpy as np

        with np.errstate(all="ignore"):
            for at in range(start, stop, _COLUMNS):
                end = min(at + _COLUMNS, stop)
                self._norms[at:end] = np.sqrt(self._running_sums(self._matrix[at:end], None))
            norms = self._norms[start:stop]
            sure = (norms > _SMALLEST_SURE_NORM) & (norms < _LARGEST_SURE_NORM)
            self._divisors[start:stop] = np.where(sure, norms, np.nan)
        self._expected = {}
        self._has_unsure = self._has_unsure or not sure.all()

    def _write(self, at: int, blob: bytes) -> None:
        size = self.dimensions * 4
        self._bytes[at * size : (at + 1) * size] = blob if len(blob) == size else blob[:size]

    def _grow(self) -> None:
        import numpy as np

        rows = len(self._handles) + max(_SPARE, len(self._handles) // 4)
        matrix: np.ndarray = np.empty((rows, self.dimensions), dtype="<f4")
        matrix[: self._count] = self._matrix[: self._count]
        self._matrix, self._bytes = matrix, _bytes_of(matrix)
        spare = rows - len(self._handles)
        self._norms = np.concatenate([self._norms, np.empty(spare, dtype=np.float64)])
        self._divisors = np.concatenate([self._divisors, np.empty(spare, dtype=np.float32)])
        self._handles = np.concatenate([self._handles, np.empty(spare, dtype=np.int64)])


def _direction(wide: np.ndarray, norm: np.float64) -> np.ndarray:
    """A query's vector of length 1, in 32 bits."""
    import numpy as np

    direction: np.ndarray = (wide / norm).astype(np.float32)
    return direction


def _bytes_of(matrix: np.ndarray) -> memoryview:
    import numpy as np

    return matrix.reshape(-1).view(np.uint8).data
