"""Floor 1: where an install lies and what its config.toml says about memory."""
