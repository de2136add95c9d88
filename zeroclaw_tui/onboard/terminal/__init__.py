"""Questions on a real terminal, made of questionary."""
