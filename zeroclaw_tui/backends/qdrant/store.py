"""Memory in a Qdrant collection, over its REST interface."""
