"""Floor 5: the commands `zeroclaw-tui` and `zeroclaw memory`, and what is handed to the real ZeroClaw."""
