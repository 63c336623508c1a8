"""Introduction to multi-controller JAX; with one process, of which all devices are local."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from programs import LINE, MESH, rand


def run(jit):
    assert jax.process_count() == 1 and jax.device_count() == jax.local_device_count() == 8
    on = NamedSharding(LINE, P("data"))
    whole = np.arange(16, dtype=np.float32)
    x = jax.device_put(whole, on)
    yield "put on all devices", jit(lambda x: x)(x)
    yield "summed", jit(jnp.sum)(x)
    local = jax.make_array_from_process_local_data(on, whole)
    yield "from local data", jit(lambda x: x * 2 - x.mean())(local)
    called = jax.make_array_from_callback((16, 8), NamedSharding(MESH, P("data", "model")), lambda index: rand(16, 8)[index])
    yield "from a callback", jit(lambda x: x - x.mean(0))(called)
    parts = [jax.device_put(whole[None, 2 * i : 2 * i + 2], device) for i, device in enumerate(LINE.devices.flat)]
    single = jax.make_array_from_single_device_arrays((8, 2), on, parts)
    yield "from single devices", jit(lambda x: jnp.cumsum(x, 0))(single)
    yield "made where it is used", jit(lambda: jnp.arange(32.0).reshape(8, 4), out_shardings=on)()

    layer = lambda w, x: jax.nn.relu(x @ w)
    w, batch = jax.device_put(rand(8, 12), NamedSharding(MESH, P(None, "model"))), called
    yield "a layer", jit(layer, out_shardings=NamedSharding(MESH, P("data", "model")))(w, batch)
    loss = lambda w, x: jnp.mean(layer(w, x) ** 2)
    value, grad = jit(jax.value_and_grad(loss))(w, batch)
    yield "a gradient", (value, grad)
    yield "a step", jit(lambda w, x: w - 0.1 * jax.grad(loss)(w, x), donate_argnums=0)(w, batch)
