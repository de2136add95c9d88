"""What a store of memories must hold to, as tests for our own backends and for those of plug-in authors.

MemoryContract (contract.py) reads a store that holds the samples. StoreContract (store_contract.py) writes to one of a
few rows; it is WritableMemoryContract, VerbsContract, ManyRowsContract, TwoWritersContract, CancelContract and
CapabilityContract together, each in the module of its name. GoneContract is for stores that can go away. All take one
fixture, `memory`, and need no test framework themselves; what a class may say about its store stands in
`tools.StoreHooks`.
"""
