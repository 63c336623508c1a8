"""JAX's tutorials on sharding in programs of our own: each module's `run(jit)` yields the snippets' names and results."""
