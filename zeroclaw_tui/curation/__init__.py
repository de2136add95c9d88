"""Floor 3: what a person does to memory; no widgets, no printing."""
