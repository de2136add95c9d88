"""Floor 2: one Memory contract, one factory, a module a backend."""
