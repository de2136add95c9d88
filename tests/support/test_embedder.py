"""The embedder of the recorded ZeroClaw runs: exact, deterministic, without a model."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from support.http_endpoints import Answer

_TOKEN = re.compile(r"[a-z0-9]+|[^\x00-\x7f]")
_UPPER_TO_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_MASK = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15


def embed(name: str, text: str) -> np.ndarray:
    """Return the vector of a text by the embedder `hash:N` or `dense:N`, shape (N,), float32; zeros without a token."""
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


class EmbeddingService:
    """Answers with the vectors of `dense:8`; `trouble` may answer instead, and `asked` records the texts."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.trouble: Callable[[list[str]], Answer | None] = lambda texts: None

    def __call__(self, path: str, headers: Mapping[str, str], asked: Any) -> Answer:
        texts = asked["input"]
        self.asked.append(texts)
        answer = self.trouble(texts)
        if answer is not None:
            return answer
        vectors = [{"index": at, "embedding": embed("dense:8", text).tolist()} for at, text in enumerate(texts)]
        return 200, json.dumps({"data": vectors[::-1]}).encode()
