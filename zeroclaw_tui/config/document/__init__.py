"""config.toml as text: found, edited, compared, masked, saved and restored byte for byte but for what was asked."""
