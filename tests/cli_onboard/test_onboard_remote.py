"""What `zeroclaw onboard` says of a server that refuses, is not there, hangs or wants TLS; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_onboard_samples import CONFIG
from support.http_endpoints import embeddings, serving
from support.postgres_server import TLS_ONLY, PostgresServer, running_postgres

Onboard = Any
PASSWORD = "right-sekret"
NEW_FORM = 'schema_version = 3\n[memory]\nbackend = "sqlite.default"\nauto_save = true\n'


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as started:
        started.make_user("agent", PASSWORD)
        started.make_database("remembered", "agent")
        if started.run(f"SELECT count(*) FROM pg_database WHERE datname = '{TLS_ONLY}'") == "0":
            started.make_database(TLS_ONLY)
        yield started


def with_url(url: str) -> tuple[str, ...]:
    return ("--memory", "postgres", "--set", f"storage.postgres.db_url={url}")


def refused(onboard: Onboard, config_file: Path, flags: tuple[str, ...], code: int) -> str:
    """What is said on stderr by a command that ends with this code; it leaves every file and folder as it was."""
    before = {path: path.read_bytes() for path in config_file.parent.rglob("*") if path.is_file()}
    names = sorted(config_file.parent.rglob("*"))
    answer = onboard(*flags)
    assert answer.code == code, answer.err
    assert "✗ " not in answer.out, "what ends the command is told once"
    assert "Written" not in answer.out
    assert "Nothing was written." in answer.err
    assert "Pass --no-test to write anyway." in answer.err
    assert len(answer.err.splitlines()) == 2, answer.err
    message = onboard(*flags, "--json")
    assert (message.code, message.err) == (code, answer.err)
    assert (message.json["written"], message.json["backup"]) == (False, None)
    [found] = [test for test in message.json["tests"] if test["verdict"] == "bad"]
    assert found["sentence"].rstrip(".") in answer.err
    assert sorted(config_file.parent.rglob("*")) == names
    assert {path: path.read_bytes() for path in before} == before
    return str(answer.err)


def test_a_wrong_dimension_names_the_flag_that_puts_it_right(onboard: Onboard, config_file: Path) -> None:
    config_file.write_text(NEW_FORM)
    with serving(embeddings(768, "key-sekret")) as endpoint:
        flags = (
            "--set", f"memory.embedding_provider=custom:{endpoint.base}",
            "--set", "memory.embedding_api_key=key-sekret",
        )  # fmt: skip
        message = refused(onboard, config_file, flags, 2)
        assert "Pass --set memory.embedding_dimensions=768 to fix it." in message
        answer = onboard(*flags, "--set", "memory.embedding_dimensions=768")
    assert answer.code == 0, answer.err
    assert "sekret" not in config_file.read_text()


def test_the_right_password_is_let_in_and_not_kept_as_plain_text(
    onboard: Onboard, config_file: Path, server: PostgresServer
) -> None:
    answer = onboard(*with_url(server.url("agent", PASSWORD, "remembered")), "--json")
    assert (answer.code, answer.err) == (0, "")
    assert [(test["subject"], test["verdict"]) for test in answer.json["tests"]] == [("postgres", "good")]
    assert answer.json["written"] is True
    assert 'db_url = "enc2:' in config_file.read_text()
    for file in config_file.parent.rglob("*"):
        assert not file.is_file() or PASSWORD not in file.read_text()
    assert CONFIG.splitlines()[4] in config_file.read_text()
