"""Random configs of any generation in any TOML notation."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import strategies as st
from support.wizard_world import BACKENDS, KEY, URL

from zeroclaw_tui.config.schema import DB_URL_ALIASES
from zeroclaw_tui.config.secrets import encrypt

Written = dict[str, str]
"""Values of one table in TOML notation."""

SEALED = encrypt(URL, bytes.fromhex(KEY), bytes(12))
OTHERS = (
    '[channels.telegram]\nbot_token = "1:a"  # mine\nallowed = [\n  "a",\n]\n\n',
    '[[embedding_routes]]\nhint = "x"\nmemory.backend = "no"\n',
    "[secrets]\nencrypt = false\n",
    '# banner\n\n[agents.bob.memory]\nbackend = "markdown"\n[agents.bob]\n',
)
switches = st.sampled_from(["true", "false"])
days = st.sampled_from(["0", "7", "1_000", "0x10"])
MEMORY = {
    "auto_save": switches,
    "hygiene_enabled": switches,
    "archive_after_days": days,
    "purge_after_days": days,
    "conversation_retention_days": days,
    "vector_weight": st.sampled_from(["1", "7e-1", "+0.5"]),
    "embedding_cache_size": st.just("5"),
    "unheard_of": st.sampled_from(["{a = 1}", '"""\n[memory]\nbackend = "no"\n"""', "[\n  1, # ]\n]"]),
}
POSTGRES = {"schema": st.just('"public"'), "table": st.just('"mine"'), "connect_timeout_secs": st.just("0x0F")}
QDRANT = {"api_key": st.sampled_from(['""', '"tunafish"', '"${KEY}"']), "collection": st.just("'mine'")}


@dataclass(frozen=True)
class AnyConfig:
    """A valid config, and the name of its generation's folder."""

    text: str
    layout: str


def pairs(values: Mapping[str, str], prefix: str = "") -> list[str]:
    return [f"{prefix}{name} = {value}" for name, value in values.items()]


def table(notation: str, path: str, values: Written) -> str:
    """Return a table with a header, an inline table or dotted keys; an empty one cannot be dotted."""
    if notation == "inline" and not any("\n" in value for value in values.values()):
        return f"{path} = {{ {', '.join(pairs(values))} }} # in\n"
    if notation == "dotted" and values:
        return "".join(f"{line} # dotted\n" for line in pairs(values, f"{path}."))
    return f"[{path}] # header\n" + "".join(f"{line}\n" for line in pairs(values)) + "\n# below\n\n"


@st.composite
def postgres_tables(draw: st.DrawFn) -> Written:
    spelling = draw(st.sampled_from(["db_url", *DB_URL_ALIASES]))
    url = draw(st.sampled_from([f'"{URL}"', "'postgres://u:p%40x@h/d'", f'"{SEALED}"', '"enc2:00ff"', '"${URL}"']))
    return {spelling: url, **draw(st.fixed_dictionaries({}, optional=POSTGRES))}


@st.composite
def any_configs(draw: st.DrawFn) -> AnyConfig:
    schema = draw(st.sampled_from([None, 2, 3]))
    alias = draw(st.sampled_from(["default", "work"])) if schema == 3 or draw(st.integers(0, 5)) == 0 else None
    kind = draw(st.sampled_from(BACKENDS))
    backend = f"{kind}.{alias}" if alias and kind != "none" else draw(st.sampled_from([kind, f" {kind.upper()} "]))
    memory = draw(st.fixed_dictionaries({}, optional={"backend": st.just(f'"{backend}"'), **MEMORY}))
    tables: dict[str, Written] = {}
    if draw(st.booleans()) or kind == "postgres":
        place = f"storage.postgres.{alias}" if alias else "storage.provider.config"
        named = [{}, {"provider": '""'}, {"provider": '"postgres"'}, {"provider": '"sqlite"'}]
        provider = {} if alias else draw(st.sampled_from(named))
        tables[place] = {**provider, **draw(postgres_tables())}
    if draw(st.booleans()) or kind == "qdrant":
        below = draw(st.fixed_dictionaries({"url": st.just('"http://q:6333"')}, optional=QDRANT))
        tables[f"storage.qdrant.{alias}" if alias else "memory.qdrant"] = below
    if alias and draw(st.booleans()):
        tables["storage.postgres.other"] = {"db_url": '"postgres://other/d"'}
    if draw(st.integers(0, 9)):
        tables["memory"] = memory
    notations = ("header", "inline", "dotted")
    parts = [table(draw(st.sampled_from(notations)), path, values) for path, values in tables.items()]
    parts = draw(st.permutations([*parts, *draw(st.sets(st.sampled_from(OTHERS)))]))
    # Keys without a header must come before the first header.
    parts.sort(key=lambda part: part.lstrip("# baner\n").startswith("["))
    top = "# months of work\n" + (f"schema_version = {schema}\n" if schema else "")
    text = top + "".join(parts)
    return AnyConfig(
        draw(st.sampled_from([text, text.rstrip("\n"), text.replace("\n", "\r\n"), "\ufeff" + text])),
        "data" if alias else draw(st.sampled_from(["workspace", "data"])),
    )


def is_valid(config: AnyConfig) -> bool:
    """Whether the notations of all tables are compatible."""
    try:
        tomllib.loads(config.text.lstrip("\ufeff"))
    except tomllib.TOMLDecodeError:
        return False
    return True
