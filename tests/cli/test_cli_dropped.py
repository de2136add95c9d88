"""Removed verbs and options are answered with one sentence, whose command works as printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from support.commands import Command

from zeroclaw_tui.cli.dropped import OPTIONS, VERBS, RemovedError
from zeroclaw_tui.cli.verbs import find_verb, first_words, memory_arguments, verb_parser

NEEDS = {
    "copy": ["--to", "markdown"],
    "test": ["FILE"],
    "explain": ["KEY", "--query", "x"],
    "recall": ["x"],
    "import": ["FILE"],
}
"""Arguments that the parser of a verb requires before it reports an unknown option."""
TEST_FILE = '[[query]]\nquery = "text"\nexpected = "KEY"\n'


@pytest.fixture
def old(run: Command, install: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a program on an install where the placeholders of the sentences exist: a memory KEY, a FILE of recall
    tests and a FILE.jsonl of memories."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").write_text(TEST_FILE)
    (tmp_path / "FILE.jsonl").write_text('{"key": "new", "content": "a new text"}\n')
    run("memory", "store", "KEY", "a text", "--config-dir", str(install))
    run("memory", "store", "twin", "a text", "--config-dir", str(install))
    run("memory", "snapshot", "--yes", "--config-dir", str(install))

    def answer(*arguments: str, program: str = "zeroclaw") -> Any:
        place = ("--config-dir", str(install)) if "memory" in arguments else ()
        return run(*arguments, *place, program=program)

    return answer


@pytest.mark.parametrize("name", VERBS)
def test_a_removed_verb_prints_its_sentence(old: Command, name: str) -> None:
    for more in ((), ("KEY",), ("--help",)):
        answer = old("memory", *name.split(), *more)
        assert (answer.code, answer.out, answer.err) == (2, "", f"zeroclaw: {VERBS[name]}\n")
    error = old("memory", *name.split(), "--json").json["error"]
    assert error == {"title": "Removed", "message": VERBS[name], "hint": "", "exit_code": 2}
    assert old("memory", "help", *name.split()).err == f"zeroclaw: {VERBS[name]}\n"
    assert name not in dict(first_words())


def test_a_removed_option_of_a_verb_raises_an_error_with_its_sentence() -> None:
    for (verb, option), sentence in OPTIONS.items():
        for words in ([option], [f"{option}=x"], [option, "x"]):
            with pytest.raises(RemovedError) as caught:
                memory_arguments([*verb.split(), *NEEDS.get(verb, []), *words])
            assert caught.value.message == sentence
        assert option not in verb_parser(find_verb(verb)).format_help()


def test_a_removed_option_of_the_program_prints_its_sentence(old: Command) -> None:
    answer = old("memory", "list", "--words", "x")
    assert (answer.code, answer.out, answer.err) == (2, "", f"zeroclaw: {OPTIONS['list', '--words']}\n")


SENTENCES = " ".join((*VERBS.values(), *OPTIONS.values()))


@pytest.mark.parametrize("command", dict.fromkeys(re.findall(r"`(zeroclaw[^`]*)`", SENTENCES)))
def test_the_replacement_works_as_printed(old: Command, command: str) -> None:
    program, *words = shlex.split(command)
    changes = set(words) & {"purge", "copy", "import", "hydrate", "--merge", "--compact"}
    answer = old(*words, *(["--yes"] if changes else []), program=program)
    assert answer.code == 0, answer.err


def test_any_other_unknown_word_is_still_reported(old: Command) -> None:
    assert "Unrecognized arguments: --nope" in old("memory", "list", "--nope").err
    assert "Did you mean" in old("memory", "lisst").err
    assert "Removed" not in old("memory", "list", "--json", "--", "--words").out
