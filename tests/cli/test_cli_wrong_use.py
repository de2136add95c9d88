"""Wrong usage gives one sentence, one hint and an exit code, and changes nothing."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from support.commands import Brain, Command

from zeroclaw_tui.cli.audit import KINDS

MISTAKES: dict[str, str] = {
    "": "",
    "frobnicate": "",
    "lsit": "Did you mean list?",
    "list --limt 3": "Did you mean --limit?",
    "trash restor": "Did you mean trash restore?",
    "--jsn list": "Did you mean --json?",
    "list extra": "",
    "list --nope": "",
    "list --cat core": "",
    "list --category": "",
    "list --limit x": "",
    "list --limit -1": "",
    "list --offset 1.5": "",
    "list --superseded maybe": "",
    "list --older-than soon": "",
    "list --regex tea(": "",
    "list --profile newest": "",
    "list --backend frobnicate": "",
    "search": "",
    "search --category core": "",
    "search --regex ''": "",
    "get a b": "",
    "get --history": "",
    "recall": "",
    "recall tea --limit 0": "",
    "recall tea --limit 4294967295": "from 1 to 2,147,483,647",
    "recall tea --limit 9223372036854775807999": "is not a whole number",
    "recall tea --layer middle": "",
    "recall tea --rule none": "",
    "recall tea --as-of soon": "",
    "recall tea --set memory.min_relevance_score=nan": "",
    "recall tea --set memory.min_relevance_score": "",
    "recall tea --set memory.search_mode=both": "",
    "recall tea --set memory.auto_save=false": "",
    "recall tea --set memory.nothing=1": "",
    "store k": "",
    "store k -": "",
    "store k ''": "",
    "store ' ' text": "",
    "store k text --importance 2": "",
    "store k text --category ''": "",
    "store \udcff x": "",
    "store k \udcff": "",
    "edit pet": "",
    "edit --content x": "",
    "edit pet --content -": "",
    "edit pet --key ''": "",
    "edit pet --importance x": "",
    "edit pet --pinned --no-pinned": "",
    "forget": "",
    "purge": "",
    "purge --superseded": "",
    "purge --contains ''": "",
    "purge pet --category core": "",
    "purge --category core --regex '  '": "",
    "purge --id id-1 --older-than 1d": "",
    "clear --key a --category core": "",
    "undo --overwrite --rename": "",
    "trash": "",
    "trash restore": "",
    "trash restore 1 --all": "",
    "trash restore first": "",
    "audit --only nonsense": "', '".join(KINDS),
    "audit --purge": "Name each kind with --only",
    "audit --only secrets --merge": "Only duplicates can be merged",
    "audit --merge --purge": "not allowed",
    "hygiene --as-of 2099-01-01": "cannot run as of a future time",
    "hygiene --dry-run --as-of soon": "soon",
    "hygiene --dry-run --as-of 0001-01-01": "0001-01-01",
    "erase": "",
    "erase -": "",
    "erase ''": "",
    "erase ab": "",
    "erase Mio --report /nowhere/at/all": "",
    "export --json": "Stdout takes the memories or a document, not both.",
    "export x.csv --vectors --format csv": "Only JSONL can contain vectors.",
    "export x --format xml": "invalid choice",
    "copy": "--to",
    "copy --to sqlite": "Source and target are the same store: ",
    "copy --to sqllite": "Known backends: sqlite, lucid",
    "copy --to bogus": "--to markdown opens it.",
    "copy --to postgres": "Give one with --to-location.",
    "copy --to redis": "--to-location takes its URL",
}
"""Invalid commands, each with words of its sentence."""

REFUSALS: dict[str, tuple[int, str]] = {
    "get nobody": (1, "No memory entry found for "),
    "get --id id-99": (1, "No memory entry found for "),
    "get pet --id id-6": (1, "No memory entry found for "),
    "get PET": (1, "No memory entry found for "),
    "purge pet nobody": (1, "nobody"),
    "copy --to none": (1, "Nothing is stored"),
    "copy --to in-memory": (1, "in-memory keeps memories only while the program runs"),
    "export /": (1, "is a directory"),
    "export /no/such/folder/x.csv": (3, "cannot be written"),
    "erase Mio --export {install}/copy.jsonl": (1, "is inside the install"),
    "erase Mio --report {install}/config.toml": (1, "already exists"),
    "list --location /nowhere/brain.db": (3, "/nowhere/brain.db"),
}
"""Commands that cannot be run, with their exit codes."""


@pytest.mark.parametrize("command", [*MISTAKES, *REFUSALS])
def test_a_mistake_is_reported_in_one_sentence_and_changes_nothing(
    memory: Command, install: Path, brain: Brain, command: str
) -> None:
    code, words = REFUSALS.get(command) or (2, MISTAKES[command])
    before = brain.rows(), (install / "config.toml").read_bytes()
    typed = shlex.split(command.format(install=install))
    answer = memory(*typed, "--yes", "--json", stdin=b"not \xff utf-8")
    assert (answer.code, answer.message) == (code, "")
    assert answer.err.startswith("zeroclaw: ")
    assert words in answer.err
    assert not re.search(r"Traceback|\x1b", answer.err)
    error = answer.json["error"]
    assert set(error) == {"title", "message", "hint", "exit_code"}
    assert error["exit_code"] == code
    assert error["message"] in answer.err
    assert code != 2 or error["message"].endswith((".", "?", "\ufffd"))
    assert (brain.rows(), (install / "config.toml").read_bytes()) == before
    assert not command.startswith("copy") or not {"--location", "--backend"} & set(answer.err.split())


def test_without_json_stdout_is_empty_and_stderr_has_the_sentence_and_its_hint(memory: Command) -> None:
    answer = memory("lsit")
    assert (answer.code, answer.out) == (2, "")
    assert len(answer.err.splitlines()) == 2
    assert "`zeroclaw memory" in answer.err
    titles = {words: memory(*words.split(), "--json").json["error"]["title"] for words in ("get nobody", "purge pet")}
    assert titles == {"get nobody": "Not there", "purge pet": "Wrong use"}


@pytest.mark.parametrize("arguments", [("tea", "--batch", "-"), ("--batch", "/nowhere/batch.jsonl")])
def test_a_batch_accepts_no_message_and_must_exist(memory: Command, arguments: tuple[str, ...]) -> None:
    answer = memory("recall", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("zeroclaw: ")


@pytest.mark.parametrize(
    "line",
    [
        "{", '["rust"]', '{"query": 1}', '{"query": "a", "limit": true}', '{"query": "a", "limit": 2147483648}',
        '{"query": "a", "agents": "main"}', '{"query": "a", "who": 1}', '{"query": "a", "since": "soon"}',
        '{"query": "a", "session": "one", "sessions": ["ann"]}', "\\xff",
    ],
)  # fmt: skip
def test_an_invalid_line_of_a_batch_is_reported_with_its_number(memory: Command, line: str) -> None:
    answer = memory("recall", "--batch", "-", stdin=f'{{"query": "rust"}}\n{line}\n'.encode())
    assert answer.code == 2
    assert len(answer.out.splitlines()) == 1
    assert "zeroclaw: Line 2 of the batch" in answer.err
