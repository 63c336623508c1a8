"""One program on the devices of several processes, by JAX's own runtime (gloo between CPUs; TPU pods as they are).

    python processes.py           starts two processes and shows what each holds
    python processes.py 4         starts four
    python processes.py PORT COUNT RANK    is one of them; prints its result as JSON

Every process compiles the whole program with shardc, so all of them plan alike, and XLA is given the per-device program that
`shardc compile --emit manual` prints.
"""

import json
import os
import socket
import subprocess
import sys

DEVICES = 8


def launch(count):
    """Starts so many processes, and returns what each prints in the end."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    start = lambda rank: subprocess.Popen(
        [sys.executable, __file__, str(port), str(count), str(rank)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    workers = [start(rank) for rank in range(count)]
    try:
        ended = [worker.communicate(timeout=300) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    for worker, (_, err) in zip(workers, ended):
        if worker.returncode != 0:
            raise RuntimeError(err[-3000:])
    return [json.loads(out.splitlines()[-1]) for out, _ in ended]


def work(port, count, rank):
    """One of the processes."""
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES // count}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import NamedSharding
    from jax.sharding import PartitionSpec as P

    import shardc

    if count > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"localhost:{port}", count, rank)
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)

    def put(value, *axes):
        """An array of which every process makes the shards of its own devices."""
        return jax.make_array_from_callback(value.shape, NamedSharding(mesh, P(*axes)), lambda at: value[at])

    def step(w, x):
        loss, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
        return w - grad, loss

    w = np.arange(32, dtype=np.float32).reshape(8, 4) / 32
    x = np.arange(128, dtype=np.float32).reshape(16, 8) / 128
    results = {}
    for name, jit in (("jax", jax.jit), ("shardc", shardc.jit)):
        new, loss = jit(step)(put(w, None, "model"), put(x, "data"))
        shards = {str(shard.device.id): np.asarray(shard.data).tolist() for shard in new.addressable_shards}
        results[name] = {"loss": float(loss), "shards": shards}
    print(json.dumps(results))


if __name__ == "__main__":
    if len(sys.argv) == 4:
        work(*map(int, sys.argv[1:]))
    else:
        count = int(sys.argv[1]) if len(sys.argv) > 1 else 2
        for rank, results in enumerate(launch(count)):
            result = results["shardc"]
            print(f"process {rank}: loss {result['loss']:.6f}, shards on devices {', '.join(result['shards'])}")
