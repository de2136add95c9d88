"""The vector stage, rescore included, beside a bare matrix product and argpartition on the same matrix.

    python tests/bench/vector_stage.py [ROUNDS]

Ratio to stay under: 1.5. Vectors are random normal with a shared mean, like embeddings of one language.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.side_by_side import medians

from zeroclaw_tui.scoring.vectors import VectorIndex

SIZES = ((10_000, 768), (10_000, 1536), (100_000, 768), (100_000, 1536))
COUNT = 40


def filled(rows: int, dimensions: int, chance: np.random.Generator) -> VectorIndex:
    """An index of random vectors."""
    index = VectorIndex(dimensions, rows)
    shared = chance.normal(0, 0.5, dimensions).astype(np.float32)
    for start in range(0, rows, 1000):
        block = chance.standard_normal((1000, dimensions), dtype=np.float32) + shared
        index.append(np.arange(start, start + 1000), block)
    return index


def main() -> None:
    """Print one line a size."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    chance = np.random.default_rng(5)
    for rows, dimensions in SIZES:
        index = filled(rows, dimensions, chance)
        # The very same memory, so that neither way finds more of it in the processor's cache.
        matrix = index._matrix[:rows]
        query = chance.standard_normal(dimensions, dtype=np.float32)

        def bare(matrix: np.ndarray = matrix, query: np.ndarray = query) -> np.ndarray:
            scores = matrix @ query
            return np.argpartition(scores, len(scores) - COUNT)[-COUNT:]

        def ours(index: VectorIndex = index, query: np.ndarray = query) -> object:
            return index.search(query, COUNT)

        took = medians({"bare": bare, "ours": ours}, rounds)
        print(
            f"{rows:>7,} x {dimensions:<4}  bare {took['bare']:7.2f} ms   ours {took['ours']:7.2f} ms"
            f"   ratio {took['ours'] / took['bare']:.2f}"
        )


if __name__ == "__main__":
    main()
