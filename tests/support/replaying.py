"""Compare recalls with their replays on the same library."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from support.libraries import Library, ProfileChoice
from support.questions import RecallRequest, RecallResult
from support.rules import ScoringSettings, Trial, profile_for
from support.stores import Memory
from support.test_embedder import embed
from zeroclaw_tui.curation.recall import GatheredEvidence, gather_evidence, recall_memories
from zeroclaw_tui.embeddings.base import Embedder
from zeroclaw_tui.embeddings.local import LocalEmbedder

AS_OF = "2026-06-01T12:00:00+02:00"


class RecordedEmbedder(LocalEmbedder):
    """The embedder of the recorded runs: "hash:64" or "dense:64"."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dimensions = int(name.partition(":")[2] or 0)

    async def embed(self, text: str) -> np.ndarray:
        return embed(self.name, text)


class FixedEmbedder(RecordedEmbedder):
    """Returns the same vector for every text, and records the texts."""

    def __init__(self, *numbers: float) -> None:
        super().__init__("fixed")
        self.dimensions = len(numbers)
        self.texts: list[str] = []
        self._vector = np.array(numbers, dtype=np.float32)

    async def embed(self, text: str) -> np.ndarray:
        self.texts.append(text)
        return self._vector


def library_of(memory: Memory, embedder: Embedder | None = None, version: str = "0.8.4") -> Library:
    """Return a library of an open store without config and trash, which scoring does not use."""
    missing = cast(Any, None)
    choice = ProfileChoice(profile_for(version), "option")
    return Library(missing, memory, choice, ScoringSettings(), embedder)


def trial(query: str, version: str = "0.8.4", settings: ScoringSettings | None = None, **parts: Any) -> Trial:
    """Return a trial with defaults for everything not given."""
    request = RecallRequest(query, **({"as_of": AS_OF} | parts))
    return Trial(request, profile_for(version), settings or ScoringSettings())


async def recalled(library: Library, tried: Trial) -> RecallResult:
    """Run the recall of a trial on the store."""
    return await recall_memories(library, tried)


class KnownEvidence:
    """Evidence of a library, gathered again only where what is known does not serve a trial."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._known: dict[str, list[GatheredEvidence]] = {}

    async def serving(self, tried: Trial) -> GatheredEvidence:
        """Return evidence that serves the trial: known evidence, or newly gathered evidence that is then known."""
        known = self._known.setdefault(tried.request.query, [])
        for each in known:
            if each.can_decide(tried):
                return each
        known.append(await gather_evidence(self.library, tried))
        return known[-1]


def parts_of(result: RecallResult) -> tuple[Any, ...]:
    """Return the parts that must be equal, in a form in which NaN equals NaN."""
    return (repr(result.results), repr(result.withheld), result.mode, result.scale, result.notes)
