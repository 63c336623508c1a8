"""Programs of one operation each, or of the few that belong together, as JAX prints them for one device, with inputs.

    python kernels.py DIR NAME...    writes DIR/NAME.mlir and DIR/NAME.npz; names as in kernels()
"""
import os
import sys

import numpy as np


def floats(*shape):
    return lambda random: random.standard_normal(shape, dtype=np.float32)


def positive(*shape):
    return lambda random: random.random(shape, dtype=np.float32)


def below(count, *shape):
    return lambda random: random.integers(0, count, shape, dtype=np.int32)


def definite(n):
    """A symmetric positive definite matrix."""
    def make(random):
        a = random.standard_normal((n, n), dtype=np.float32)
        return a @ a.T / n + np.eye(n, dtype=np.float32)

    return make


def spaced(n, is_symmetric):
    """A matrix whose eigenvalues or singular values are far apart, so that rounding doesn't turn their vectors."""
    def make(random):
        left, right = (np.linalg.qr(random.standard_normal((n, n)))[0] for _ in range(2))
        return (left * np.arange(1, n + 1) / n @ (left if is_symmetric else right).T).astype(np.float32)

    return make


def shrinking(n):
    """A matrix that makes vectors shorter, so that what is rounded in one step of a loop doesn't grow in the next."""
    return lambda random: (random.standard_normal((n, n)) * 0.3 / n**0.5).astype(np.float32)


# The layers of ResNet-50 that differ: pixels of a side, features in and out, pixels of a side of the window, stride.
RESNET = [
    (224, 3, 64, 7, 2),
    *[(56, 64, 64, 1, 1), (56, 64, 64, 3, 1), (56, 64, 256, 1, 1), (56, 256, 64, 1, 1)],
    *[(56, 256, 128, 1, 2), (28, 128, 128, 3, 1), (28, 128, 512, 1, 1), (56, 256, 512, 1, 2), (28, 512, 128, 1, 1)],
    *[(28, 512, 256, 1, 2), (14, 256, 256, 3, 1), (14, 256, 1024, 1, 1), (28, 512, 1024, 1, 2), (14, 1024, 256, 1, 1)],
    *[(14, 1024, 512, 1, 2), (7, 512, 512, 3, 1), (7, 512, 2048, 1, 1), (14, 1024, 2048, 1, 2), (7, 2048, 512, 1, 1)],
]


