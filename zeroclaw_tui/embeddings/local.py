"""The embedder `local`, which works without a network: signed feature hashing of words with SHA-256."""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections import Counter
from typing import TYPE_CHECKING

from zeroclaw_tui.embeddings.base import Embedder

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.config.memory_config import EmbeddingConfig

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003fffd"
_WORD = f"[{_CJK}]|[^\\W_{_CJK}]+"
_ENGLISH = (
    "a am an and are as at be but by can did do does for from had has have he her his how i if in is it its me my no "
    "not of on or our she so that the their them then there they this to was we were what when where which who why "
    "will with would you your"
)
_FUNCTION_WORDS = frozenset(_ENGLISH.split())
# Integer weights have the same sum in any order, so features that cancel out leave exactly zero.
_FUNCTION_WORD_WEIGHT = 200
_WORD_WEIGHT = 1000
_TRIGRAM_WEIGHT = 350
_SHORTEST_WITH_TRIGRAMS = 4


class LocalEmbedder(Embedder):
    """Texts that share words, or words with the same stem, get similar vectors; synonyms do not.

    ZeroClaw does not have the provider "local" and treats it as none, so these vectors never reach an agent.
    """

    def __init__(self, config: EmbeddingConfig) -> None:
        self.dimensions = config.dimensions

    async def embed(self, text: str) -> np.ndarray:
        """Embed a text: shape (dimensions,), float32, of length 1; all zeros for a text without words."""
        import numpy as np

        return np.frombuffer(local_vector(text, self.dimensions), dtype="<f4").astype(np.float32)

    async def query(self, text: str) -> np.ndarray:
        return await self.embed(text)

    def is_cached(self, query: str) -> bool:
        return True


def local_vector(text: str, dimensions: int) -> bytes:
    """Embed a text in the format of ZeroClaw's column: `dimensions` little-endian float32 of Euclidean length 1.

    Features are lower-case words, single CJK characters, and the character trigrams of words of four or more letters,
    which make words with the same stem similar. English function words have a low weight, and repetition counts by its
    square root. Each feature's SHA-256 selects one component and a sign.
    """
    components = [0] * dimensions
    for feature, weight in _weighted_features(text).items():
        digest = hashlib.sha256(feature.encode("utf-8", "surrogatepass")).digest()
        sign = 1 if digest[8] % 2 == 0 else -1
        components[int.from_bytes(digest[:8], "big") % dimensions] += sign * weight
    length = math.sqrt(sum(value * value for value in components)) or 1.0
    return struct.pack(f"<{dimensions}f", *(value / length for value in components))


def _weighted_features(text: str) -> Counter[str]:
    weights: Counter[str] = Counter()
    for word, count in Counter(re.findall(_WORD, text.lower())).items():
        repetition = math.sqrt(count)
        if word in _FUNCTION_WORDS:
            weights[word] += round(_FUNCTION_WORD_WEIGHT * repetition)
            continue
        weights[word] += round(_WORD_WEIGHT * repetition)
        if len(word) >= _SHORTEST_WITH_TRIGRAMS:
            # The ends of the word are marked by blanks, and "#" distinguishes trigrams from whole words.
            padded = f" {word} "
            for start in range(len(word)):
                weights[f"#{padded[start : start + 3]}"] += round(_TRIGRAM_WEIGHT * repetition)
    return weights
