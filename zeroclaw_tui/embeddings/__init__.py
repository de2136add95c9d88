"""Text to vectors, by an endpoint of the config or by a local hash.

base.py has the contract (`Embedder`) and makes the one that a config names, endpoint.py calls a server and local.py
needs none.
"""
