"""Memory in the Lucid bridge."""
