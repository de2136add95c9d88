"""A present value is replaced where it is, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from zeroclaw_tui.config.document import ConfigDocument

TEXT = '# mine\n[memory]\nbackend   =  "sqlite"  # why\nauto_save = true\n\n# next\n[gateway]\nbackend = "other"\n'


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [True, False], ids=["last newline", "no last newline"])
def test_only_the_value_changes(line_end: str, mark: bytes, last: bool) -> None:
    text = TEXT if last else TEXT.rstrip("\n")
    raw = mark + text.replace("\n", line_end).encode()
    document = ConfigDocument.from_bytes(raw, Path("config.toml"))
    after = document.with_values({("memory", "backend"): "lucid"})
    assert after.to_bytes() == raw.replace(b'"sqlite"', b'"lucid"')
    assert after.get(("memory", "backend")) == "lucid"


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("a = 1\r\nb = 2\nc = 3\r\n", {"b": 7}, "a = 1\r\nb = 7\nc = 3\r\n"),
        ("[memory]\n\tbackend\t=\t'x'\t# c\n", {"memory.backend": "y"}, '[memory]\n\tbackend\t=\t"y"\t# c\n'),
        ('memory = { backend = "x", n = 1 } # c\n', {"memory.n": 2}, 'memory = { backend = "x", n = 2 } # c\n'),
        ("a = {b = {c = {d = 1}}, e = 2}\n", {"a.b.c.d": 9}, "a = {b = {c = {d = 9}}, e = 2}\n"),
        ("a = {b.c = 1, d = [{b = 5}]}\n", {"a.b.c": 2}, "a = {b.c = 2, d = [{b = 5}]}\n"),
        ("memory.backend = 'x'\nmemory.n = 1\n", {"memory.n": 2}, "memory.backend = 'x'\nmemory.n = 2\n"),
        ("[storage]\nprovider . config.schema='y'\n", {"storage.provider.config.schema": "z"},
         '[storage]\nprovider . config.schema="z"\n'),
        ("[ memory . qdrant ] # c\nurl = 'x'\n", {"memory.qdrant.url": "y"},
         '[ memory . qdrant ] # c\nurl = "y"\n'),
        ("[\"memory\".'qdrant']\n'url' = 'x'\n", {"memory.qdrant.url": "y"},
         "[\"memory\".'qdrant']\n'url' = \"y\"\n"),
        ('["mem\\u006fry"]\nn = 1\n', {"memory.n": 2}, '["mem\\u006fry"]\nn = 2\n'),
        ("[memory.qdrant]\nn = 1\n[memory]\nn = 1\n", {"memory.n": 2}, "[memory.qdrant]\nn = 1\n[memory]\nn = 2\n"),
        ("[memory]\nl = [\n  'a', # ]\n  'b]',\n] # c\nn = 1\n", {"memory.l": ["x"]},
         '[memory]\nl = ["x"] # c\nn = 1\n'),
        ("[memory]\nl = [[1], {n = 5}, '''\n]''']\nn = 1\n", {"memory.n": 2},
         "[memory]\nl = [[1], {n = 5}, '''\n]''']\nn = 2\n"),
        ("[[memory_x]]\nn = 1\n[memory]\nn = 1\n[[memory_x]]\nn = 1\n", {"memory.n": 2},
         "[[memory_x]]\nn = 1\n[memory]\nn = 2\n[[memory_x]]\nn = 1\n"),
        ("[[x]]\n[x.memory]\nn = 1\n[memory]\nn = 1\n", {"memory.n": 2}, "[[x]]\n[x.memory]\nn = 1\n[memory]\nn = 2\n"),
        ("[memory]\n# n = 3\nn = 1\n", {"memory.n": 2}, "[memory]\n# n = 3\nn = 2\n"),
        ("[memory]\nd = 1979-05-27 07:32:00 # day\n", {"memory.d": "x"}, '[memory]\nd = "x" # day\n'),
        ("n = 1\n[memory]\nn = 1\n[memory.n2]\nn = 1\n", {"n": 2}, "n = 2\n[memory]\nn = 1\n[memory.n2]\nn = 1\n"),
    ],
)  # fmt: skip
def test_however_the_table_is_written(edit: Any, text: str, changes: dict[str, Any], expected: str) -> None:
    assert edit(text, changes) == expected


@pytest.mark.parametrize(
    ("written", "wanted"),
    [("1", 1.0), ("0.40", 0.4), ("0x10", 16), ("'a'", "a"), ("[ 'a' ]", ["a"]), ("[1]", [1.0]), ("nan", float("nan"))],
)
def test_a_value_that_is_there_already_is_not_rewritten(written: str, wanted: Any) -> None:
    text = f"[m]\nk = {written}\n"
    assert ConfigDocument.from_text(text).with_values({("m", "k"): wanted}).text == text


def test_secrets_do_not_show_in_the_name_of_a_document() -> None:
    assert "hunter2" not in repr(ConfigDocument.from_text("password = 'hunter2'\n"))
