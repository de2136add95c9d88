"""Masking hides secrets in every notation and keeps every other character."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.masking import is_secret_name, masked_secret, masked_toml

DOTS = "••••"
SECRET_NAMES = """
api_key apikey apiKey API_KEY OPENAI_API_KEY api-keys embedding_api_key token bot_token access_token auth_token
paired_tokens secret client_secret signing_secret secrets password passwd db_password passphrase private_key
encryption_key credential credentials webhook_url verify_token webhook_secret memory.qdrant.api_key
Authorization password_hash pairing_code key
"""
ORDINARY_NAMES = """
max_tokens chunk_max_tokens max_context_tokens token_budget token_ttl_secs prompt_tokens embedding_cache_size
keyword_weight keywords public_key primary_key cache_key rate_limit_max_keys monkey passthrough key_path
api_key_env secret_file password_min_length db_url url backend author authors 1 ключ
"""


def masked(text: str) -> str:
    """Return the masked text, after checking that it is TOML with the same number of lines."""
    shown = masked_toml(ConfigDocument.from_text(text).text)
    tomllib.loads(shown)
    assert shown.count("\n") == text.count("\n")
    return shown


@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_names_of_secrets_are_recognised(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", [*ORDINARY_NAMES.split(), ""])
def test_names_of_ordinary_settings_are_not_secret(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('api_key = "hunter2hunter2"  # mine', f'api_key = "{DOTS}"  # mine'),
        ("bot_token='hunter2'", f"bot_token='{DOTS}'"),
        ('channels.telegram.bot_token = "hunter2"', f'channels.telegram.bot_token = "{DOTS}"'),
        ('"api\\u005fkey" = "hunter2"', f'"api\\u005fkey" = "{DOTS}"'),
        ('paired_tokens = ["a1", "b2"] # 2', f'paired_tokens = ["{DOTS}", "{DOTS}"] # 2'),
        ('x = { name = "n", token = "hunter2" }', f'x = {{ name = "{DOTS}", token = "{DOTS}" }}'),
        (
            'credentials = { user = ["u"], x = {y = "z"} }',
            f'credentials = {{ user = ["{DOTS}"], x = {{y = "{DOTS}"}} }}',
        ),
        ('anything = "enc2:00ff"', f'anything = "{DOTS}"'),
        ('anything = ["enc:00ff", "op://vault/item"]', f'anything = ["{DOTS}", "{DOTS}"]'),
        ('anything = "\\u0065nc2:00ff"', f'anything = "{DOTS}"'),
        ('db_url = "postgres://me:hunter2@h:5432/db"', f'db_url = "postgres://me:{DOTS}@h:5432/db"'),
        ('db_url = "postgresql://me:p%40ss%2Fw@h/db"', f'db_url = "postgresql://me:{DOTS}@h/db"'),
        ('db_url = "postgres://me:p@ss/w@h/db"', f'db_url = "postgres://me:{DOTS}@h/db"'),
        (
            'db_url = "postgres://h/db?user=me&password=hun&x=1"',
            f'db_url = "postgres://h/db?user=me&password={DOTS}&x=1"',
        ),
        ('db_url = "host=h user=me password=hunter2 dbname=d"', f'db_url = "host=h user=me password={DOTS} dbname=d"'),
        ('db_url = "postgres://me:hunter2\\u0040h/db"', f'db_url = "{DOTS}"'),
        ('url = "redis://:hunter2@h"', f'url = "redis://:{DOTS}@h"'),
        ('url = "https://u:p@ss/w?x@h/d"', f'url = "https://u:{DOTS}@h/d"'),
        ('url = "custom:https://u:p@h/v1"', f'url = "custom:https://u:{DOTS}@h/v1"'),
        ('url = "https://h/v1?api_key=hunter2#x"', f'url = "https://h/v1?api_key={DOTS}#x"'),
        ('url = "https://h/v1?key=hunter2&n=5"', f'url = "https://h/v1?key={DOTS}&n=5"'),
        ('args = ["--key", "sk-abcdefghijklmnop"]', f'args = ["--key", "sk-{DOTS}"]'),
        ('header = "Bearer abcdef123456"', f'header = "Bearer {DOTS}"'),
        ('x = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.abc-def"', f'x = "eyJ{DOTS}"'),
        ('# api_key = "hunter2"', f"# api_key = {DOTS}"),
        ("#bot_token='hunter2' # old", f"#bot_token={DOTS}"),
        ('# x = { token = "hunter2", n = "n" }', f"# x = {{ token = {DOTS}"),
        ("# export OPENAI_API_KEY=hunter2", f"# export OPENAI_API_KEY={DOTS}"),
        ("# password: hunter2", f"# password: {DOTS}"),
        ("# was sk-abcdefghijklmnop once", f"# was sk-{DOTS} once"),
        ("# was enc2:00ff, then postgres://me:hunter2@h/db", f"# was enc2:{DOTS}, then postgres://me:{DOTS}@h/db"),
    ],
)
def test_a_secret_is_masked_and_the_rest_of_its_line_kept(line: str, shown: str) -> None:
    assert masked(line) == shown


@pytest.mark.parametrize(
    "line",
    [
        "max_tokens = 4096",
        "token = 5",
        'api_key = ""',
        'api_key = "${OPENROUTER_API_KEY}"',
        'url = "https://api.example.com:8443/v1?limit=5&a=b@c"',
        'url = "http://host:80/@scope"',
        'url = "http://localhost:6333"',
        'skills = "skeleton-repository-of-things"',
        'note = "the token is kept elsewhere; basic authentication, bearer of news"',
        'note = """\napi_key = x\n[secret]\n"""',
        '[secrets]\nencrypt = true\nstore = "file"',
        '[agents.cookie]\nname = "n"',
        "# max_tokens = 4096",
        '# token_budget = "small"',
        "# api_key =",
        "# see https://example.com/a:b@c",
    ],
)
def test_an_ordinary_line_is_unchanged(line: str) -> None:
    assert masked(line) == line


def test_every_value_of_a_section_named_after_secrets_is_masked() -> None:
    text = '[http.credentials]\ngithub = "a"\n[x.api_keys]\none = ["b"]\n[x]\ntwo = "c"\n'
    assert masked(text) == text.replace('"a"', f'"{DOTS}"').replace('"b"', f'"{DOTS}"')


def test_each_line_of_a_multiline_secret_is_masked() -> None:
    text = 'private_key = """\r\nfirst "quoted"\r\n\r\n  second\\\r\n  third"""\r\nport = 1\r\n'
    assert masked(text) == f'private_key = """\r\n{DOTS}\r\n\r\n{DOTS}\r\n{DOTS}"""\r\nport = 1\r\n'


def test_a_private_key_is_masked_under_any_name() -> None:
    shown = masked("pem = '''\n-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\n'''\nname = 'n'")
    assert shown == f"pem = '''\n{DOTS}\n{DOTS}\n{DOTS}\n'''\nname = 'n'"


def test_lines_that_look_secret_in_another_text_do_not_affect_later_lines() -> None:
    text = (
        'prompt = """\n[fake]\n# "\napi_key = \'\n"""\nliteral = \'\'\'\n"""\n\'\'\'\napi_key = "hunter2"\nname = "n"'
    )
    assert masked(text) == text.replace("hunter2", DOTS)


