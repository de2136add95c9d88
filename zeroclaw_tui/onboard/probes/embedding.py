"""Whether the embedding endpoint of the answers returns a vector, and of which length."""

from __future__ import annotations

import asyncio
import copy
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from zeroclaw_tui.config.embedding import LOCAL, read_embedding
from zeroclaw_tui.config.environment import apply_generic
from zeroclaw_tui.config.form import Form, to_third_schema
from zeroclaw_tui.config.load import read_memory
from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.config.notes import Notes, shown
from zeroclaw_tui.config.secrets import reveal
from zeroclaw_tui.embeddings.addresses import is_loopback
from zeroclaw_tui.embeddings.factory import ZEROCLAW_NAMES, why_no_embedder
from zeroclaw_tui.embeddings.failures import KeyRefused, WrongDimension
from zeroclaw_tui.embeddings.openai import OpenAIEmbedder
from zeroclaw_tui.memory.errors import NOT_REACHABLE, REFUSED, WRONG_USE, EmbeddingFailed
from zeroclaw_tui.onboard.answers.answers import Answers
from zeroclaw_tui.onboard.probes.finding import Finding
from zeroclaw_tui.onboard.probes.values import HostUnknown, addresses_of, plain_answer

_SUBJECT = "embedding"
_SENT = "Who prefers tea?"
_KEYS = ("embedding_provider", "embedding_model", "embedding_dimensions")


async def probe(answers: Answers, seconds: float) -> Finding:
    """Ask for the vector of one short text, with the key ZeroClaw would send."""
    config, is_routed = effective_embedding(answers)
    if config.provider == LOCAL:
        return Finding(
            _SUBJECT, "not tested", "The embedding provider local is this program's own; ZeroClaw takes it for none."
        )
    because = why_no_embedder(config, ZEROCLAW_NAMES)
    if because is not None:
        return Finding(_SUBJECT, "bad", because, exit_code=WRONG_USE)
    asking = OpenAIEmbedder(config, connect_seconds=seconds, total_seconds=seconds)
    facts = open_key_facts(asking.url, config.api_key)
    try:
        async with asyncio.timeout(seconds):
            await check_host(asking.url)
            vector = await asking.embed(_SENT)
    except WrongDimension as error:
        return _wrong_dimension(error, facts, is_routed=is_routed)
    except HostUnknown as error:
        return Finding(_SUBJECT, "bad", error.message, facts, error.hint, error.exit_code)
    except EmbeddingFailed as error:
        return Finding(
            _SUBJECT,
            "bad",
            error.message,
            facts,
            error.hint,
            REFUSED if isinstance(error, KeyRefused) else NOT_REACHABLE,
        )
    except TimeoutError:
        host = shown(urlsplit(asking.url).hostname or "")
        return Finding(
            _SUBJECT,
            "bad",
            f"The embedding endpoint on {host} did not answer within {seconds:g} s.",
            facts,
            "Try later.",
        )
    finally:
        await asking.close()
    return Finding(_SUBJECT, "good", f"answers with a vector of {len(vector):,} numbers", facts)


def effective_embedding(answers: Answers) -> tuple[EmbeddingConfig, bool]:
    """What ZeroClaw would make vectors with if the answers were written, and whether an embedding route says so.

    The config as it stands, the environment, then the answers; routes, provider references and keys by ZeroClaw's own
    order. Raises SecretUnreadable where a needed key cannot be opened here.
    """
    situation = answers.situation
    form, notes = Form(situation.target.schema, situation.target.is_modern), Notes()
    document: dict[str, Any] = copy.deepcopy(dict(situation.document.values))
    if form.is_modern:
        document = to_third_schema(document, form, notes)
    document = apply_generic(document, situation.environ, form, notes)
    memory = notes.table(document, "memory")
    memory |= {name: answers.value(f"memory.{name}") for name in _KEYS}
    memory = {name: value for name, value in memory.items() if value is not None}
    if form.is_modern and "memory.embedding_api_key" in answers.given:
        memory["embedding_api_key"] = plain_answer(answers, "memory.embedding_api_key")
    document["memory"] = memory

    def opened(value: str, name: str) -> str:
        return reveal(value, situation.config_dir)

    config = read_embedding(document, read_memory(document, form, notes), situation.environ, form, notes, opened)
    return config, "embedding_routes" in notes.sources.get("memory.embedding_provider", "")


def open_key_facts(url: str, key: str | None) -> tuple[str, ...]:
    """That a key travels readable, where it does."""
    parts = urlsplit(url)
    if not key or parts.scheme != "http" or is_loopback(parts.hostname or ""):
        return ()
    return (f"the key is sent to {shown(parts.hostname or '')} over plain HTTP, readable on the way",)


async def check_host(url: str) -> None:
    """Look the host up first, which a slow name server cannot stretch. Raises HostUnknown.

    Behind a proxy the proxy looks it up.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxies = urllib.request.getproxies()
    if (parts.scheme in proxies or "all" in proxies) and not urllib.request.proxy_bypass(host):
        return
    await addresses_of(host)


def _wrong_dimension(error: WrongDimension, facts: tuple[str, ...], *, is_routed: bool) -> Finding:
    if is_routed:
        hint = f"Set dimensions of the embedding route to {error.found}, or choose another model."
        return Finding(_SUBJECT, "bad", error.message, facts, hint, WRONG_USE)
    corrections = {"memory.embedding_dimensions": error.found} if error.found else {}
    return Finding(_SUBJECT, "bad", error.message, facts, error.hint, WRONG_USE, corrections)
