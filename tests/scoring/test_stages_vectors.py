"""Vector search gives the results of a full 64-bit scan in row order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from zeroclaw_tui.scoring.stages import Nearest, QueryVector, VectorIndex

VALUES = st.one_of(st.floats(-2, 2, width=32), st.floats(width=32), st.sampled_from([0.0, 1e-30, 1e30, -1e20]))


def _cosine(one: list[float], other: list[float]) -> float:
    """Compute element by element, as ZeroClaw's loop does."""
    dot = first = second = 0.0
    for x, y in zip(one, other, strict=True):
        dot, first, second = dot + x * y, first + x * x, second + y * y
    product = math.sqrt(first) * math.sqrt(second) if math.isfinite(first) and math.isfinite(second) else math.inf
    if not math.isfinite(product) or product < 2**-52 or not math.isfinite(dot / product):
        return 0.0
    return float(np.float32(min(max(dot / product, 0.0), 1.0)))


def _reference(rows: np.ndarray, query: np.ndarray, count: int, order: list[int]) -> list[tuple[int, float]]:
    wide, asked = rows.astype(np.float64).tolist(), query.astype(np.float64).tolist()
    scored = [(at + 1, _cosine(asked, wide[at])) for at in order]
    return sorted([hit for hit in scored if hit[1] > 0], key=lambda hit: -hit[1])[:count]


def _index(rows: np.ndarray) -> VectorIndex:
    index = VectorIndex(rows.shape[1], len(rows))
    index.append(np.arange(1, len(rows) + 1), rows)
    return index


def _streamed(rows: np.ndarray, query: np.ndarray, count: int, block: int) -> list[tuple[int, float]]:
    nearest = Nearest(QueryVector(query), count)
    for start in range(0, len(rows), block):
        part = rows[start : start + block]
        nearest.add(np.arange(start + 1, start + 1 + len(part)), part)
    return _pairs(nearest.hits())


def _pairs(found: tuple[np.ndarray, np.ndarray]) -> list[tuple[int, float]]:
    return list(zip(found[0].tolist(), found[1].tolist(), strict=True))


@given(st.data(), st.integers(1, 24), st.integers(0, 40), st.integers(0, 12))
def test_search_of_any_vectors_equals_the_full_computation(
    data: st.DataObject, dimensions: int, rows: int, count: int
) -> None:
    shape = (rows, dimensions)
    matrix = data.draw(arrays.arrays(np.float32, shape, elements=VALUES))
    query = data.draw(arrays.arrays(np.float32, dimensions, elements=VALUES))
    order = data.draw(st.permutations(range(rows)))
    index = _index(matrix)
    best = _reference(matrix, query, count, list(range(rows)))
    assert _pairs(index.search(query, count)) == best
    assert _streamed(matrix, query, count, block=7) == best
    among = np.array([at + 1 for at in order[: rows // 2]], dtype=np.int64)
    found = _pairs(index.search(query, count, index.positions(among)))
    assert found == _reference(matrix, query, count, order[: rows // 2])


def test_a_row_too_short_to_score_does_not_displace_a_scored_one() -> None:
    """With a query of almost zero length the better direction scores 0, since the product of the lengths underflows."""
    rows = np.array([[1.1125593e14, 1.1078867e14], [1.1078867e14, 1.1078867e14]], dtype=np.float32)
    query = np.array([1e-30, 1e-30], dtype=np.float32)
    found = _pairs(_index(rows).search(query, 1))
    assert found == _reference(rows, query, 1, [0, 1])
    assert _streamed(rows, query, 1, block=1) == found
    assert [handle for handle, _ in found] == [1]


@pytest.mark.parametrize("dimensions", [64, 768, 1536])
def test_the_cut_between_scores_closer_than_32_bits_is_exact(dimensions: int) -> None:
    """Many rows have nearly the same vector, so a 32-bit product would order them wrongly."""
    chance = np.random.default_rng(dimensions)
    base = chance.standard_normal(dimensions).astype(np.float32)
    noise = chance.standard_normal((600, dimensions)).astype(np.float32) * np.float32(2e-4)
    rows = np.concatenate([base + noise, np.repeat(base[None], 40, axis=0), chance.standard_normal((200, dimensions))])
    rows = rows.astype(np.float32)[chance.permutation(len(rows))]
    query = base + chance.standard_normal(dimensions).astype(np.float32) * np.float32(0.01)
    for count in (1, 10, 40, 700):
        best = _reference(rows, query, count, list(range(len(rows))))
        assert _pairs(_index(rows).search(query, count)) == best
        assert _streamed(rows, query, count, block=100) == best