SECRET = st.text("abcXYZ0189-_!%", min_size=6, max_size=20).map(lambda text: f"q7{text}7q")
WAYS = [
    'api_key = "{}"',
    "token = '{}'",
    'password = """\n  {}\n"""',
    "secrets = [ # {{\n  '{}', # ]\n]",
    't = {{ n = ["}}"], key = "{}" }}',
    '[a{at}."b]".c] # [x]\nclient_secret="{}"',
    '[[list{at}]]\nx.y.auth_token = "{}"',
    'url = "postgres://u:{}@h"',
    'any = "enc2:{}"',
    '# bot_token = "{}"',
    '"quoted.password" = "{}"',
]


@given(st.lists(st.tuples(st.sampled_from(WAYS), SECRET), min_size=1, max_size=6))
def test_no_secret_is_ever_shown(written: list[tuple[str, str]]) -> None:
    """Any mixture of notations of a secret, each in its own section, between ordinary lines."""
    blocks = [
        f"[section{at}]\nbefore = 'ordinary text {at}'\n{way.format(secret, at=at)}\nlast = {at}"
        for at, (way, secret) in enumerate(written)
    ]
    shown = masked("\n".join(blocks))
    assert [secret for _, secret in written if secret in shown or secret[2:-2] in shown] == []
    for at in range(len(written)):
        assert f"before = 'ordinary text {at}'" in shown
        assert f"last = {at}" in shown


@pytest.mark.parametrize(
    "piece", ["x", "a.b-c://", "postgres://a:", "sk-", "eyJ-", "token=a ", "   ", "?a_key", "Bearer "]
)
def test_a_very_long_comment_is_masked_quickly(piece: str) -> None:
    """Patterns that backtrack from each character would take minutes."""
    text = f'# {piece * (200_000 // len(piece))}\n# api_key = "hunter2"\n'
    assert masked(text).endswith(f"\n# api_key = {DOTS}\n")


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ("sk-123", "••••"), ("host=h password=p", "••••"), ("${OPENAI_KEY}", "${OPENAI_KEY}"), ("", ""),
        ("postgres://u:p w@h/d", "••••"), ("postgres://u:p@h/d", "postgres://u:••••@h/d"),
        (f"postgres://u:{'p' * 2000}@h/d", "postgres://u:••••@"), (f"https://u:{'p' * 5000}@h", "https://u:••••@"),
    ],
)  # fmt: skip
def test_only_the_public_parts_of_a_secret_are_shown(secret: str, shown: str) -> None:
    assert masked_secret(secret) == shown