def resnet():
    """Each layer on a batch of 8, and its gradients with respect to the input and to the weights."""
    import jax

    table = {}
    for i, (side, features, more, window, stride) in enumerate(RESNET):
        def forward(x, w, stride=stride):
            return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

        x, w, y = (8, side, side, features), (window, window, features, more), (8, -(-side // stride), -(-side // stride), more)
        to_input = lambda w, dy, f=forward, x=x: jax.linear_transpose(lambda x: f(x, w), jax.ShapeDtypeStruct(x, dy.dtype))(dy)[0]
        to_weights = lambda x, dy, f=forward, w=w: jax.linear_transpose(lambda w: f(x, w), jax.ShapeDtypeStruct(w, dy.dtype))(dy)[0]
        table[f"resnet_{i:02}"] = (forward, [floats(*x), floats(*w)])
        table[f"resnet_{i:02}_input"] = (to_input, [floats(*w), floats(*y)])
        table[f"resnet_{i:02}_weights"] = (to_weights, [floats(*x), floats(*y)])
    return table


def kernels():
    """name: (function, makers of its arguments)"""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def conv(strides=(1, 1), padding="SAME", layout=("NHWC", "HWIO", "NHWC"), **more):
        def run(x, w):
            return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=layout, **more)

        return run

    def attention(q, k, v):
        scores = jnp.einsum("bqd,bkd->bqk", q, k) / q.shape[-1] ** 0.5
        mask = jnp.tril(jnp.ones(scores.shape[1:], bool))
        return jax.nn.softmax(jnp.where(mask, scores, -1e30)) @ v

    def norm(x, scale, bias):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-6) * scale + bias

    def rms_norm(x, scale):
        return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale

    def moments(x):
        return x.mean(-1), x.var(-1)

    def recurrence(x, w):
        return lax.scan(lambda x, _: (jnp.tanh(x @ w / 32), None), x, None, length=64)[0]

    def eigh(a):
        # A vector's sign is anyone's choice.
        values, vectors = jnp.linalg.eigh(a)
        return values, jnp.abs(vectors)

    def svd(a):
        left, values, right = jnp.linalg.svd(a, full_matrices=False)
        return jnp.abs(left), values, jnp.abs(right)

    def dense(x, w, b):
        return jax.nn.gelu(x @ w + b)

    def adam(p, g, m, v):
        """One step of each parameter: all first moments, all second ones, then the parameters, as optax does."""
        m = [0.9 * m + 0.1 * g for m, g in zip(m, g)]
        v = [0.999 * v + 0.001 * g * g for v, g in zip(v, g)]
        p = [p - 1e-3 * (m / 0.1) / (jnp.sqrt(v / 0.001) + 1e-8) for p, m, v in zip(p, m, v)]
        return p, m, v

    def cross_entropy(logits, labels):
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    def embedding(table, tokens):
        return (table[tokens] ** 2).sum()

    def scan(x, w):
        return lax.fori_loop(0, 1000, lambda i, x: jnp.tanh(x @ w) + 1.0, x)

    def pool(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")

    def chain(length):
        """Elementwise operations, no two neighbors alike."""
        draw = np.random.default_rng(length)
        drawn = [(int(draw.integers(8)), float(draw.uniform(0.5, 1.5))) for _ in range(length)]

        def run(x, y):
            for which, c in drawn:
                x = [
                    lambda: x + y, lambda: x * c, lambda: jnp.tanh(x), lambda: jnp.exp(jnp.minimum(x, 1.0)),
                    lambda: x - c, lambda: jnp.maximum(x, y), lambda: jax.nn.sigmoid(x), lambda: jnp.sin(x),
                ][which]()
            return x

        return run

    int8 = lambda *shape: lambda random: random.integers(-128, 128, shape, dtype=np.int8)
    return {
        "sort_4m": (jnp.sort, [floats(1 << 22)]),
        "sort_pairs": (lambda k, v: lax.sort((k, v), num_keys=1), [floats(4096, 65536), below(1 << 30, 4096, 65536)]),
        "argsort_4m": (jnp.argsort, [floats(1 << 22)]),
        "top_k": (lambda x: lax.top_k(x, 64), [floats(64, 32768)]),
        "segment_sum": (lambda x, i: jax.ops.segment_sum(x, i, 65536), [floats(1 << 20, 64), below(65536, 1 << 20)]),
        "embedding_gradient": (jax.grad(embedding), [floats(131072, 256), below(131072, 262144)]),
        "gather_rows": (lambda t, i: t[i], [floats(131072, 256), below(131072, 262144)]),
        "cumsum_16m": (jnp.cumsum, [floats(1 << 24)]),
        "fft_1m": (lambda x: jnp.abs(jnp.fft.fft(x)), [floats(1 << 20)]),
        "fft_256_cubed": (lambda x: jnp.abs(jnp.fft.fftn(x)), [floats(256, 256, 256)]),
        "cholesky_2048": (jnp.linalg.cholesky, [definite(2048)]),
        "cholesky_batch": (jnp.linalg.cholesky, [lambda random: np.stack([definite(64)(random)] * 256)]),
        "qr_1024": (lambda a: jnp.linalg.qr(a), [floats(1024, 1024)]),
        "solve_1024": (jnp.linalg.solve, [floats(1024, 1024), floats(1024, 8)]),
        "eigh_512": (eigh, [spaced(512, True)]),
        "svd_512": (svd, [spaced(512, False)]),
        "conv_3x3": (conv(), [floats(8, 512, 512, 32), floats(3, 3, 32, 32)]),
        "conv_depthwise": (conv(feature_group_count=128), [floats(8, 112, 112, 128), floats(3, 3, 1, 128)]),
        "conv_1d_dilated": (
            conv((1,), layout=("NWC", "WIO", "NWC"), rhs_dilation=(8,)),
            [floats(8, 16384, 64), floats(3, 64, 64)],
        ),
        "conv_3d": (
            conv((1, 1, 1), layout=("NDHWC", "DHWIO", "NDHWC")),
            [floats(2, 32, 64, 64, 16), floats(3, 3, 3, 16, 32)],
        ),
        "max_pool": (pool, [floats(8, 112, 112, 64)]),
        "max_pool_gradient": (jax.grad(lambda x: pool(x).sum()), [floats(8, 112, 112, 64)]),
        "layer_norm": (norm, [floats(8192, 1024), floats(1024), floats(1024)]),
        "rms_norm": (rms_norm, [floats(8192, 1024), floats(1024)]),
        "softmax": (jax.nn.softmax, [floats(8192, 4096)]),
        "attention": (attention, [floats(8, 1024, 64)] * 3),
        "cross_entropy": (cross_entropy, [floats(8192, 32768), below(32768, 8192)]),
        "cross_entropy_gradient": (jax.grad(cross_entropy), [floats(8192, 32768), below(32768, 8192)]),
        "moments": (moments, [floats(8192, 4096)]),
        "dense_gelu": (dense, [floats(2048, 512), floats(512, 2048), floats(2048)]),
        "adam": (
            lambda *of: adam(of[:3], of[3:6], of[6:9], of[9:]), [*[floats(2048, 2048)] * 9, *[positive(2048, 2048)] * 3],
        ),
        "matmul_i8": (
            lambda x, y: lax.dot(x, y, preferred_element_type=jnp.int32), [int8(1024, 1024), int8(1024, 1024)],
        ),
        "matmul_bf16": (
            lambda x, y: (x.astype(jnp.bfloat16) @ y.astype(jnp.bfloat16)).astype(jnp.float32), [floats(1024, 1024)] * 2,
        ),
        "matmul_small": (lambda x, y: jnp.einsum("bij,bjk->bik", x, y), [floats(256, 64, 64)] * 2),
        "matmul_row": (lambda x, y: x @ y, [floats(1, 4096), floats(4096, 4096)]),
        "matmul_rows": (lambda x, y: x @ y, [floats(16, 4096), floats(4096, 4096)]),
        "matmul_rows_turned": (lambda x, y: x @ y.T, [floats(8, 4096), floats(4096, 4096)]),
        "matmul": (lambda x, y: x @ y, [floats(2048, 2048)] * 2),
        "elementwise": (lambda x, y: x * y + 1.0, [floats(1 << 24)] * 2),
        "chain_10": (chain(10), [floats(128, 1024)] * 2),
        "chain_100": (chain(100), [floats(128, 1024)] * 2),
        "chain_1000": (chain(1000), [floats(128, 1024)] * 2),
        "loop": (scan, [floats(8, 64), shrinking(64)]),
        "recurrence": (recurrence, [floats(64, 512), floats(512, 512)]),
        "recurrence_gradient": (jax.grad(lambda x, w: recurrence(x, w).sum(), (0, 1)), [floats(64, 512), floats(512, 512)]),
    } | resnet()


def is_measured_always(name):
    """Not what takes as long as the rest together: that is measured when it is named."""
    return name != "sort_pairs" and not name.startswith("resnet")


def write(folder, names):
    import jax

    table = kernels()
    for name in names:
        function, makers = table[name]
        random = np.random.default_rng(0)
        inputs = [make(random) for make in makers]
        text = jax.jit(function).lower(*[jax.ShapeDtypeStruct(x.shape, x.dtype) for x in inputs]).as_text()
        with open(os.path.join(folder, name + ".mlir"), "w") as file:
            file.write(text)
        np.savez(os.path.join(folder, name + ".npz"), **{f"arg{i}": x for i, x in enumerate(inputs)})


def names():
    return list(kernels())


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    write(sys.argv[1], sys.argv[2:] or filter(is_measured_always, names()))
