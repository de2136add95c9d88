"""Each stage of an explanation in words and numbers, from hand-made ways."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from explain_placements import CUTLERY, NOW, WEEK_AGO, judged, place, trial, way

from zeroclaw_tui.memory.recall import Stop
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.evidence import WordShare
from zeroclaw_tui.scoring.explain import Explanation, explained
from zeroclaw_tui.scoring.placement import Placement
from zeroclaw_tui.scoring.profiles import ScoringSettings, Trial
from zeroclaw_tui.scoring.steps import REFUSED_QUERY, WholeRecall, number, ordinal

SHARES = (WordShare("like", True, 0.41, 3), WordShare("she", False, None, 0), WordShare("eat", False, None, 0))
BEST = {"keyword": place(1, 5.82), "keyword_score": 1.0, "best_raw": 5.82}
HOSTILE = "\x1b]0;owned\x07\u202egnp.exe\x00[/bold]"


def told(way: Placement, trial: Trial, shares: Any = SHARES, notes: Any = (), **recall: Any) -> Explanation:
    return explained(way, trial, shares, "assumed", notes, WholeRecall(**{"store_rows": 5, **recall}))


def words_of(explanation: Explanation) -> dict[str, str]:
    return {step.name: step.words for step in explanation.steps}


def keyword_only(version: str = "0.6.2", **fields: Any) -> Explanation:
    """A hit by words alone among hits of both stages, stopped by the threshold."""
    stopped = judged(0.3, stop=Stop("threshold", "", 0.30, 0.40))
    fields = {**BEST, "no_vector": "no embedding", "fused_score": 0.3, "fused_rank": 2, "rank": 2, **fields}
    return told(way(**fields, judged=stopped, stopped_at="threshold"), trial(version))


def test_the_picture_of_a_miss() -> None:
    explanation = keyword_only()
    words = words_of(explanation)
    assert words["words"] == "matches “like” (in 3 of 5 memories, 0.41 of 0.41); missing: she, eat"
    assert words["keyword"] == "bm25 5.82 of 5.82 = 1.00 · rank 1 of 40"
    assert words["vector"] == "this memory has no vector (stored while embeddings were off)"
    assert words["fusion"] == "0.7 × – + 0.3 × 1.00 = 0.30 · rank 2"
    assert words["threshold"] == "0.30 < 0.40"
    last = explanation.steps[-1]
    assert (last.name, last.mark, last.key) == ("threshold", "stopped", "w")
    assert explanation.verdict == "It is not in the prompt: its score of 0.30 is below the threshold of 0.40."
    assert explanation.remarks == (
        "With these weights (scoring up to 0.6.2) a hit without a vector can reach at most 0.30, so it is never "
        "injected.",
    )
    vector = next(step for step in explanation.steps if step.name == "vector")
    assert (vector.mark, vector.helps, vector.key) == ("absent", "re-embed it", "R")


def test_every_word_that_matches_stands_in_quotes() -> None:
    """A question mark belongs to the last of them, and not to the sentence."""
    shares = [WordShare(word, True) for word in ("what", "does", "she", "like", "to", "eat?")]
    words = words_of(told(way(**BEST), trial(), shares))
    assert words["words"] == "matches “what”, “does”, “she”, “like” and “to”, “eat?”"


def test_the_document_has_the_numbers_of_the_words() -> None:
    document = json.loads(json.dumps(keyword_only().as_json()))
    steps = {step["stage"]: step for step in document["steps"]}
    assert document["injected"] is False
    assert document["stopped_at"] == "threshold"
    assert (steps["keyword"]["bm25"], steps["keyword"]["rank"], steps["keyword"]["hits"]) == (5.82, 1, 40)
    assert steps["fusion"]["vector"] is None
    assert steps["threshold"] == {
        "stage": "threshold",
        "mark": "stopped",
        "words": "0.30 < 0.40",
        "score": 0.3,
        "threshold": 0.4,
        "helps": "a threshold of 0.30, or other weights",
    }


def test_a_rank_behind_the_cut_is_named_with_the_limit_that_would_do() -> None:
    far = way(keyword=place(14, 1.2), best_raw=5.82, no_vector="mode", stopped_at="candidates")
    last = told(far, trial()).steps[-1]
    assert last.words == "ranked 14th by keyword, and only the first 10 pass"
    assert (last.helps, last.key) == ("a limit of 7 (ZeroClaw recalls with 5)", "w")
    both = way(keyword=place(14, 1.2), vector=place(21, 0.1), stopped_at="candidates")
    last = told(both, trial()).steps[-1]
    assert last.words == "ranked 14th by keyword and 21st by vector, and only the first 10 of each pass"
    assert last.helps.startswith("a limit of 7 "), "one stage is enough"


def test_the_wider_cut_behind_the_scanner_needs_a_smaller_limit() -> None:
    far = way(keyword=place(50, 1.2, 90, 40), store_limit=20, best_raw=5.82, no_vector="mode", stopped_at="candidates")
    assert told(far, trial("0.8.4")).steps[-1].helps == "a limit of 7 (ZeroClaw recalls with 5)"


def test_one_stage_passes_it_on_and_the_other_does_not() -> None:
    both = way(**BEST, vector=place(14, 0.3), fused_score=0.3, fused_rank=7, stopped_at="merge")
    explanation = told(both, trial())
    words = words_of(explanation)
    assert words["candidates"] == (
        "1st by keyword; the first 10 are candidates (2 × the limit of 5); 14th by vector ranks too low, so that score "
        "counts as missing"
    )
    assert words["merge"] == "ranked 7th after fusion with 0.30, and only the first 5 pass"
    assert explanation.steps[-1].helps == "other weights, or a higher limit (ZeroClaw recalls with 5)"
    assert explanation.remarks == ()


@pytest.mark.parametrize(
    ("version", "fields", "words"),
    [
        ("0.8.3", {"vector": place(2, 0.91), "fused_score": 0.86}, "0.7 × 0.91 + 0.3 × 1.00 = 0.86"),
        ("0.8.4", {"vector": place(2, 0.91), "fused_score": 0.94}, "(0.7 × 0.91 + 0.3 × 1.00) / (0.7 + 0.3) = 0.94"),
        ("0.8.4", {"no_vector": "not above 0", "fused_score": 1.0}, "0.3 × 1.00 / 0.3 = 1.00"),
        (
            "0.8.3",
            {"merged": False, "path": "keyword", "no_vector": "no query vector", "fused_score": 5.82},
            "words alone: raw bm25 5.82 is the score",
        ),
        (
            "0.8.4",
            {"merged": False, "path": "keyword", "no_vector": "no query vector", "fused_score": 1.0},
            "words alone: 5.82 of the best, 5.82, = 1.00",
        ),
    ],
)
def test_fusion_has_the_numbers_put_in(version: str, fields: dict[str, Any], words: str) -> None:
    found = way(**{**BEST, **fields}, place=1, injected=1, judged=judged(fields["fused_score"], injected=True))
    assert words_of(told(found, trial(version)))["fusion"] == words


def test_a_hit_by_vector_alone() -> None:
    found = {"vector": place(1, 0.5), "place": 1, "injected": 1}
    plain = way(**found, path="vector", merged=False, fused_score=0.5, judged=judged(0.5, injected=True))
    assert words_of(told(plain, trial("0.6.3")))["fusion"] == (
        "no memory has a keyword match, so the cosine is the score: 0.50"
    )
    weighed = way(**found, path="vector", fused_score=0.35, fused_rank=1, judged=judged(0.35))
    explanation = told(replace(weighed, stopped_at="threshold", place=None), trial("0.6.2"))
    assert words_of(explanation)["fusion"] == "0.7 × 0.50 + 0.3 × – = 0.35 · rank 1"
    assert explanation.remarks == (
        "With these weights (scoring up to 0.6.2) a hit without a word of the message can reach 0.70, and the "
        "threshold is 0.40, and needs a cosine of about 0.57 for it.",
    )


@pytest.mark.parametrize(
    ("why", "words", "key"),
    [
        ("no query vector", "the message has no vector: no embeddings configured", ""),
        ("mode", "search mode bm25 ignores vectors", "w"),
        ("no embedding", "this memory has no vector (stored while embeddings were off)", "R"),
        (
            "other length",
            "its vector (768 numbers) has a different length than the message's, because another model made it",
            "R",
        ),
        ("not above 0", "cosine not above 0, so it is no match", ""),
    ],
)
def test_why_there_is_no_vector(why: Any, words: str, key: str) -> None:
    entry = replace(CUTLERY, embedding_dimensions=768 if why == "other length" else None)
    explanation = told(
        way(no_vector=why, entry=entry, stopped_at="candidates"),
        trial(),
        why_no_vector="no embeddings configured; set memory.embedding_provider (openai …) to search by meaning too",
    )
    vector = next(step for step in explanation.steps if step.name == "vector")
    assert (vector.mark, vector.words, vector.key) == ("absent", words, key)
    assert explanation.steps[-1].name == "candidates"


@pytest.mark.parametrize(
    ("stage", "entry", "request_", "words"),
    [
        ("superseded", {"superseded_by": "new_diet"}, {}, "a newer memory replaced it: new_diet"),
        ("time", {}, {"since": NOW}, f"created {WEEK_AGO}, and recall is from {NOW} on"),
        ("time", {}, {"since": NOW, "until": NOW}, f"created {WEEK_AGO}, and recall is from {NOW} on until {NOW}"),
        ("session", {}, {"session_id": "tg_1"}, "it has no session, and the message comes from tg_1"),
        (
            "session",
            {"session_id": "tg_2"},
            {"session_id": "tg_1"},
            "it belongs to session tg_2, and the message comes from tg_1",
        ),
        ("agent", {"agent": "writer"}, {"agents": ("main",)}, "it belongs to agent writer, and recall is for main"),
        ("namespace", {}, {"namespace": "work"}, "it is in namespace default, and recall is in work"),
    ],
)
def test_filters_that_keep_it_out(stage: Any, entry: dict[str, Any], request_: dict[str, Any], words: str) -> None:
    found = way(
        **BEST,
        no_vector="no embedding",
        entry=replace(CUTLERY, **entry),
        fused_score=0.3,
        fused_rank=1,
        stopped_at=stage,
    )
    last = told(found, trial("0.8.3", **request_)).steps[-1]
    assert (last.name, last.mark, last.words) == (stage, "stopped", words)
    assert last.helps


def injected_way(score: float, **fields: Any) -> Placement:
    entry = fields.pop("entry", CUTLERY)
    scored = judged(score, entry=entry, **fields.pop("judged", {}))
    return way(**{**BEST, "fused_score": score, "fused_rank": 1, "rank": 1, "entry": entry, "judged": scored, **fields})


def test_decay_is_told_with_its_age() -> None:
    daily = replace(CUTLERY, category="daily")
    faded = injected_way(0.8, entry=daily, judged={"decayed": 0.4, "injected": True}, place=1, injected=2)
    assert words_of(told(faded, trial("0.8.4")))["decay"] == "0.80 × 2^(-7.0 d / 7 d) = 0.40"
    core = injected_way(0.8, judged={"decayed": 0.8, "injected": True}, place=1, injected=2)
    assert words_of(told(core, trial("0.8.4")))["decay"] == "core memories do not fade"
    undated = injected_way(0.8, entry=replace(daily, timestamp="yesterday"), judged={"decayed": 0.8}, place=1)
    assert words_of(told(undated, trial("0.8.4")))["decay"] == "its time cannot be read, so it does not fade"
    assert "decay" not in words_of(told(injected_way(0.8, place=1, injected=1), trial("0.1.7")))


@pytest.mark.parametrize(
    ("rule", "part", "key"),
    [
        ("assistant reply", "assistant_resp", "e"),
        ("user message", "user_msg", "e"),
        ("history key", "_history", "e"),
        ("image", "[IMAGE:", "e"),
        ("tool result", "<tool_result", "e"),
        ("auto-save noise", "its own records", "e"),
        ("conversation without a session", "has no session", "e"),
        ("longer than 4,000 characters", "longer than 4,000 characters", "e"),
    ],
)
def test_what_is_skipped_says_by_which_rule(rule: str, part: str, key: str) -> None:
    skipped = injected_way(0.8, judged={"stop": Stop("skip", rule)}, stopped_at="skip")
    last = told(skipped, trial("0.8.4")).steps[-1]
    assert part in last.words
    assert last.key == key


def test_caps_on_entries_and_characters() -> None:
    entries = injected_way(0.8, judged={"stop": Stop("cap", "entries", limit=4)}, stopped_at="cap")
    assert told(entries, trial("0.8.4")).steps[-1].words == ("4 memories rank before it, and ZeroClaw injects no more")
    characters = injected_way(0.8, judged={"stop": Stop("cap", "characters", limit=4000)}, stopped_at="cap")
    assert "4,000 characters" in told(characters, trial("0.8.4")).steps[-1].words
    long = replace(CUTLERY, content="x" * 2340)
    results = (judged(0.8, entry=long, injected=True),)
    fitting = injected_way(0.8, entry=long, judged={"injected": True}, place=1, injected=1)
    assert words_of(told(fitting, trial("0.8.4"), results=results))["cap"] == (
        "entry 1 of at most 4, 815 of 4,000 characters used; only its first 800 of 2,340 characters are injected"
    )
    assert "cap" not in words_of(told(fitting, trial("0.6.2")))
    assert "cap" in words_of(told(fitting, trial("0.6.2", rule="channel")))


def test_the_scanner_names_the_kind() -> None:
    flagged = injected_way(0.8, judged={"withheld": "exfil_curl"}, stopped_at="scanner")
    assert told(flagged, trial("0.8.4")).steps[-1].words == (
        "withheld from the agent as exfil_curl: it looks like curl with a secret"
    )
    clean = injected_way(0.8, judged={"injected": True}, place=1, injected=1)
    assert "scanner" in words_of(told(clean, trial("0.8.4")))
    assert "scanner" not in words_of(told(clean, trial("0.8.4", layer="store")))


def test_limits() -> None:
    seventh = way(**BEST, no_vector="no embedding", fused_score=0.3, fused_rank=7, rank=7, stopped_at="limit")
    last = told(seventh, trial()).steps[-1]
    assert last.words == "ranked 7th, and only the first 5 are recalled"
    assert last.helps == "other weights that rank it higher"
    fourth = told(replace(seventh, rank=4), trial(limit=3)).steps[-1]
    assert (fourth.words, fourth.helps) == ("ranked 4th, and only the first 3 are recalled", "a limit of 4")


def test_the_fall_back_for_parts_of_words() -> None:
    parts = way(path="like", merged=False, no_vector="no query vector", like_rank=3, rank=3, place=1, injected=1)
    parts = replace(parts, judged=judged(1.0, stage="like", injected=True))
    words = words_of(told(parts, trial()))
    assert (
        words["like"]
        == "nothing else matches, so parts of words count: 3rd of the newest that contain one, scores 1.00"
    )
    assert list(words)[-1] == "prompt"
    none = replace(parts, like_rank=None, judged=None, place=None, stopped_at="like")
    assert told(none, trial()).steps[-1].words.endswith("it contains none of the message's words")


def test_a_message_fts5_cannot_read_is_told_with_what_would_help() -> None:
    notes = (f"{REFUSED_QUERY} (unterminated string); ZeroClaw continues without keyword hits.",)
    miss = way(path="like", merged=False, no_vector="no query vector", stopped_at="like")
    for version, query, helps, cause in (
        ("0.7.4", 'say "rust', "another scoring version", 'Up to 0.7.4 FTS5 cannot read the " in this message'),
        ("0.7.4", 'a\0b "rust', "a message without its NUL", "FTS5 cannot read a message with a NUL in it"),
        ("0.8.4", "a\0b rust", "a message without its NUL", "FTS5 cannot read a message with a NUL in it"),
    ):
        explanation = told(miss, trial(version, query=query), notes=notes)
        keyword = next(step for step in explanation.steps if step.name == "keyword")
        assert keyword.helps == helps
        assert explanation.remarks[0].startswith(f"{cause}, and ZeroClaw ignores the error")


def test_a_lone_star_lists_the_newest_like_a_blank_message() -> None:
    older = way(path="recent", merged=False, stopped_at="recent")
    for query, what in (("*", "a lone *"), ("", "a blank message")):
        last = told(older, trial("0.8.3", query=query), ()).steps[-1]
        assert last.words == f"{what} lists the newest, and only the first 5 pass"
        assert last.helps == "a higher limit (ZeroClaw recalls with 5)"


def test_a_blank_message() -> None:
    listed = way(path="recent", merged=False, rank=2, judged=judged(None, injected=True), place=2, injected=3)
    words = words_of(told(listed, trial("0.8.4", query=""), ()))
    assert words["recent"] == "a blank message lists the newest: 2nd of the newest, without a score"
    assert words["threshold"] == "without a score it always passes"
    assert told(way(path="recent", stopped_at="query"), trial("0.1.7", query=""), ()).verdict == (
        "It is not in the prompt: ZeroClaw 0.1.7 finds nothing for a blank message."
    )


@pytest.mark.parametrize(
    ("backend", "scale", "score", "words"),
    [
        ("markdown", "matched words / words", 1 / 3, "rank 2 by markdown's own rule · 1 of 3 words = 0.33"),
        ("postgres", "ts_rank_cd", 0.2, "rank 2 by postgres's own rule · ts_rank_cd = 0.20"),
        ("postgres", "2 x key + content matches", None, "no score (2 x key + content matches)"),
        ("qdrant", "cosine", 0.71, "rank 2 by qdrant's own rule · cosine = 0.71"),
    ],
)
def test_backends_of_a_rule_of_their_own_name_their_scale(
    backend: str, scale: str, score: float | None, words: str
) -> None:
    found = way(path=backend, merged=False, rank=2, judged=judged(score, injected=True), place=2, injected=2)
    explanation = told(found, trial("0.7.5"), own_rule=backend, scale=scale)
    assert words in words_of(explanation)["rank"]
    assert {"keyword", "vector", "fusion", "candidates"}.isdisjoint(words_of(explanation))
    assert explanation.remarks
    missed = told(way(path=backend, merged=False, stopped_at="rank"), trial("0.7.5"), own_rule=backend, scale=scale)
    assert missed.steps[-1].words.startswith(f"{backend}'s own rule does not find it (it scores by {scale})")


@pytest.mark.parametrize(
    ("backend", "version", "words", "helps"),
    [
        ("postgres", "0.7.5", "because it must contain every word of the message", "every word of the message"),
        ("postgres", "0.5.6", "because it must contain the exact message", "contain the exact message"),
        ("markdown", "0.7.5", "does not find it", "a word of the message"),
        ("qdrant", "0.7.5", "does not find it", ""),
    ],
)
def test_what_a_backends_own_rule_asks_for(backend: str, version: str, words: str, helps: str) -> None:
    missed = told(way(path=backend, merged=False, stopped_at="rank"), trial(version), own_rule=backend).steps[-1]
    assert missed.words.endswith(words)
    assert missed.helps.endswith(helps)
    assert bool(missed.helps) == bool(helps)


def test_no_weights_are_advised_where_they_decide_nothing() -> None:
    low = judged(0.07, stop=Stop("threshold", "", 0.07, 0.40))
    below = way(path="keyword", merged=False, rank=1, judged=low, stopped_at="threshold")
    assert told(below, trial()).steps[-1].helps == "a threshold of 0.07"
    assert told(replace(below, merged=True), trial(), own_rule="postgres").steps[-1].helps == "a threshold of 0.07"
    tiny = replace(below, judged=judged(1e-6, stop=Stop("threshold", "", 0.00, 0.40)))
    assert told(tiny, trial()).steps[-1].helps == "a threshold of 0"
    seventh = way(path="keyword", merged=False, rank=7, judged=None, stopped_at="limit")
    assert told(seventh, trial(limit=5)).steps[-1].helps == "edit it to contain more words of the message"


def test_a_conversation_of_no_session_is_not_sent_to_one() -> None:
    skipped = judged(0.9, stop=Stop("skip", "conversation without a session"))
    for session, helps in ((None, "another category"), ("tg_1", "recall in a session")):
        entry = replace(CUTLERY, category="conversation", session_id=session)
        way_of = way(**BEST, entry=entry, fused_score=0.9, rank=1, judged=skipped, stopped_at="skip")
        assert told(way_of, trial("0.8.4")).steps[-1].helps == helps


def test_core_is_advised_only_to_what_would_pass_without_fading() -> None:
    low = judged(0.3, decayed=0.05, stop=Stop("threshold", "", 0.05, 0.40))
    faded = way(**BEST, fused_score=0.3, rank=1, judged=low, stopped_at="threshold")
    assert told(faded, trial("0.8.4")).steps[-1].helps == "a threshold of 0.05, or other weights"
    high = replace(faded, judged=judged(0.9, decayed=0.05, stop=Stop("threshold", "", 0.05, 0.40)))
    assert told(high, trial("0.8.4")).steps[-1].helps == "the category core, which does not fade"


def test_a_backends_own_rule_names_the_session_or_agent_that_keeps_it_out() -> None:
    entry = replace(CUTLERY, session_id="tg_2", agent="writer")
    missed = way(path="postgres", merged=False, stopped_at="rank", entry=entry)
    of_session = told(missed, trial(session_id="tg_1"), own_rule="postgres", scale="ts_rank_cd").steps[-1]
    assert of_session.words == "postgres leaves it out: it belongs to session tg_2, and the message comes from tg_1"
    of_agent = told(missed, trial(agents=("main",)), own_rule="postgres", scale="ts_rank_cd").steps[-1]
    assert of_agent.words == "postgres leaves it out: it belongs to agent writer, and recall is for main"


def test_a_blank_message_to_a_backend_of_its_own_rule() -> None:
    listed = way(path="recent", merged=False, rank=2, judged=judged(None, injected=True), place=2, injected=3)
    words = words_of(told(listed, trial("0.8.4", query=""), (), own_rule="postgres", scale="none"))
    assert words["rank"] == "rank 2 by postgres's own rule · no score"
    missed = way(path="recent", merged=False, stopped_at="rank")
    explanation = told(missed, trial("0.8.4", query=""), (), own_rule="postgres", scale="none")
    assert [step.name for step in explanation.steps] == ["words", "rank"]


def test_remarks_on_places_that_went_to_what_is_skipped() -> None:
    reply = judged(0.9, stop=Stop("skip", "assistant reply"))
    said = judged(0.9, stop=Stop("skip", "user message"))
    lost = way(**BEST, no_vector="no embedding", fused_score=0.3, fused_rank=7, rank=7, stopped_at="limit")
    assert told(lost, trial("0.8.4"), results=(reply, reply, said, judged(0.5), judged(0.4))).remarks[-1] == (
        "2 assistant replies and 1 saved user message take 3 places of the 5 recalled, and ZeroClaw drops them only "
        "afterwards."
    )
    assert not any("places" in remark for remark in keyword_only().remarks)


def test_hostile_text_is_harmless_in_every_sentence() -> None:
    entry = replace(CUTLERY, key=HOSTILE, session_id=HOSTILE, namespace=HOSTILE, agent=HOSTILE, superseded_by=HOSTILE)
    request = {"session_id": "x" + HOSTILE, "namespace": "y", "agents": (HOSTILE, "a"), "since": HOSTILE}
    shares = (WordShare(HOSTILE, True, 0.1, 1), WordShare(HOSTILE * 50, False))
    for stage in ("superseded", "time", "session", "agent", "namespace", "candidates", "like"):
        found = way(entry=entry, stopped_at=stage)
        explanation = told(found, trial("0.8.4", query=HOSTILE, **request), shares)
        for sentence in (explanation.verdict, *(step.words for step in explanation.steps), *explanation.remarks):
            assert one_line(sentence) == sentence
            assert len(sentence) < 400


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.00"),
        (0.41, "0.41"),
        (1e-6, "0.000001"),
        (-0.004, "-0.004"),
        (1e-12, "1e-12"),
        (1234.5, "1,234.50"),
        (None, "–"),
        (float("inf"), "∞"),
        (float("nan"), "no number"),
    ],
)
def test_numbers_are_short_and_never_nothing(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_ordinal_numbers_end_as_in_english() -> None:
    assert [ordinal(place) for place in (1, 2, 3, 4, 11, 12, 13, 21, 112, 1002)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th", "1,002nd",
    ]  # fmt: skip


def test_without_any_weight_the_whole_recall_is_told() -> None:
    found = way(**BEST, no_vector="no embedding", fused_score=0.0, fused_rank=1, rank=1, judged=judged(0.0))
    explanation = told(replace(found, stopped_at="threshold"), trial(settings=ScoringSettings(0.0, 0.0)))
    assert explanation.remarks == (
        "Both weights are 0: where words and vectors find something every score is 0.00, and nothing of it is "
        "injected.",
    )
