"""A text is found however it is written, and nothing else goes with it."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zeroclaw_tui.curation.erase.spellings import OtherSpellings, Spellings
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import WHITE_SPACE

TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=3, max_size=12).filter(
    lambda text: len(text.strip(WHITE_SPACE).encode()) >= 3
)

LETTERS = st.text(st.sampled_from("Joseéáñẹ iIİ한하가がか"), min_size=3, max_size=6).filter(
    lambda text: len(text.strip(WHITE_SPACE)) >= 3
)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Zebediah Q", "zEBEDIAH q"),
        ("Straße", "STRASSE"),
        ("STRASSE", "straße"),
        ("Zoë", "zoe\u0308"),
        ("ΟΔΟΣ", "οδος"),
        ("office", "o\ufb03ce"),
        ("Kelvin", "\u212aelvin"),
        ("İzmir", "i\u0307zmir"),
        ("Nguyễn Việt", "nguy\u00ea\u0303n vi\u00ea\u0323t"),
        ('She said "no"', 'she said \\"NO\\"'),
        ("over\ntwo lines", "Over\r\nTwo Lines"),
    ],
)
def test_every_case_and_form_of_letters_is_found(text: str, written: str) -> None:
    spellings = Spellings([text])
    value = f"before {written} after"
    assert spellings.found_in(value)
    assert spellings.out_of(value) == "before [removed] after"
    for codec in ("utf-8", "utf-16-le", "utf-16-be"):
        assert len(list(spellings.hits_in(value.encode(codec)))) == 1


@given(LETTERS, LETTERS)
@settings(max_examples=100, deadline=None)
def test_what_is_found_does_not_depend_on_whether_letters_are_composed(text: str, around: str) -> None:
    text = unicodedata.normalize("NFC", text)
    spellings = Spellings([text])
    for value in (around + text + around, around, f"{text}\u0301"):
        composed, decomposed = (unicodedata.normalize(form, value) for form in ("NFC", "NFD"))
        assert spellings.found_in(decomposed) == spellings.found_in(composed)
        for codec in ("utf-8", "utf-16-le", "utf-16-be"):
            assert any(spellings.hits_in(decomposed.encode(codec))) == spellings.found_in(composed)


def test_another_accent_is_another_spelling_however_it_is_composed() -> None:
    others = OtherSpellings(Spellings(["Jose Q"]))
    for written in ("Jos\u00e9 Q", "Jose\u0301 Q"):
        assert others.in_text(f"Here is {written}.") == [written]


@pytest.mark.parametrize("written", [r"\u005aebed\u0049ah\u0020q", r"\\\\u007Aebediah Q", r"zebedia\u0048 Q"])
def test_letters_that_json_need_not_escape_are_found_escaped(written: str) -> None:
    spellings = Spellings(["Zebediah Q"])
    assert spellings.out_of(f"<{written}>") == "<[removed]>"
    assert spellings.out_of_bytes(f"{written} \0".encode()) == b"[removed] \0"


@pytest.mark.parametrize(
    ("text", "written"), [("Zoë Q", "ZOË q"), ("STRASSE", "straße"), ("olé", "Olé"), ("año 7", "AÑO 7")]
)
def test_an_old_8_bit_text_is_found_and_what_only_looks_so_in_utf8_is_not(text: str, written: str) -> None:
    spellings = Spellings([text])
    assert spellings.out_of_bytes(f"at {written}, \xe9t\xe9".encode("latin-1")) == b"at [removed], \xe9t\xe9"
    for other in ("olÃ©", "ol高", "aÃ±o 7"):
        assert list(spellings.hits_in(other.encode())) == []


@given(TEXTS, st.booleans(), st.integers(0, 3), st.booleans())
@settings(max_examples=100, deadline=None)
def test_json_within_json_is_found_in_bytes_and_stays_json(
    text: str, ascii_only: bool, times: int, every: bool
) -> None:
    """Also where the first program escapes `every` letter."""
    spellings = Spellings([text])
    value = f"{{{text}}}"
    for level in range(times):
        said = json.dumps(value, ensure_ascii=ascii_only)
        if every and level == 0 and value.isascii():
            said = f'"{"".join(f"{chr(92)}u{ord(letter):04x}" for letter in value)}"'
        value = f'{{"role": "user", "said": [{said}, 1.5]}}'
    assert list(spellings.hits_in(value.encode()))
    cut = spellings.out_of(value)
    assert not spellings.found_in(cut) or spellings.found_in("role user said 1.5")
    for _ in range(times):
        document = json.loads(cut)
        cut = document["said"][0] if "said" in document else cut
        if "said" not in document:
            break


def test_what_holds_none_of_them_comes_back_to_the_byte() -> None:
    spellings = Spellings(["Zebediah Q"])
    for value in ('{ "a" : 1.50 }', "Zebediah R", "zebediah", "\udcff\x00"):
        assert spellings.out_of(value) == value


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ('{"a" : 1.50,"b":1e5, "said":"at Zeb Q"}\t', '{"a" : 1.50,"b":1e5, "said":"at [removed]"}\t'),
        ('{"said":"Zeb Q","said":"last"}', '{"said":"[removed]","said":"last"}'),
        ('{"o":"\\u00e9","said":["\\u005aeb Q",null]}', '{"o":"\\u00e9","said":["[removed]",null]}'),
        ('{"n":"{\\"x\\" : \\"zeb q\\"}"}', '{"n":"{\\"x\\" : \\"[removed]\\"}"}'),
        ('\ufeff{"role":"zeb q","at":"zeb q"}', '\ufeff{"role":"[removed]","at":"[removed]"}'),
        ('{"Zeb Q":1,"[removed]":2,"a":{"Zeb Q":3}}', '{"[removed] 2":1,"[removed]":2,"a":{"[removed] 2":3}}'),
    ],
)  # fmt: skip
def test_all_else_in_json_stays_as_it_is_written(written: str, left: str) -> None:
    assert Spellings(["Zeb Q"]).out_of(written) == left


_PARTS = st.sampled_from(["daily", "Zeb", "zeb q", "ß", "12", "role", '"', "\\", "\n", "{}", "[1]", " "])
_STRINGS = st.lists(_PARTS, max_size=4).map("".join)
_DOCUMENTS = st.recursive(
    _STRINGS | st.integers(-5, 2030) | st.none() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "category"]) | _STRINGS, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(_STRINGS, _DOCUMENTS, max_size=4), st.sampled_from(["dai", "ZEB Q", "ole", "12q", '{}"']))
@settings(max_examples=100, deadline=None)
def test_json_without_them_is_json_and_the_same_once_more(document: dict[str, object], text: str) -> None:
    spellings, written = Spellings([text]), json.dumps(document)
    cut = spellings.out_of(written)
    assert len(json.loads(cut)) == len(document)
    assert spellings.out_of(cut) == cut
    assert not spellings.held_by(cut)
    if not spellings.found_in(written):
        assert cut == written


def test_names_numbers_and_parts_of_json() -> None:
    """A name of an object goes too, and a number as a whole, but no time."""
    value = {
        "4711": "x",
        "pin": 4711,
        "text": "code 4711",
        "at": "2026-03-01T10:47:11Z",
        "updated_at": 4711,
        "n": 14711,
    }
    assert json.loads(Spellings(["4711", "47:11"]).out_of(json.dumps(value))) == {
        "[removed]": "x",
        "pin": "[removed]",
        "text": "code [removed]",
        "at": "2026-03-01T10:47:11Z",
        "updated_at": 4711,
        "n": 14711,
    }


@pytest.mark.parametrize(
    ("text", "field", "value", "stays"),
    [
        ("user", "role", "user", True), ("ole", "type", "tool_role", True), ("zeb", "action", "call Zeb", False),
        ("zeb", "role", "zeb", False), ("dai", "category", "daily", True), ("dai", "category", "dairy", False),
        ("2026", "content", "2026-03-01", False), ("user", "content", "user", False),
    ],
)  # fmt: skip
def test_a_word_that_a_program_puts_there_stays_and_no_text_of_anybody(
    text: str, field: str, value: str, stays: bool
) -> None:
    written = json.dumps({field: value})
    assert (Spellings([text]).out_of(written) == written) == stays


def test_long_runs_of_letters_that_are_written_together_take_no_time() -> None:
    text = "ffffffff-ffff-ffff-ffff-ffffffffffff"
    assert Spellings([text]).out_of(f"<{text.upper()}>") == "<[removed]>"
    assert Spellings(["fffi"]).out_of("<\ufb00\ufb01> <f\ufb03> <\ufb03>") == "<[removed]> <[removed]> <\ufb03>"


def test_texts_that_overlap_go_as_one() -> None:
    spellings = Spellings(["Anna", "Anna Smith-Jones", "Jones X"])
    assert spellings.out_of("I am Anna Smith-Jones X, ANNA") == "I am [removed], [removed]"
    assert spellings.out_of_bytes(b"\xff Anna Smith-Jones X") == b"\xff [removed]"


def test_the_mark_itself_may_be_erased() -> None:
    assert not Spellings(["removed"]).found_in(Spellings(["removed"]).out_of("It was Removed"))


@pytest.mark.parametrize("texts", [[], [""], ["  "], ["ab"], ["x" * 9 + str(number) for number in range(51)]])
def test_what_cannot_be_looked_for_is_refused(texts: list[str]) -> None:
    with pytest.raises(UsageError):
        Spellings(texts)


def test_two_letters_of_another_script_are_enough() -> None:
    assert Spellings(["王五"]).found_in("我是王五。")


def test_other_spellings_are_told_and_not_the_text_itself() -> None:
    others = OtherSpellings(Spellings(["Zebediah Quill"]))
    told = "zebediah_quill, Zebadiah Quill; ZebediahQuill! Zébediah  Quill. Zebediah quill. Zebediah Cole."
    assert others.in_text(told) == ["zebediah_quill", "Zebadiah Quill", "ZebediahQuill", "Zébediah  Quill"]
