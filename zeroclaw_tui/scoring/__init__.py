"""Floor 1: search arithmetic, pure functions; numpy only, and only where vectors are."""
