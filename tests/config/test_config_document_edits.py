"""An existing value is replaced in place; a new key is added after the last key of its section or group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from zeroclaw_tui.config.document import ConfigDocument

TEXT = '# mine\n[memory]\nbackend   =  "sqlite"  # why\nauto_save = true\n\n# next\n[gateway]\nbackend = "other"\n'
DEEP = ".".join("abcdefghijklmnopqrstuvwxyz")
"""A table in which a comparison that doubles with each level takes a minute."""


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
        (f"[{DEEP}]\na = 1\n", {f"{DEEP}.a": 2}, f"[{DEEP}]\na = 2\n"),
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
def test_an_edit_works_in_any_notation_of_the_table(
    edit: Any, text: str, changes: dict[str, Any], expected: str
) -> None:
    assert edit(text, changes) == expected


@pytest.mark.parametrize(
    ("written", "wanted"),
    [("1", 1.0), ("0.40", 0.4), ("0x10", 16), ("'a'", "a"), ("[ 'a' ]", ["a"]), ("[1]", [1.0]), ("nan", float("nan"))],
)
def test_an_equal_value_is_not_rewritten(written: str, wanted: Any) -> None:
    text = f"[m]\nk = {written}\n"
    assert ConfigDocument.from_text(text).with_values({("m", "k"): wanted}).text == text


def test_secrets_are_not_shown_in_the_repr_of_a_document() -> None:
    assert "hunter2" not in repr(ConfigDocument.from_text("password = 'hunter2'\n"))


BANNER = "\n# ==========\n# Next\n# ==========\n[next]\nn = 1\n"


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("[memory]\na = 1\n" + BANNER, {"memory.b": 2}, "[memory]\na = 1\nb = 2\n" + BANNER),
        ("[memory] # c\n" + BANNER, {"memory.b": 2}, "[memory] # c\nb = 2\n" + BANNER),
        ("[memory]\na = 1\n# Next\n[next]\n", {"memory.b": 2}, "[memory]\na = 1\nb = 2\n# Next\n[next]\n"),
        ("[memory]\n# b = 1\n\n[next]\n", {"memory.b": 2}, "[memory]\nb = 2\n# b = 1\n\n[next]\n"),
        ("[memory]\na = 1\n# b = 1\n", {"memory.b": 2}, "[memory]\na = 1\nb = 2\n# b = 1\n"),
        ("[memory]\na = 1\n\n[memory.x]\nc = 1\n", {"memory.b": 2}, "[memory]\na = 1\nb = 2\n\n[memory.x]\nc = 1\n"),
        ("[memory.x]\nc = 1\n\n[memory]\n\n[z]\n", {"memory.b": 2}, "[memory.x]\nc = 1\n\n[memory]\nb = 2\n\n[z]\n"),
        ("[memory]\n\ta = 1\n", {"memory.b": 2}, "[memory]\n\ta = 1\n\tb = 2\n"),
        ("  [memory]\n", {"memory.b": 2}, "  [memory]\n  b = 2\n"),
        ("[memory]\na = 1", {"memory.b": 2}, "[memory]\na = 1\nb = 2"),
        ("[memory]", {"memory.b": 2}, "[memory]\nb = 2"),
        ("[memory]\r\na = 1", {"memory.b": 2}, "[memory]\r\na = 1\r\nb = 2"),
        ("[memory]\r\na = 1\r\n\r\n[z]\r\n", {"memory.b": 2}, "[memory]\r\na = 1\r\nb = 2\r\n\r\n[z]\r\n"),
        ("x = 1\n[memory]\na = 1\r\n", {"memory.b": 2}, "x = 1\n[memory]\na = 1\r\nb = 2\r\n"),
        ("[memory]\n  a = [\n1,\n] # c\n\n[z]\n", {"memory.b": 2}, "[memory]\n  a = [\n1,\n] # c\n  b = 2\n\n[z]\n"),
        ("[memory]\na = '''\n[z]\n'''\n", {"memory.b": 2}, "[memory]\na = '''\n[z]\n'''\nb = 2\n"),
        ("[[l]]\na = 1\n[memory]\na = 1\n[[l]]\n", {"memory.b": 2}, "[[l]]\na = 1\n[memory]\na = 1\nb = 2\n[[l]]\n"),
        ("[memory]\na = 1\n", {"memory.a b": 2}, '[memory]\na = 1\n"a b" = 2\n'),
        ('["memory" ]\na = 1\n', {"memory.b": 2}, '["memory" ]\na = 1\nb = 2\n'),
        ("[memory]\na = 1\n\n[x]\n", {"memory.d": 1, "memory.b": "x", "memory.a": 5, "memory.c": []},
         '[memory]\na = 5\nd = 1\nb = "x"\nc = []\n\n[x]\n'),
    ],
)  # fmt: skip
def test_a_new_key_is_added_to_its_section(edit: Any, text: str, changes: dict[str, Any], expected: str) -> None:
    assert edit(text, changes) == expected


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("memory = {}", {"memory.b": 2}, "memory = { b = 2 }"),
        ("memory = {  } # c\n", {"memory.b": 2, "memory.c": 3}, "memory = { b = 2, c = 3 } # c\n"),
        ("memory = { a = 1 } # c\n", {"memory.b": 2}, "memory = { a = 1, b = 2 } # c\n"),
        ("memory = {a = [1, 2]}\n", {"memory.a": ["x"], "memory.b": 2}, 'memory = {a = ["x"], b = 2}\n'),
        ("memory = {qdrant = {}}\n", {"memory.qdrant.url": "u"}, 'memory = {qdrant = { url = "u" }}\n'),
        ("memory = {qdrant.a = 1}\n", {"memory.qdrant.b": 2}, "memory = {qdrant.a = 1, qdrant.b = 2}\n"),
        ("[storage]\nprovider = {}\n", {"storage.provider.config.x": 1}, "[storage]\nprovider = { config.x = 1 }\n"),
        ("memory = {} # {}\n", {"memory.b": 2}, "memory = { b = 2 } # {}\n"),
        ("memory = {c = {}, d = {}}\n", {"memory.c.b": 2}, "memory = {c = { b = 2 }, d = {}}\n"),
        ("storage.provider = {a = '}'}\n", {"storage.provider.x": 1}, "storage.provider = {a = '}', x = 1}\n"),
    ],
)
def test_a_new_key_is_added_to_an_inline_table(edit: Any, text: str, changes: dict[str, Any], expected: str) -> None:
    assert edit(text, changes) == expected


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("memory.a = 1\nz = 1\n", {"memory.b": 2}, "memory.a = 1\nmemory.b = 2\nz = 1\n"),
        ("memory.a = 1\n", {"memory.qdrant.url": 2}, "memory.a = 1\nmemory.qdrant.url = 2\n"),
        ("[storage]\n provider.config.a = 1\nz = 1\n", {"storage.provider.config.b": 2},
         "[storage]\n provider.config.a = 1\n provider.config.b = 2\nz = 1\n"),
        ("[storage]\nprovider.config.a = 1\nz = 1\n", {"storage.provider.name": 2},
         "[storage]\nprovider.config.a = 1\nprovider.name = 2\nz = 1\n"),
        ("[storage]\nprovider.config.a = 1\nz = 1\n[y]\n", {"storage.b": 2},
         "[storage]\nprovider.config.a = 1\nz = 1\nb = 2\n[y]\n"),
        ('"a b"."c.d" = 1\n', {"a b.x": 2}, '"a b"."c.d" = 1\n"a b".x = 2\n'),
        ("[s]\np.x = 1\n[s.p.deep]\ny = 1\n", {"s.p.deep.z": 2}, "[s]\np.x = 1\n[s.p.deep]\ny = 1\nz = 2\n"),
    ],
)  # fmt: skip
def test_a_new_dotted_key_is_added_to_its_group(edit: Any, text: str, changes: dict[str, Any], expected: str) -> None:
    assert edit(text, changes) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "r = 1\n"),
        ("a = 1\n\n# b\n[b]\n", "a = 1\nr = 1\n\n# b\n[b]\n"),
        ("# only words\n", "# only words\n\nr = 1\n"),
        ("[b]\r\n", "r = 1\r\n\r\n[b]\r\n"),
        ("# of all\n\n# of b\n[b]\n", "# of all\n\nr = 1\n\n# of b\n[b]\n"),
    ],
)
def test_a_new_key_is_added_to_the_root(edit: Any, text: str, expected: str) -> None:
    assert edit(text, {"r": 1}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "[m.q]\na = 1\nb = 2\n"),
        ("# only words\n", "# only words\n\n[m.q]\na = 1\nb = 2\n"),
        ("\n", "\n[m.q]\na = 1\nb = 2\n"),
        ("x = 1", "x = 1\n\n[m.q]\na = 1\nb = 2"),
        ("x = 1\r\n", "x = 1\r\n\r\n[m.q]\r\na = 1\r\nb = 2\r\n"),
        ("x = 1\n\n\n", "x = 1\n\n\n[m.q]\na = 1\nb = 2\n"),
        ("[z]\nm = 1\n# end\n", "[z]\nm = 1\n# end\n\n[m.q]\na = 1\nb = 2\n"),
        ("[m]\nx = 1\n\n# of z\n[z]\n", "[m]\nx = 1\n\n[m.q]\na = 1\nb = 2\n\n# of z\n[z]\n"),
        ("[m]\nx = 1\n# y = 1\n\n[z]\n", "[m]\nx = 1\n# y = 1\n\n[m.q]\na = 1\nb = 2\n\n[z]\n"),
        ("[m]\nx = 1\n# of z\n[z]\n", "[m]\nx = 1\n\n[m.q]\na = 1\nb = 2\n\n# of z\n[z]\n"),
        ("[m]\nx = 1\n[z]\n[m.k]\n\n[y]\n", "[m]\nx = 1\n[z]\n[m.k]\n\n[m.q]\na = 1\nb = 2\n\n[y]\n"),
        ("[[l]]\nx = 1\n[m]\n[[l]]\nx = 2\n", "[[l]]\nx = 1\n[m]\n\n[m.q]\na = 1\nb = 2\n\n[[l]]\nx = 2\n"),
        ("[m.q.deep]\nx = 1\n", "[m.q.deep]\nx = 1\n\n[m.q]\na = 1\nb = 2\n"),
    ],
)
def test_a_new_table_is_added(edit: Any, text: str, expected: str) -> None:
    assert edit(text, {"m.q.a": 1, "m.q.b": 2}) == expected
