"""Texts of made-up words among which a few are similar, to be found again."""

from __future__ import annotations

import random


def planted(count: int, near: int, seed: int = 1) -> tuple[list[str], list[int]]:
    """So many texts, and the places of those that have most words in common with the first.

    Words are drawn as in a language: few of them are very frequent.
    """
    chance = random.Random(seed)
    words = [f"w{number}" for number in range(5_000)]
    weights = [1 / (number + 1) for number in range(len(words))]
    texts = [" ".join(chance.choices(words, weights, k=28)) for _ in range(count)]
    places = chance.sample(range(1, count), near)
    for place in places:
        kept = [word for word in texts[0].split() if chance.random() < 0.6]
        texts[place] = " ".join([*kept, *chance.choices(words, weights, k=28 - len(kept))])
    return texts, sorted(places)
