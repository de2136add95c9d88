"""What each finding is and why it hurts, in a sentence or two."""

from __future__ import annotations

from collections.abc import Mapping

from zeroclaw_tui.curation.audit.finding import FindingKind

REMARKS: Mapping[FindingKind, str] = {
    "assistant replies": (
        "What the agent itself answered, saved by early versions: never put into the prompt, yet each takes one of the"
        " few places of a recall."
    ),
    "recall blobs": (
        "Recalled memories that were saved again with the message they were put into: copies of copies, longer with"
        " every turn."
    ),
    "tool results": "Output of tools, saved as if it were worth remembering; it crowds out what is.",
    "heartbeat and cron": (
        "Texts of the agent's own timers, which ZeroClaw >= 0.4.3 no longer saves; they match many queries and say"
        " nothing."
    ),
    "too short": (
        "Under 20 characters, too short for ZeroClaw to save by itself. Look first: a short fact is a fact too."
    ),
    "too long": (
        "Over 4,000 characters: the channels of ZeroClaw <= 0.8.2 never put them into the prompt, and one vector says"
        " little about so much text."
    ),
    "empty keys": "Without a key nothing can name them, and the next one stored without a key replaces them.",
    "exact duplicates": "The same text more than once: a recall spends several of its few places on one fact.",
    "near duplicates": (
        "Nearly the same text (cosine of 0.95 and more, or 80 % of the word pairs in common): several places of a"
        " recall for one fact, and the older one may be out of date."
    ),
    "stale vectors": (
        "Vectors that fit no query: their likeness counts as 0, and ZeroClaw's own reindex fills only empty ones."
        " `zeroclaw memory reindex` of this program makes them anew."
    ),
    "secrets": (
        "They look like secrets: in plain text in the database and its copies, and sent to the model whenever they are"
        " recalled."
    ),
    "hidden text": (
        "Characters that no screen shows and the agent reads: this is how a memory is poisoned. Others split a word, so"
        " that no search finds it. Look at what they say, then edit the memory or let it go."
    ),
}
