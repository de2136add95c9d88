"""A config.toml of each form, and rows that recall finds something in."""

from __future__ import annotations

FIRST = """\
# mine
default_temperature = 0.7
api_key = "sk-verysecretverysecret" # keep

[memory]
backend = "sqlite"
auto_save = true
vector_weight = 0.7   # meaning
# keyword_weight = 0.9
min_relevance_score=0.4

[gateway]
port = 42617
"""
SECOND = FIRST.replace("# mine\n", "# mine\nschema_version = 2\n")
THIRD = """\
schema_version = 3\r
\r
[memory] # the agent's\r
backend = "sqlite"\r
keyword_weight = 0.3\r
search_mode = "hybrid" # both\r
"""
FORMS = {"V1": FIRST, "V2": SECOND, "V3": THIRD, "without [memory]": "default_temperature = 0.7\n"}

ROWS = (
    {"key": "lang", "content": "User prefers Rust"},
    {"key": "editor", "content": "User uses Helix editor daily"},
    {"key": "pet", "content": "Cat named Mio"},
    {"key": "tz", "content": "Timezone is EST"},
    {"key": "food", "content": "Likes ramen and rust colored plates"},
)
"""Worked example: by words alone, before 0.8.4, "rust" scores lang 0.366 and food 0.289."""
