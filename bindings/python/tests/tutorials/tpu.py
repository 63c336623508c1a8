"""Programming TPUs in JAX: the three modes, and the worked problems 1 to 4."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from programs import rand

AUTO, EXPLICIT = (jax.sharding.AxisType.Auto,) * 2, (jax.sharding.AxisType.Explicit,) * 2
MESH = jax.make_mesh((4, 2), ("X", "Y"), axis_types=AUTO)
LINE = jax.make_mesh((8,), ("X",), axis_types=AUTO[:1])
NEXT = [(i, (i + 1) % 8) for i in range(8)]
BACK = [(i, (i - 1) % 8) for i in range(8)]


def put(value, *axes, mesh=MESH):
    return jax.device_put(value, NamedSharding(mesh, P(*axes)))


def run(jit):
    yield from modes(jit)
    yield from averages_and_rolls(jit)
    yield from experts(jit)
    yield from collective_matmuls(jit)
    yield from blocks(jit)


def modes(jit):
    a, w = put(rand(8, 64), "X", "Y"), put(rand(64, 32), None, "Y")
    yield "automatic product", jit(lambda a, w: a @ w)(a, w)
    yield "automatic, with a stated result", jit(lambda a, w: a @ w, out_shardings=NamedSharding(MESH, P("X", None)))(a, w)
    yield "a square", jit(lambda a: a.T @ a)(a)
    small = jax.make_mesh((2, 2), ("X", "Y"), axis_types=AUTO, devices=jax.devices()[:4])
    x, v = (put(jnp.asarray(rand(*shape), jnp.bfloat16), *axes, mesh=small) for shape, axes in (((8, 64), "XY"), ((64, 128), ("Y", None))))
    squared = jit(lambda x, v: jnp.einsum("bd,df->bf", jnp.square(x), v), out_shardings=NamedSharding(small, P("X", None)))
    yield "compiled ahead", squared.lower(x, v).compile()(x, v)
    hold = lambda x, *axes: lax.with_sharding_constraint(x, NamedSharding(MESH, P(*axes)))
    yield "two products and a constraint", jit(lambda a, w: hold(a @ w, "X", "Y") @ w.T)(a, w)

    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=EXPLICIT)
    with jax.set_mesh(mesh):
        b, v = put(rand(8, 64), "X", mesh=mesh), put(rand(64, 32), None, "Y", mesh=mesh)
        yield "explicit product", jit(lambda b, v: jnp.einsum("bd,df->bf", b, v))(b, v)
        c, u = put(rand(8, 64), "X", "Y", mesh=mesh), put(rand(64, 32), "Y", mesh=mesh)
        summed = lambda c, u: jnp.einsum("bd,df->bf", c, u, out_sharding=P("X", None))
        yield "explicit, with a stated result", jit(summed)(c, u)

    average = jax.shard_map(lambda x: lax.pmean(x[:4], ("X", "Y")), mesh=MESH, in_specs=P(("X", "Y")), out_specs=P(None))
    yield "sliced and averaged", jit(average)(rand(64))


def averages_and_rolls(jit):
    x = put(rand(32, 16), "X", None)
    spec = {"mesh": MESH, "in_specs": P("X", None), "out_specs": P("X", None)}
    yield "average of each shard", jit(lambda x: x.reshape(4, 8, 16).mean(1))(x)
    yield "average by hand", jit(jax.shard_map(lambda x: x.mean(0, keepdims=True), **spec))(x)
    roll = lambda x: jnp.roll(x.reshape(4, 8, 16), 3, axis=1).reshape(32, 16) - x
    yield "rolled within shards", jit(roll)(x)
    yield "rolled by hand", jit(jax.shard_map(lambda x: jnp.roll(x, 3, axis=0) - x, **spec))(x)


def experts(jit):
    """A token's expert is on one device; tokens go there, or weights come to them."""
    x, w = put(rand(64, 16), "X", mesh=LINE), put(rand(8, 16, 24), "X", mesh=LINE)
    chosen = put(np.arange(64) * 5 % 8, "X", mesh=LINE)
    yield "experts by jit", jit(lambda w, x, b: jnp.einsum("td,tdf->tf", x, w[b]))(w, x, chosen)

    def sorted_into_rows(w, x, b):
        # An expert may get all tokens.
        order = jnp.argsort(b)
        row = jnp.arange(len(b)) - jnp.searchsorted(b[order], b[order])
        rows = jnp.zeros((len(w), *x.shape), x.dtype).at[b[order], row].set(x[order])
        return jnp.einsum("esd,edf->esf", rows, w)[b[order], row][jnp.argsort(order)]

    yield "experts of sorted tokens", jit(sorted_into_rows)(w, x, chosen)
    yield "experts of sorted tokens on one device", jit(sorted_into_rows)(rand(8, 16, 24), rand(64, 16), np.arange(64) * 5 % 8)
    several = lambda w, x, b: jnp.mean(jnp.stack([sorted_into_rows(w, x, b[:, k]) for k in range(b.shape[1])]), 0)
    yield "the mean of several experts", jit(several)(w, x, put(np.arange(128).reshape(64, 2) * 3 % 8, "X", mesh=LINE))

    def gathered(w, x, b):
        w = lax.all_gather(w, "X", axis=0, tiled=True)
        return jnp.einsum("td,tdf->tf", x, w[b])

    part = lambda f, ins, outs=P("X"): jax.shard_map(f, mesh=LINE, in_specs=ins, out_specs=outs)
    yield "experts by all_gather", jit(part(gathered, (P("X"), P("X"), P("X"))))(w, x, chosen)

    def exchanged(w, x, b):
        order = jnp.argsort(b)
        # Each device has one token for each expert, since indices repeat with period 8.
        sent = lax.all_to_all(x[order], "X", 0, 0, tiled=True)
        back = lax.all_to_all(sent @ w[0], "X", 0, 0, tiled=True)
        return back[jnp.argsort(order)]

    yield "experts by all_to_all", jit(part(exchanged, (P("X"), P("X"), P("X"))))(w, x, chosen)

    def routed(w, x, gate):
        value, index = lax.top_k(jax.nn.softmax(x @ gate), 2)
        each = jnp.einsum("td,edf->tef", x, w)
        return jnp.einsum("tkf,tk->tf", jnp.take_along_axis(each, index[..., None], 1), value)

    yield "the two best experts", jit(routed)(w, x, rand(16, 8))

    def ragged(w, x, b):
        order = jnp.argsort(b)
        y = lax.ragged_dot(x[order], w, jnp.bincount(b, length=8))
        return y[jnp.argsort(order)]

    yield "experts by ragged_dot", jit(ragged)(w, x, chosen)


