"""The sharding compiler shardc, for JAX.

    step = shardc.jit(train_step, donate_argnums=0)    # jax.jit, with communication planned for the whole program
    print(shardc.explain(step.lower(params, batch)))   # each collective: its reason, and a change that removes it

`jit` and `compile` decide all shardings and collectives before XLA compiles the program. `partition`, `explain`, `cost`,
`check` and `show` take a program: the result of `jax.jit(f).lower(...)`, a `jax.export.Exported`, or StableHLO as text.
Only functions that need JAX import it.

The examples of the functions use a product on eight devices, of `x: f32[16, 8]`, with rows in four shards, and
`w: f32[8, 4]`, with rows in two shards:

    >>> import jax, jax.export, jax.numpy as jnp, shardc
    >>> from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
    >>> mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    >>> x = jax.device_put(jnp.ones((16, 8)), NamedSharding(mesh, P("data")))
    >>> w = jax.device_put(jnp.ones((8, 4)), NamedSharding(mesh, P("model")))
    >>> f = lambda x, w: jnp.tanh(x @ w)
    >>> lowered = jax.jit(f).lower(x, w)
"""

from shardc._export import compile
from shardc._jit import jit
from shardc._libraries import filter_jit, nnx_jit, patched
from shardc._native import Diagnostic, __version__
from shardc._options import Memory, OnError, Plan, Target
from shardc._program import Program, partition
from shardc._report import Report, check, cost, explain, show
from shardc._errors import ShardcError, ShardcWarning

__all__ = [
    "Diagnostic",
    "Memory",
    "OnError",
    "Plan",
    "Program",
    "Report",
    "ShardcError",
    "ShardcWarning",
    "Target",
    "__version__",
    "check",
    "compile",
    "cost",
    "explain",
    "filter_jit",
    "jit",
    "nnx_jit",
    "partition",
    "patched",
    "show",
]
