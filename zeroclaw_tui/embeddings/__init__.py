"""Text to vectors, by an endpoint of the config or by a local hash.

base.py is the contract (`Embedder`), factory.py makes the one that a config names, endpoint.py calls a server and
local.py needs none.
"""
