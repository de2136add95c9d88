"""The wizard: questions about memory, tests of what is answered, and a config.toml that loses nothing."""
