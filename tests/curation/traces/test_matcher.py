"""A text is found in any spelling, and nothing else is removed with it."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.memories import UsageError

from zeroclaw_tui.curation.traces.matcher import TextMatcher
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
        ("Nguyễn Việt", "nguy\u00ea\u0303n vi\u00ea\u0323t"),
        ("Zoë", "ZO\\u00CB"),
        ("Zoë", "zoe\\u0308"),
        ("Άννα Zoë", "\\u0386\\u03bd\\u03bd\\u03b1 Zo\\\\\\\\u00cb"),
        ("one\n😀", "One\\\\\\\\r\\\\\\\\n\\ud83d\\uDE00"),
        ('She said "no"', 'she said \\"NO\\"'),
        ("over\ntwo lines", "Over\r\nTwo Lines"),
    ],
)
def test_every_case_and_unicode_form_of_letters_is_found(text, written):
    matcher = TextMatcher([text])
    value = f"before {written} after"
    assert matcher.matches(value)
    assert matcher.redact(value) == "before [removed] after"
    assert matcher.count_matches(iter([value.encode()])) == 1


@given(LETTERS, LETTERS)
@settings(max_examples=100, deadline=None)
def test_matches_do_not_depend_on_unicode_composition(text, around):
    text = unicodedata.normalize("NFC", text)
    matcher = TextMatcher([text])
    for value in (around + text + around, around, f"{text}\u0301"):
        composed, decomposed = (unicodedata.normalize(form, value) for form in ("NFC", "NFD"))
        assert matcher.matches(decomposed) == matcher.matches(composed)
        assert (matcher.count_matches(iter([decomposed.encode()])) > 0) == matcher.matches(composed)


@given(TEXTS, st.booleans(), st.integers(0, 2))
@settings(max_examples=100, deadline=None)
def test_json_within_json_is_found_in_bytes_and_stays_json(text, ascii_only, times):
    matcher = TextMatcher([text])
    value = f"{{{text}}}"
    for _ in range(times):
        value = f'{{"role": "user", "said": [{json.dumps(value, ensure_ascii=ascii_only)}, 1.5]}}'
    assert matcher.count_matches(iter([value.encode()]))
    cut = matcher.redact(value)
    assert not matcher.matches(cut) or matcher.matches("role user said 1.5")
    for _ in range(times):
        document = json.loads(cut)
        cut = document["said"][0] if "said" in document else cut
        if "said" not in document:
            break


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_text_across_two_chunks_is_counted_once(size):
    data = "ß Straße STRASSE strasse\u0301 Zoe\u0308 ZOË".encode()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert TextMatcher(["Straße", "Zoë"]).count_matches(iter(pieces)) == 4


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
def test_cleaned_json_is_valid_and_cleaning_it_again_changes_nothing(document, text):
    matcher, written = TextMatcher([text]), json.dumps(document)
    cut = matcher.redact(written)
    assert len(json.loads(cut)) == len(document)
    assert matcher.redact(cut) == cut
    if not matcher.matches(written):
        assert cut == written


@pytest.mark.parametrize(
    ("text", "field", "value", "stays"),
    [
        ("user", "role", "user", True), ("ole", "type", "tool_role", True), ("zeb", "action", "call Zeb", False),
        ("dai", "category", "daily", True), ("dai", "category", "dairy", False),
        ("2026", "content", "2026-03-01", False), ("2026", "created_at", "2026-03-01", True),
    ],
)  # fmt: skip
def test_only_values_written_by_programs_are_kept(text, field, value, stays):
    written = json.dumps({field: value})
    assert (TextMatcher([text]).redact(written) == written) == stays


def test_the_longest_of_several_matches_is_removed():
    matcher = TextMatcher(["Anna", "Anna Smith-Jones"])
    assert matcher.redact("I am Anna Smith-Jones, ANNA") == "I am [removed], [removed]"
    assert matcher.redact_value(b"\xff Anna Smith-Jones X") == b"\xff [removed] X"


def test_the_redaction_mark_itself_may_be_erased():
    assert not TextMatcher(["removed"]).matches(TextMatcher(["removed"]).redact("It was Removed"))


@pytest.mark.parametrize("texts", [[], [""], ["  "], ["ab"]])
def test_texts_that_cannot_be_searched_are_refused(texts):
    with pytest.raises(UsageError):
        TextMatcher(texts)


def test_the_number_of_texts_is_limited_with_a_note():
    matcher = TextMatcher(f"text number {number}." for number in range(60))
    assert matcher.matches("TEXT NUMBER 49.")
    assert not matcher.matches("text number 50.")
    assert matcher.remark == "Only the first 50 of 60 texts were searched for."


@pytest.mark.parametrize(("text", "value"), [("spa", "ßpa"), ("cas", "caß"), ("fice", "oﬃce")])
def test_part_of_a_character_is_no_match(text, value):
    assert not TextMatcher([text]).matches(value)
