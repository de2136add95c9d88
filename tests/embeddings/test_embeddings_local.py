"""The embedder without a model: equal vectors on every machine, and similar ones for shared words."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.places import EmbeddingConfig

from zeroclaw_tui.embeddings.local import LocalEmbedder, local_vector


def cosine(one: str, other: str, dimensions: int = 256) -> float:
    left, right = (np.frombuffer(local_vector(text, dimensions), "<f4").astype(float) for text in (one, other))
    return float(left @ right)


def test_a_vector_is_the_same_on_every_machine() -> None:
    vector = struct.unpack("<6f", local_vector("Prefers Rust", 6))
    assert vector == pytest.approx([-0.427394, 0.427394, -0.183169, -0.427394, 0.213697, -0.610563], abs=1e-6)


async def test_the_embedder_gives_the_stored_bytes_as_float32() -> None:
    embedder = LocalEmbedder(EmbeddingConfig("local", dimensions=64))
    vector = await embedder.embed("The cat is named Mio")
    assert vector.dtype == np.float32
    assert vector.shape == (64,)
    assert vector.astype("<f4").tobytes() == local_vector("The cat is named Mio", 64)
    vector[0] = 1.0
    await embedder.close()


@pytest.mark.parametrize(
    ("one", "near", "far"),
    [
        ("Which editor does she use?", "She edits in Helix, her editor of choice", "The train to Osaka leaves at nine"),
        ("The cat is named Mio", "Mio the cat needs a vet on Friday", "The rent is due on the first"),
        ("猫の名前", "猫はミオという名前です", "東京は雨"),
    ],
)
def test_texts_with_shared_words_are_clearly_more_similar(one: str, near: str, far: str) -> None:
    assert cosine(one, near) > cosine(one, far) + 0.15


@pytest.mark.parametrize("text", ["", "  \n", "!?…", "\x00", "\ud800"])
def test_a_text_without_words_has_a_zero_vector(text: str) -> None:
    assert local_vector(text, 8) == bytes(32)


@given(st.text(), st.integers(1, 300))
def test_any_text_has_a_vector_of_length_one_or_zero(text: str, dimensions: int) -> None:
    vector = np.frombuffer(local_vector(text, dimensions), "<f4").astype(float)
    assert vector.shape == (dimensions,)
    length = float(np.linalg.norm(vector))
    assert length == 0 or abs(length - 1) < 1e-5
