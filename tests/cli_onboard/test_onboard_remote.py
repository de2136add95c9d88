"""What `zeroclaw onboard` says of a server that refuses, is not there, hangs or wants TLS; nothing is written."""

from __future__ import annotations

from pathlib import Path

from support.commands import Command
from support.http_endpoints import embeddings, serving

NEW_FORM = 'schema_version = 3\n[memory]\nbackend = "sqlite.default"\nauto_save = true\n'


def refused(onboard: Command, config_file: Path, flags: tuple[str, ...], code: int) -> str:
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


def test_a_wrong_dimension_names_the_flag_that_puts_it_right(onboard: Command, config_file: Path) -> None:
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
