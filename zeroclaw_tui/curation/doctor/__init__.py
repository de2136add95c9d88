"""What is wrong with a store, its risk and its repair."""
