"""Create missing embeddings, and replace those that no query can match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from zeroclaw_tui.backends.about import key_and_content
from zeroclaw_tui.backends.base import check_writable
from zeroclaw_tui.backends.lookup import fill_vectors, rows_by_id
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.embeddings.base import Embedder, InputRejectedError, RetryPolicy, estimate_tokens, request_sentence
from zeroclaw_tui.embeddings.endpoint import BACKGROUND, embed_each
from zeroclaw_tui.memory.change import Row, Vector
from zeroclaw_tui.memory.errors import EmbeddingFailed, Refused
from zeroclaw_tui.memory.text import WHITE_SPACE, counted, mask_secrets, one_line

BATCH_SIZE = 16
"""The number of texts per request; a killed process loses at most this many vectors."""
_MAX_KEY_LENGTH = 60


@dataclass(frozen=True, slots=True)
class ReindexPlan:
    """The ids of memories without an embedding, and with an `outdated` one, which no query matches or which was named.

    `characters` and `tokens` are the amounts to send to the model.
    """

    missing: tuple[str, ...]
    outdated: tuple[str, ...]
    characters: int
    tokens: int
    model: str
    is_remote: bool
    provider: str

    @property
    def count(self) -> int:
        return len(self.missing) + len(self.outdated)

    def as_json(self) -> dict[str, Any]:
        counts = {"missing": len(self.missing), "wrong": len(self.outdated)}
        sent = {"characters": self.characters, "tokens": self.tokens}
        return {"model": self.model, "remote": self.is_remote, **counts, **sent}

    def sentences(self) -> Iterator[str]:
        if not self.count:
            yield "Every memory with text has a matching embedding."
            return
        if self.missing:
            yield f"{counted(len(self.missing))} without an embedding."
        if self.outdated:
            yield f"{counted(len(self.outdated))} with an outdated embedding."
        where = "leave this machine" if self.is_remote else "stay on this machine"
        model = f"{one_line(self.model)} of {one_line(mask_secrets(self.provider))}"
        yield f"{self.characters:,} characters, about {self.tokens:,} tokens, {where}: {model} makes the vectors."
        if self.provider == "local":
            yield "ZeroClaw does not know the provider local: only this program uses these embeddings."


@dataclass(slots=True)
class ReindexOutcome:
    """The result of a run. A stopped run can be continued with a new plan."""

    filled: int = 0
    skipped: int = 0
    """Memories that were changed or deleted since the plan."""
    failed: list[str] = field(default_factory=list)
    """A sentence for each failure."""
    stopped: bool = False

    def as_json(self) -> dict[str, Any]:
        return {"filled": self.filled, "left": self.skipped, "failed": self.failed, "stopped": self.stopped}

    def sentences(self, planned: int) -> Iterator[str]:
        """Say how many embeddings of a plan were created; failures are not included."""
        yield f"{counted(self.filled)} of {planned:,} got an embedding."
        if self.skipped:
            yield f"{counted(self.skipped)} skipped because of a newer change."


async def plan_reindex(library: Library, *, ids: Sequence[str] = ()) -> ReindexPlan:
    """Find the memories that need an embedding, all or with these ids. Raises Refused if none can be made."""
    embedder = _require_embedder(library)
    missing: list[str] = []
    outdated: list[str] = []
    characters = 0

    def visit(row: Row) -> None:
        nonlocal characters
        content, vector = row.values.get("content"), row.values.get("embedding")
        has_text = isinstance(content, str) and content.strip(WHITE_SPACE)
        if has_text and (ids or not _is_usable(vector, embedder.dimensions)):
            (outdated if vector else missing).append(row.id)
            characters += len(str(content))

    if ids:
        for row in (await rows_by_id(library.memory, ids)).values():
            visit(row)
    else:
        await library.memory.scan(visit)
    return ReindexPlan(
        missing=tuple(missing),
        outdated=tuple(outdated),
        characters=characters,
        tokens=estimate_tokens(characters),
        model=library.config.embedding.model,
        is_remote=embedder.is_remote,
        provider=library.config.embedding.provider,
    )


def announce(library: Library, plan: ReindexPlan) -> None:
    """Announce what the plan sends to another machine, if anything is sent."""
    if plan.count and library.embedder is not None:
        sentence = request_sentence(library.embedding_host, plan.model, plan.count, plan.characters)
        library.embedder.announce(sentence)


async def reindex(
    library: Library,
    plan: ReindexPlan,
    *,
    on_progress: Callable[[int], bool] | None = None,
    retries: RetryPolicy = BACKGROUND,
) -> ReindexOutcome:
    """Create the embeddings of a plan and write them batch by batch.

    `on_progress` gets the number of embeddings created and stops the run by returning False. Only requests to a
    busy endpoint are repeated. Raises Refused if the store has embeddings of another model, and the errors of writes.
    """
    check_writable(library.memory)
    embedder, embedding = _require_embedder(library), library.config.embedding
    if (database := library.memory.upkeep.database) is not None:
        await database.check_model(embedding.provider, embedding.model, embedder.dimensions)
    outcome = ReindexOutcome()
    patient = embedder.with_retries(retries)
    ids = (*plan.missing, *plan.outdated)
    try:
        for start in range(0, len(ids), BATCH_SIZE):
            batch = ids[start : start + BATCH_SIZE]
            found = await rows_by_id(library.memory, batch)
            rows = [row for row in found.values() if isinstance(row.values.get("content"), str)]
            outcome.skipped += len(batch) - len(rows)
            if rows:
                await _fill(library, patient, rows, outcome)
            if on_progress is not None and not on_progress(outcome.filled) and start + BATCH_SIZE < len(ids):
                outcome.stopped = True
                break
    except EmbeddingFailed as failure:
        outcome.failed.append(failure.message)
    finally:
        await patient.close()
    return outcome


async def _fill(library: Library, embedder: Embedder, rows: Sequence[Row], outcome: ReindexOutcome) -> None:
    """Create and write the embeddings of some rows."""
    embedding = library.config.embedding
    contents = [str(row.values["content"]) for row in rows]
    if library.memory.about.computes_vectors:
        contents = [key_and_content(row.key, content) for row, content in zip(rows, contents, strict=True)]
    results = await embed_each(embedder, contents)
    vectors: list[tuple[Row, Vector]] = []
    for row, result in zip(rows, results, strict=True):
        if isinstance(result, InputRejectedError):
            outcome.failed.append(f"{one_line(row.key)[:_MAX_KEY_LENGTH]}: {result.message}")
            continue
        vectors.append((row, Vector(result.astype("<f4").tobytes(), embedding.provider, embedding.model)))
    written = await fill_vectors(library.memory, vectors)
    outcome.filled += written.written
    outcome.skipped += len(written.skipped)


def _require_embedder(library: Library) -> Embedder:
    if "vectors" in library.memory.why_not:
        raise Refused(library.memory.why_not["vectors"], hint="Nothing was sent.")
    if library.embedder is None:
        reason = library.no_embedder_because or "no embeddings configured"
        raise Refused(f"Cannot create embeddings: {reason}", hint="Run `zeroclaw onboard` to configure a provider.")
    return library.embedder


def _is_usable(vector: object, dimensions: int) -> bool:
    """Whether a query can match a vector: it has the right length, is not zero, and all its numbers are finite."""
    import numpy as np

    if not isinstance(vector, bytes) or len(vector) != 4 * dimensions:
        return False
    numbers = np.frombuffer(vector, dtype="<f4")
    return bool(np.isfinite(numbers).all() and numbers.any())
