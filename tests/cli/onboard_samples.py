"""A small config and a URL with a password; every secret contains "sekret"."""

POSTGRES_URL = "postgres://zeroclaw:p-sekret@127.0.0.1:1/zeroclaw"

CONFIG = """\
# my agent
default_temperature = 0.7

[channels.telegram]
bot_token = "123456:tele-sekret"   # do not lose

[memory]
backend = "sqlite"
auto_save = true
vector_weight = 0.7

[autonomy]
level = "supervised"
"""
