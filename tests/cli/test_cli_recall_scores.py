"""The number in bold in a recall is the one that is compared with the threshold."""

from __future__ import annotations

import re

from support.commands import Command

LATER = ("--profile", "0.8.4", "--as-of", "2026-03-20T10:00:00Z")
"""Sixteen days after the memory `tz` of the category daily."""


def test_a_decayed_score_follows_the_score_before_it(memory: Command) -> None:
    shown = memory("recall", "Timezone", *LATER).out
    (scored,) = memory("recall", "Timezone", "--json", *LATER).json["results"]
    assert scored["decayed"] < 0.4 < scored["score"]
    assert f" {scored['score']:.2f} → {scored['decayed']:.2f}  " in shown
    assert re.search(r"^ +final  ", shown, re.MULTILINE)


def test_a_score_that_rounds_to_the_threshold_has_more_digits(memory: Command) -> None:
    (scored,) = memory("recall", "Timezone", "--json", *LATER).json["results"]
    threshold = f"{scored['decayed']:.2f}"
    above = threshold if float(threshold) > scored["decayed"] else f"{scored['decayed'] + 0.0001:.6f}"
    shown = memory("recall", "Timezone", f"--set=memory.min_relevance_score={above}", *LATER).out
    assert re.search(r" → 0\.\d{4}  ", shown)
