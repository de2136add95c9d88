"""The difference of two configs: removed and added lines by section, with secrets masked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.masking import masked_toml
from zeroclaw_tui.config.save import ConfigDiff, compare_configs

DOTS = "••••"
SIGNS = {"section": "  ", "removed": "- ", "added": "+ "}
BEFORE = """\
# top
default_temperature = 0.7
api_key = "hunter2" # mine

[memory]
backend = "sqlite" # why
text = \"\"\"
[fake]
x = 1
\"\"\"
auto_save = true

# Webhooks and pairing.
[gateway] # the door
port = 1
paired_tokens = ["hunter3"]
"""


def compared(before: str, after: str) -> ConfigDiff:
    return compare_configs(ConfigDocument.from_text(before), ConfigDocument.from_text(after))


def shown(before: str, after: str) -> list[str]:
    return [(SIGNS[line.kind] + line.text).rstrip() for line in compared(before, after).lines]


def test_changes_are_listed_below_their_section_with_the_old_line_first() -> None:
    """A header inside a multi-line string is ignored."""
    after = (
        BEFORE.replace("0.7", "0.5")
        .replace('"sqlite"', '"postgres"')
        .replace("x = 1", "x = 2")
        .replace("auto_save = true\n", "auto_save = true\nkeyword_weight = 0.4\n")
        .replace("port = 1\n", "")
    )
    assert shown(BEFORE, after) == [
        "- default_temperature = 0.7",
        "+ default_temperature = 0.5",
        "  [memory]",
        '- backend = "sqlite" # why',
        '+ backend = "postgres" # why',
        "- x = 1",
        "+ x = 2",
        "+ keyword_weight = 0.4",
        "  [gateway] # the door",
        "- port = 1",
    ]
    found = compared(BEFORE, after)
    assert (found.differing, found.unchanged) == (5, BEFORE.count("\n") - 4)


def test_the_banner_of_a_new_section_is_not_listed_below_another_section() -> None:
    added = '\n# The database.\n[storage.provider.config]\ndb_url = "postgres://me:hunter2@h/db"\n'
    assert shown(BEFORE, BEFORE + added) == [
        "+",
        "+ # The database.",
        "+ [storage.provider.config]",
        f'+ db_url = "postgres://me:{DOTS}@h/db"',
    ]
    assert [line.replace("-", "+", 1) for line in shown(BEFORE + added, BEFORE)] == shown(BEFORE, BEFORE + added)


def test_a_changed_secret_shows_both_lines_although_they_look_the_same() -> None:
    after = BEFORE.replace("hunter2", "hunter9").replace("hunter3", "hunter8")
    assert shown(BEFORE, after) == [
        f'- api_key = "{DOTS}" # mine',
        f'+ api_key = "{DOTS}" # mine',
        "  [gateway] # the door",
        f'- paired_tokens = ["{DOTS}"]',
        f'+ paired_tokens = ["{DOTS}"]',
    ]
    assert compared(BEFORE, after).differing == 2


PIECES = (
    "# api_key = 'hunter2' was here\n\n",
    "[x.api_keys]\none{0} = 'hunter2'\n",
    "[[list]]\nname = 'n'\n",
    '[a{0}.\'b]\'.c] # token = hunter2\npassword = """\n [d]\nhunter2 \\\\ """\nlast = 1\n',
    "[t{0}]\nx = {{ n = ['}}', '[e]'], key = 'hunter2' }}\r\ny = [ # [f]\n  'ordinary', # ]\n]\n",
    "[u{0}]\nescaped = \"postgres://me:hunter2\\u0040h/db\"\nvariable = '${{NAME}}'\nsealed = '''\nenc2:hunter2'''\n",
)
"""A comment, and sections with text that looks like a section or a secret."""


@given(st.lists(st.sampled_from(PIECES), max_size=8), st.booleans())
def test_a_section_is_masked_in_the_same_way_as_in_the_whole_text(pieces: list[str], ends: bool) -> None:
    text = "root = 'ordinary'\n" + "".join(
        piece.format(at).replace("x.api_keys", f"x{at}.api_keys") for at, piece in enumerate(pieces)
    )
    text = text if ends else text.removesuffix("\n")
    shown = [line.removesuffix("\r") for line in masked_toml(text).removesuffix("\n").split("\n")]
    assert "hunter2" not in "".join(shown)
    assert [line.text for line in compared("", text).lines] == shown
    changed = compared(text, text.replace("root = 'ordinary'", "root = ''").replace("last = 1", "last = 2"))
    assert len(changed.lines) == 2 + 3 * text.count("last = 1")
    assert {line.text for line in changed.lines if line.kind != "added"} <= set(shown)


LINES = st.lists(st.sampled_from(["", "# one", "# two", "# three", "\t# one"]), max_size=30)


@given(LINES, LINES)
def test_removed_and_added_lines_transform_one_text_into_the_other(old: list[str], new: list[str]) -> None:
    """Both texts are equal without removed and added lines, and the counts agree."""
    found = compared("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new))
    removed = [line.text for line in found.lines if line.kind == "removed"]
    added = [line.text for line in found.lines if line.kind == "added"]
    assert sorted(old + added) == sorted(new + removed)
    assert found.unchanged == len(old) - len(removed) == len(new) - len(added)
    assert max(len(removed), len(added)) <= found.differing <= len(removed) + len(added)
