"""`memory recall` as a process, with an embeddings service that is right, slow to be, or broken."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from recall_progress_world import configured
from support.http_endpoints import BrokenOff
from support.warm_start import run_memory

KEY = "sk-test-0123456789abcdef"
ELSEWHERE = "http://embeddings.example"
ASKING = (
    "zeroclaw: Asking embeddings.example (text-embedding-3-small) for the query's vector: about 1 token; "
    "the text leaves this machine.\n"
)
RIGHT_LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n"


def ran(folder: Path, *arguments: str, given: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    environment |= {"HOME": str(folder.parent), **variables}
    return run_memory(*arguments, "--config-dir", str(folder), stdin=given, environment=environment)


def recalled(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    assert KEY not in done.stdout + done.stderr
    return [found["key"] for found in json.loads(done.stdout)["results"]]


def test_a_service_on_this_machine_is_asked_without_a_word(folder, endpoint, service):
    done = ran(configured(folder, endpoint.base), "recall", "tea", "--json")
    assert "row3" in recalled(done)
    assert done.stderr == ""
    assert service.asked == [["tea"]]


def test_before_a_text_leaves_this_machine_a_line_on_stderr_says_so(folder, endpoint):
    """The way to the other machine leads through a proxy, which is the service."""
    done = ran(configured(folder, ELSEWHERE), "recall", "tea", "--json", HTTP_PROXY=endpoint.base)
    assert "row3" in recalled(done)
    assert done.stderr == ASKING
    assert [path for path, _, _ in endpoint.requests] == [f"{ELSEWHERE}/v1/embeddings"]


def test_a_batch_says_it_once_and_asks_for_each_query_once(folder, endpoint, service):
    lines = "".join(f'{{"query": "{query}"}}\n' for query in ("tea", "rust", "tea"))
    done = ran(configured(folder, ELSEWHERE), "recall", "--batch", "-", given=lines, HTTP_PROXY=endpoint.base)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 3
    assert done.stderr == ASKING
    assert service.asked == [["tea"], ["rust"]]


@pytest.mark.parametrize(
    ("trouble", "times", "sentence"),
    [
        ((500, b"oops", {"Retry-After": "0"}), 3, "has an internal error (HTTP 500), asked 3 times."),
        ((401, b""), 1, "refuses the API key (HTTP 401)."),
        ((200, b'{"data": [{"embedding": [1, 2]}]}'), 1, "sent a vector of 2 numbers"),
        (BrokenOff(RIGHT_LENGTH + b'{"data": [{"embedd'), 3, "broke off instead of answering, asked 3 times."),
    ],
    ids=["500", "401", "dimension", "closed midway"],
)
def test_a_broken_endpoint_costs_the_vector_and_not_the_keyword_hits(
    folder, endpoint, service, trouble, times, sentence
):
    service.troubles = [trouble] * 3
    done = ran(configured(folder, endpoint.base), "recall", "tea", "--json")
    assert set(recalled(done)) == {"row0", "row1"}
    assert sentence in done.stderr
    assert "Keyword hits only." in done.stderr
    assert len(done.stderr.splitlines()) == 1
    (note,) = json.loads(done.stdout)["notes"]
    assert done.stderr == f"zeroclaw: {note}\n"
    assert len(service.asked) == times


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("store", "k", "Fresh leaves"), "the vector of a text: about 3 tokens; the text leaves"),
        (("reindex", "--yes", "--id", "id-000", "--id", "id-001"), "the vectors of 2 texts: about 15 tokens;"),
    ],
    ids=["store", "reindex"],
)
def test_what_is_written_is_reported_in_the_same_way(folder, endpoint, arguments, wanted):
    done = ran(configured(folder, ELSEWHERE), *arguments, HTTP_PROXY=endpoint.base)
    assert done.returncode == 0, done.stderr
    assert f"zeroclaw: Asking embeddings.example (text-embedding-3-small) for {wanted}" in done.stderr
    assert done.stderr.count("Asking") == 1
    assert len(endpoint.requests) == 1
