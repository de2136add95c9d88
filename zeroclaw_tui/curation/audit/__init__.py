"""What pollutes a memory: findings with counts and bytes, and what can be done about them."""
