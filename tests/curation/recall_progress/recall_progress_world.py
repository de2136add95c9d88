"""A store with vectors, and an embeddings service on the loopback that answers when a test wants it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.http_endpoints import Answer
from support.test_embedder import embed

CONTENTS = (
    "She likes green tea in the morning",
    "The tea shop closes at six",
    "Prefers Rust over Go",
    "A beverage of leaves, hot, no sugar",
)
MEANS_TEA = embed("dense:8", "beverage leaves hot")


class Service:
    """Vectors as the store's, but for a query with "tea", which means the last memory.

    `troubles` answer first, one a request; with `holds` it answers when `may_answer` is set.
    """

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.troubles: list[Answer] = []
        self.holds = False
        self.may_answer = threading.Event()
        self.was_asked = threading.Event()

    def __call__(self, path: str, headers: Mapping[str, str], asked: Any) -> Answer:
        texts = asked["input"]
        self.asked.append(texts)
        self.was_asked.set()
        if self.troubles:
            return self.troubles.pop(0)
        if self.holds:
            self.may_answer.wait(60)
        vectors = [{"index": at, "embedding": self._vector(text)} for at, text in enumerate(texts)]
        return 200, json.dumps({"data": vectors}).encode()

    @staticmethod
    def _vector(text: str) -> list[float]:
        numbers: list[float] = (MEANS_TEA if "tea" in text else embed("dense:8", text)).tolist()
        return numbers


def configured(folder: Path, base: str) -> Path:
    """The install with embeddings made at an address."""
    (folder / "config.toml").write_text(
        'schema_version = 3\n[memory]\nbackend = "sqlite"\nembedding_api_key = "sk-test-0123456789abcdef"\n'
        f'embedding_provider = "custom:{base}"\nembedding_model = "text-embedding-3-small"\nembedding_dimensions = 8\n'
    )
    return folder
