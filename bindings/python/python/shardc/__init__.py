"""The sharding compiler shardc, for JAX.

    step = shardc.jit(train_step, donate_argnums=0)    # jax.jit, with communication planned for the whole program
    print(shardc.explain(step.lower(params, batch)))   # each collective: why it is there, and what would remove it

`jit` and `compile` hand programs to XLA with every decision about shards and collectives already taken. `partition`,
`explain`, `cost`, `check` and `show` are about a program: what `jax.jit(f).lower(...)` returned, a `jax.export.Exported`,
or StableHLO as text. JAX is imported only by what needs it.

The examples of the functions are about a product on eight devices, of `x: f32[16, 8]`, sharded in four by rows, and
`w: f32[8, 4]`, sharded in two by rows:

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
