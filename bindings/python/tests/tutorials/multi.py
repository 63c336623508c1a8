"""Introduction to multi-controller JAX; with one process, of which all devices are local."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from programs import LINE, MESH, rand

AUTO, EXPLICIT = (jax.sharding.AxisType.Auto,), (jax.sharding.AxisType.Explicit,)


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

    grid = jax.make_mesh((4, 2), ("i", "j"), axis_types=AUTO * 2)
    yield "a sum of sines", jit(lambda x: jnp.sum(jnp.sin(x)))(jax.device_put(np.arange(32).reshape(4, 8), NamedSharding(grid, P("i", "j"))))
    ones = [jax.device_put(np.ones(shape, np.float32), NamedSharding(grid, spec)) for shape, spec in (((64, 32), P("i", "j")), ((32, 64), P("j", None)))]
    yield "a product and what is above zero", jit(lambda x, y: jax.nn.relu(x @ y))(*ones)
    yield from of_some_devices(jit)
    yield from of_parts(jit)

    layer = lambda w, x: jax.nn.relu(x @ w)
    w, batch = jax.device_put(rand(8, 12), NamedSharding(MESH, P(None, "model"))), called
    yield "a layer", jit(layer, out_shardings=NamedSharding(MESH, P("data", "model")))(w, batch)
    loss = lambda w, x: jnp.mean(layer(w, x) ** 2)
    value, grad = jit(jax.value_and_grad(loss))(w, batch)
    yield "a gradient", (value, grad)
    yield "a step", jit(lambda w, x: w - 0.1 * jax.grad(loss)(w, x), donate_argnums=0)(w, batch)


def of_some_devices(jit):
    """Meshes of half of the devices, pipelines of two meshes and of single devices."""
    devices, data = jax.devices(), np.arange(64).reshape(8, 8)
    first, second = (NamedSharding(jax.make_mesh((4,), ("a",), axis_types=EXPLICIT, devices=half), P("a")) for half in (devices[:4], devices[4:]))
    x = jax.device_put(data, second)
    with jax.set_mesh(second.mesh):
        yield "half of the devices", jit(lambda x: jnp.sum(jnp.sin(x)))(x)
    halve, step = jit(lambda x: x / 2 - 1), jit(lambda x: x * 3 + x.sum(1, keepdims=True))
    y = halve(jax.device_put(data, first))
    yield "the first stage", y
    yield "the second stage", step(jax.device_put(y, second))
    # Each stage on a device of its own: nothing to plan, but the same function for all of them.
    for number, batch in enumerate(np.arange(3 * 16, dtype=np.float32).reshape(3, 4, 4)):
        for device, stage in zip(devices, (halve, step, halve, step)):
            batch = stage(jax.device_put(batch, device))
        yield f"microbatch {number} through four devices", batch


def of_parts(jit):
    """Arrays that are put together from what each process or each device has."""
    line = jax.make_mesh((8,), ("batch",), axis_types=AUTO)
    batch = jax.make_array_from_process_local_data(NamedSharding(line, P("batch")), rand(32, 6, 5))
    yield "a batch of one process", jit(lambda x: x.mean((1, 2)))(batch)
    shape = jax.process_count(), jax.local_device_count()
    for kind in (AUTO, EXPLICIT):
        mesh = jax.make_mesh(shape, ("i", "j"), axis_types=kind * 2)
        ones = [jax.device_put(np.array([[i]]), device) for i, device in enumerate(mesh.devices.flat)]
        whole = jax.make_array_from_single_device_arrays(shape, NamedSharding(mesh, P("i", "j")), ones)
        with jax.set_mesh(mesh):
            yield f"a number of each device, {kind[0].name}", jit(lambda x: x * 2)(whole)
    # Two replicas of a model, each on four devices of one process.
    replicas = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 4), ("replicas", "data"))
    batch = jax.make_array_from_process_local_data(NamedSharding(replicas, P("replicas")), rand(16, 3))
    yield "a batch of each replica", jit(lambda x: (x**2).sum(1))(batch)
