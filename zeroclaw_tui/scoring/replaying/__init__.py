"""How a recall is decided again from its evidence, part by part."""
