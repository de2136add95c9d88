"""Whether the Qdrant server of the answers answers, and whether its collection fits."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.config.memory_config import EmbeddingConfig, MemoryConfig
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.embeddings.factory import create_embedder
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.probes.embedding import check_host, effective_embedding, open_key_facts
from zeroclaw_tui.onboard.probes.finding import Finding
from zeroclaw_tui.onboard.probes.values import plain_answer

_SUBJECT = "qdrant"
_NO_VECTORS = "no embedding provider is on: ZeroClaw cannot store anything in Qdrant without one"


async def probe(answers: Answers, seconds: float) -> Finding:
    """Ask for the collection of the answers; only GET is sent. Raises WrongUse for an address or a key that is none."""
    url, key = plain_answer(answers, "storage.qdrant.url"), _key(answers)
    config, _ = effective_embedding(answers)
    has_vectors = config.is_on and create_embedder(config)[0] is not None and config.provider != "local"
    storage = {"url": url, "api_key": key, "collection": answers.value("storage.qdrant.collection")}
    memory = create_memory(
        MemoryConfig(
            answers.situation.install,
            backend="qdrant",
            storage=storage,
            embedding=config if has_vectors else EmbeddingConfig(),
            read_only=True,
        )
    )
    facts = (*open_key_facts(url, key), *(() if has_vectors else (_NO_VECTORS,)))
    try:
        async with asyncio.timeout(seconds):
            await check_host(url)
        found = await memory.readiness(seconds)
    except TimeoutError:
        late = f"{shown(urlsplit(url).hostname or '')} could not be looked up within {seconds:g} s."
        return Finding(_SUBJECT, "bad", late, facts, "Check that DNS works here.")
    except InspectorError as error:
        return Finding(_SUBJECT, "bad", error.message, facts, error.hint, error.exit_code)
    finally:
        await memory.close()
    problem = found.problem
    if problem is None:
        return Finding(_SUBJECT, "good", found.summary, (*found.facts, *facts))
    said = (found.summary, *facts)
    return Finding(_SUBJECT, "bad", problem.message, said, problem.hint, problem.exit_code, found.corrections)


def _key(answers: Answers) -> str:
    """The key as ZeroClaw sends it: up to 0.7.5 literally, whatever it begins with."""
    if answers.situation.target.is_modern:
        return plain_answer(answers, "storage.qdrant.api_key")
    return str(answers.value("storage.qdrant.api_key") or "").strip()
