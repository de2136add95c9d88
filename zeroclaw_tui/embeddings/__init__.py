"""Embeddings of texts, from a configured endpoint or by local hashing.

base.py has the contract (`Embedder`), endpoint.py calls a server and creates the embedder of a config, local.py needs
no server.
"""
