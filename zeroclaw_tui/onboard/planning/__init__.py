"""From answers to the exact change of config.toml, and the words that go with it."""
