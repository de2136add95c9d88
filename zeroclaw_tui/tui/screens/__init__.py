"""One module and one sheet a screen."""
