"""Text to vectors, by an endpoint of the config or by a local hash.

base.py has the contract (`Embedder`), endpoint.py calls a server and makes the embedder that a config names, local.py
needs no server.
"""