def collective_matmuls(jit):
    b, w = put(rand(64, 32), "X", mesh=LINE), put(rand(32, 48), None, "X", mesh=LINE)
    yield "gathered product by jit", jit(lambda b, w: b @ w, out_shardings=NamedSharding(LINE, P(None, "X")))(b, w)

    def around(b, w):
        me, rows = lax.axis_index("X"), b.shape[0]

        def turn(i, carry):
            y, b = carry
            y = lax.dynamic_update_slice(y, b @ w, (((me - i) % 8) * rows, 0))
            return y, lax.ppermute(b, "X", NEXT)

        start = lax.pcast(jnp.zeros((8 * rows, w.shape[1]), b.dtype), ("X",), to="varying")
        return lax.fori_loop(0, 8, turn, (start, b))[0]

    part = lambda f, ins, outs: jax.shard_map(f, mesh=LINE, in_specs=ins, out_specs=outs)
    if hasattr(lax, "pcast"):
        yield "a product around a ring", jit(part(around, (P("X"), P(None, "X")), P(None, "X")))(b, w)

    def both_ways(b):
        half = b.shape[0] // 2
        up, down, found = b[:half], b[half:], [(0, b)]
        for i in range(1, 8):
            up, down = lax.ppermute(up, "X", NEXT), lax.ppermute(down, "X", BACK)
            found.append((i, jnp.concatenate([up, down])))
        return sum(part * (i + 1) for i, part in found)

    yield "both ways around", jit(part(both_ways, P("X"), P("X")))(b)
    yield from over_one_of_two_axes(jit)

    def scattered(a, w):
        total = jnp.zeros((a.shape[0] // 8, w.shape[1]), a.dtype)
        me, rows = lax.axis_index("X"), a.shape[0] // 8
        for i in range(8):
            total = lax.ppermute(total, "X", NEXT) if i else total
            total = total + lax.dynamic_slice_in_dim(a, ((me - i - 1) % 8) * rows, rows) @ w
        return total

    yield "scattered around a ring", jit(part(scattered, (P(None, "X"), P("X")), P("X")))(rand(64, 32), rand(32, 16))


def blocks(jit):
    x, up, down = rand(16, 32), rand(32, 64), rand(64, 32)
    block = lambda x, up, down: jax.nn.gelu(x @ up) @ down
    args = put(x, "X"), put(up, None, "Y"), put(down, "Y")
    yield "a block by jit", jit(block)(*args)
    manual = lambda x, up, down: lax.psum(block(x, up, down), "Y")
    specs = P("X"), P(None, "Y"), P("Y")
    yield "a block by hand", jit(jax.shard_map(manual, mesh=MESH, in_specs=specs, out_specs=P("X")))(*args)
    scatter = lambda x, up, down: lax.psum_scatter(block(x, up, down), "Y", scatter_dimension=1, tiled=True)
    yield "a block, scattered", jit(jax.shard_map(scatter, mesh=MESH, in_specs=specs, out_specs=P("X", "Y")))(*args)
    scattered = lambda *args: lax.with_sharding_constraint(block(*args), NamedSharding(MESH, P("X", "Y")))
    yield "the same by a constraint", jit(scattered)(*args)


def over_one_of_two_axes(jit):
    """Products that overlap with permutes along one axis, of whole numbers, which add up to the same in any order."""
    mesh = jax.make_mesh((2, 4), ("X", "Y"), axis_types=AUTO)
    a, w = np.arange(16 * 32).reshape(16, 32) % 13, np.arange(32 * 16).reshape(32, 16) % 7
    left, right = [(i, (i - 1) % 4) for i in range(4)], [(i, (i + 1) % 4) for i in range(4)]
    rows, both = P(None, "Y"), P("X", "Y")
    placed = put(a, "X", "Y", mesh=mesh), put(w, None, "Y", mesh=mesh)
    yield "whole numbers by jit", jit(lambda a, w: a @ w, out_shardings=NamedSharding(mesh, both))(*placed)
    send = lambda x, to=left: lax.ppermute(x, "Y", to)
    chunk = lambda w, k, size: lax.dynamic_slice_in_dim(w, k % 4 * size, size)

    def gathered(a, w):
        me, size = lax.axis_index("Y"), a.shape[1]

        def turn(k, carry):
            total, a = carry
            return total + a @ chunk(w, me + k, size), send(a)

        total, a = lax.fori_loop(0, 3, turn, (jnp.zeros((a.shape[0], w.shape[1]), a.dtype), a), unroll=True)
        return total + a @ chunk(w, me + 3, size)

    part = lambda f, ins, outs: jit(jax.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=False))
    yield "the contracted dimension in turns", part(gathered, (both, rows), both)(*placed)
    down = put(w, "Y", None, mesh=mesh)
    # Tiles of the result are added up over devices, each beside the product of the next.
    tiles = lambda a, w: jnp.concatenate([lax.psum(a @ tile, "Y") for tile in jnp.split(w, 4, 1)], 1)
    yield "sums in tiles", part(tiles, (both, P("Y", None)), P("X", None))(placed[0], down)

    def scattered(a, w):
        me, size = lax.axis_index("Y"), w.shape[1] // 4
        tile = lambda k: a @ lax.dynamic_slice_in_dim(w, k % 4 * size, size, 1)
        total = tile(me + 1)
        for k in range(2, 5):
            total = send(total) + tile(me + k)
        return total

    yield "scattered in turns", part(scattered, (both, P("Y", None)), both)(placed[0], down)

    def scattered_both_ways(a, w):
        me, size = lax.axis_index("Y"), w.shape[1] // 8
        tile = lambda k, half: a @ lax.dynamic_slice_in_dim(w, (2 * (k % 4) + half) * size, size, 1)
        low, high = tile(me + 1, 0), tile(me - 1, 1)
        for k in range(2, 5):
            low, high = send(low) + tile(me + k, 0), send(high, right) + tile(me - k, 1)
        return jnp.concatenate([low, high], 1)

    yield "scattered both ways", part(scattered_both_ways, (both, P("Y", None)), both)(placed[0], down)
    block = lambda a, up, down: scattered(jnp.maximum(gathered(a, up) - 50, 0), down)
    args = placed[0], placed[1], put(w.T, "Y", None, mesh=mesh)
    yield "a block that overlaps", part(block, (both, rows, P("Y", None)), both)(*args)
    plain = lambda a, up, down: jnp.maximum(a @ up - 50, 0) @ down
    yield "the block by jit", jit(plain, out_shardings=NamedSharding(mesh, both))(*args)
