"""Memory in Qdrant."""
