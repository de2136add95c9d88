"""Vectors out of words by hashing: no model, no network, the same on every machine."""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections import Counter
from typing import TYPE_CHECKING

from zeroclaw_tui.config.memory_config import EmbeddingConfig

if TYPE_CHECKING:
    import numpy as np

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003fffd"
_TOKEN = re.compile(f"[{_CJK}]|[^\\W_{_CJK}]+")
_ENGLISH_FUNCTION_WORDS = (
    "a am an and are as at be but by can did do does for from had has have he her his how i if in is it its me my no "
    "not of on or our she so that the their them then there they this to was we were what when where which who why "
    "will with would you your"
)
_LITTLE_WORDS = frozenset(_ENGLISH_FUNCTION_WORDS.split())
# Whole numbers add up to the same sum in any order, so that what cancels out cancels out exactly.
_LITTLE_WORD_WEIGHT = 200
_WORD_WEIGHT = 1000
_TRIGRAM_WEIGHT = 350
_LONGEST_WITHOUT_TRIGRAMS = 3


class LocalEmbedder:
    """The embedder `local`: signed feature hashing of words with SHA-256.

    Texts that share words, or words of the same stem, are near each other; meaning beyond the letters is not seen.
    Real ZeroClaw does not know the name "local" and takes it for none, so these vectors never reach an agent.
    """

    name = "local"
    is_remote = False

    def __init__(self, config: EmbeddingConfig) -> None:
        self.dimensions = config.dimensions

    async def embed(self, text: str) -> np.ndarray:
        """The vector of a text, shape (dimensions,), float32, of length 1, or all zeros for a text without a word."""
        import numpy as np

        return np.frombuffer(local_vector(text, self.dimensions), dtype="<f4").astype(np.float32)

    async def close(self) -> None:
        """Nothing to let go of."""


def local_vector(text: str, dimensions: int) -> bytes:
    """The vector of a text as ZeroClaw stores one: `dimensions` little-endian float32 of Euclidean length 1.

    Features are lower-case words, each CJK code point by itself, and the character trigrams of words of four letters
    and more, which bring words of one stem together. English function words count little, and repetition counts by
    its square root. Each feature's SHA-256 picks one place and a sign.
    """
    places = [0] * dimensions
    for feature, weight in _features(text).items():
        digest = hashlib.sha256(feature.encode("utf-8", "surrogatepass")).digest()
        sign = 1 if digest[8] % 2 == 0 else -1
        places[int.from_bytes(digest[:8], "big") % dimensions] += sign * weight
    length = math.sqrt(sum(value * value for value in places)) or 1.0
    return struct.pack(f"<{dimensions}f", *(value / length for value in places))


def _features(text: str) -> Counter[str]:
    weights: Counter[str] = Counter()
    for word, times in Counter(_TOKEN.findall(text.lower())).items():
        much = math.sqrt(times)
        if word in _LITTLE_WORDS:
            weights[word] += round(_LITTLE_WORD_WEIGHT * much)
            continue
        weights[word] += round(_WORD_WEIGHT * much)
        for trigram in _trigrams(word):
            weights[trigram] += round(_TRIGRAM_WEIGHT * much)
    return weights


def _trigrams(word: str) -> list[str]:
    """The trigrams with both ends marked, and a mark that keeps them apart from whole words."""
    if len(word) <= _LONGEST_WITHOUT_TRIGRAMS:
        return []
    ends = f" {word} "
    return [f"#{ends[at : at + 3]}" for at in range(len(word))]
