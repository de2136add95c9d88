"""`memory prompt`: the literal text ZeroClaw puts before a message, and nothing else, on stdout.

Into a pipe it goes byte for byte; on a terminal control characters are made visible. What is to be said about it goes
to stderr. Its document: {"query", "text", "rule", "differs_by_rule", "characters", "tokens", "entries", "why_empty",
"profile", "profile_source", "threshold", "results": [{"rank", "id", "key", "score", "decayed", "injected",
"not_injected_because"}], "notes"}.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime

from zeroclaw_tui.cli.output import counted, document, note
from zeroclaw_tui.cli.recalling import tell_notes
from zeroclaw_tui.cli.trials import trial_given
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.prompting import Prompt, prompt_for
from zeroclaw_tui.memory.errors import DONE
from zeroclaw_tui.memory.text import display_text, one_line
from zeroclaw_tui.scoring.injection import RECALL_LIMIT


async def prompt(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Answer the verb; the exit code, which is 0 for an empty prompt too."""
    made = await prompt_for(library, trial_given(library, given, now))
    if given.json:
        document(made.as_json())
    else:
        _write_literally(made.text)
    for sentence in _facts(made):
        note(f"zeroclaw: {sentence}")
    tell_notes(library, made.result.notes, set())
    return DONE


def _write_literally(text: str) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(display_text(text))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(_bytes(text))
    sys.stdout.buffer.flush()


def _bytes(text: str) -> bytes:
    """Bytes that are no UTF-8 came out of the store as surrogate escapes; other lone surrogates have none."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _facts(made: Prompt) -> list[str]:
    result = made.result
    rule = "channels" if made.rule == "channel" else "CLI agent"
    by = f"by the rule of the {rule} in ZeroClaw {result.profile} ({one_line(result.profile_source)})"
    if made.why_empty is not None:
        facts = [f"{made.why_empty} So nothing is put before this message, {by}."]
    else:
        size = f"{counted(made.characters, 'character')}, about {counted(made.tokens, 'token')}"
        facts = [f"{counted(made.entries)}, {size}, {by}."]
    if made.differs_by_rule:
        other = "cli" if made.rule == "channel" else "channel"
        whose = "The CLI agent injects" if made.rule == "channel" else "Channels inject"
        facts.append(f"{whose} by another rule in this version; --rule {other} shows it.")
    if result.request.limit != RECALL_LIMIT:
        facts.append(f"ZeroClaw itself always recalls {RECALL_LIMIT} for a message, not {result.request.limit:,}.")
    return facts
