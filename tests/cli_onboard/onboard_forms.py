"""Configs in every form a hand or a program gives them; every secret here has "sekret" in it."""

from __future__ import annotations

from collections.abc import Mapping

PLAIN = """\
# months of work
default_temperature = 0.7

[memory]   # here
backend = "sqlite"
auto_save = true

# ── who may speak ──
[channels.telegram]
bot_token = "123456:tele-sekret"   # do not lose
allowed = [
  "a",  # me
]
"""
_SCATTERED = """\
[storage.provider.config]
provider = "sqlite"

[agents.one]
x = 1

[memory.qdrant]
url = "http://q"

[agents]
y = 2

[memory]
backend = "sqlite"
auto_save = true

[[agents.list]]
z = 1

[[agents.list]]
z = 2

[storage]
"""
_TEXTS = '''\
prompt = """
[memory]
backend = "postgres"
auto_save = false
"""

[memory]
backend = "sqlite"
auto_save = true
note = \'\'\'
[autonomy]
backend = "x"
\'\'\'

[autonomy]
level = "supervised"
'''


def _large() -> str:
    channels = (
        f'\n# ── channel {number} ──\n[channels.c{number}]\nbot_token = "{number}-sekret"\nname = "n"   # keep\n'
        for number in range(1250)
    )
    return PLAIN + "".join(channels)


FORMS: Mapping[str, bytes] = {
    "plain": PLAIN.encode(),
    "CRLF": PLAIN.replace("\n", "\r\n").encode(),
    "byte order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "byte order mark and CRLF": b"\xef\xbb\xbf" + PLAIN.replace("\n", "\r\n").encode(),
    "tabs": PLAIN.replace("backend", "\tbackend").replace("auto_save", "\tauto_save").replace(" = ", "\t=\t").encode(),
    "no last line end": PLAIN.rstrip("\n").encode(),
    "only a comment": b"# nothing yet",
    "empty": b"",
    "inline": b'memory = { backend = "sqlite", auto_save = true } # all in one\n[channels.t]\nbot_token = "t-sekret"\n',
    "dotted": b'memory.backend = "sqlite"\nmemory.auto_save = true\n\n[channels.t]\nbot_token = "t-sekret"\n',
    "scattered families": _SCATTERED.encode(),
    "texts of several lines": _TEXTS.encode(),
    "aliases": b'schema_version = 3\n[memory]\nbackend = "sqlite.main"\nauto_save = true\n[storage.sqlite.main]\n',
    "large": _large().encode(),
}
