"""`memory reindex`: what would be sent, the vectors made, a ctrl-c after which it can be continued."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import Command
from support.http_endpoints import HttpEndpoint, embeddings, serving


@pytest.fixture
def endpoint(install: Path) -> Iterator[HttpEndpoint]:
    """The install embeds with a service on the loopback."""
    with serving(embeddings(4)) as running:
        with (install / "config.toml").open("a") as config:
            config.write(f'embedding_provider = "custom:{running.base}"\nembedding_dimensions = 4\n')
        yield running


def _embedded(install: Path) -> int:
    with closing(sqlite3.connect(install / "workspace" / "memory" / "brain.db")) as connection:
        return int(connection.execute("SELECT count(embedding) FROM memories").fetchone()[0])


def test_a_dry_run_says_what_would_be_sent(memory: Command, endpoint: HttpEndpoint, install: Path) -> None:
    answer = memory("reindex", "--dry-run")
    assert answer.code == 0
    assert "9 memories without an embedding." in answer.out
    assert "stay on this machine" in answer.out
    planned = memory("reindex", "--dry-run", "--json").json
    assert (planned["missing"], planned["wrong"], planned["remote"]) == (9, 0, False)
    assert planned["tokens"] == -(-planned["characters"] // 4)
    assert endpoint.requests == []
    assert _embedded(install) == 0


def test_the_vectors_are_made_and_a_second_time_there_is_nothing_to_do(
    memory: Command, endpoint: HttpEndpoint, install: Path
) -> None:
    answer = memory("reindex", "--yes")
    assert (answer.code, answer.out) == (0, "✓ 9 memories of 9 got an embedding.\n")
    assert _embedded(install) == 9
    again = memory("reindex", "--yes")
    assert (again.code, again.out) == (0, "Every memory with text has a matching embedding.\n")
    assert len(endpoint.requests) == 1


def test_an_endpoint_that_says_no_ends_with_what_it_said(
    memory: Command, endpoint: HttpEndpoint, install: Path
) -> None:
    endpoint.answering = embeddings(4, key="another")
    answer = memory("reindex", "--yes")
    assert answer.code == 1
    assert "wants an API key" in answer.err
    assert _embedded(install) == 0
