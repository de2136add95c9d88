"""The embedder the recorded ZeroClaw runs were made with: exact, deterministic, no model."""

from __future__ import annotations

import hashlib
import math
import re

import numpy as np

_TOKEN = re.compile(r"[a-z0-9]+|[^\x00-\x7f]")
_UPPER_TO_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_MASK = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15


def embed(name: str, text: str) -> np.ndarray:
    """The vector of a text by the embedder `hash:N` or `dense:N`, shape (N,), float32; zeros without a token."""
    sort, _, size = name.partition(":")
    dimensions = int(size)
    total = [0] * dimensions
    for token in _TOKEN.findall(text.translate(_UPPER_TO_LOWER)):
        digest = hashlib.sha256(token.encode("utf-8")).digest()
        seed = int.from_bytes(digest[:8], "big")
        if sort == "hash":
            total[seed % dimensions] += 1 if digest[8] % 2 == 0 else -1
        else:
            _add_dense(total, seed)
    length = math.sqrt(float(sum(part * part for part in total)))
    if length == 0:
        return np.zeros(dimensions, dtype=np.float32)
    return (np.array(total, dtype=np.float64) / length).astype(np.float32)


def _add_dense(total: list[int], state: int) -> None:
    for at in range(len(total)):
        state = (state + _STEP) & _MASK
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        total[at] += ((mixed ^ (mixed >> 31)) >> 56) - 96
