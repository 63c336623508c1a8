"""Programs of every family of ops, as JAX prints them, run natively and compared with the results of JAX on one device.

    python ops.py SHARDC [NAME...]    names or patterns of programs, 'conv_*'; all without any

Each element may differ by as much as rounding can move it but for those in APART, integers not at all. Programs named sharded_* run on 8 devices, those
named tpu_* are what JAX prints for a TPU. Exit code 1 if any result differs.
"""
import fnmatch
import os
import subprocess
import sys
import tempfile

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

# What LAPACK does in another order, by as much as rounding moves that.
APART = {"hessenberg": ["--rtol", "1e-4", "--atol", "1e-3"], "tridiagonal": ["--rtol", "1e-4", "--atol", "1e-3"]}
# Of types that JAX has no code for on processors: the function of other types that gives the same.
SAME_AS = {"product_i4": lambda a, b: a @ b}
random = np.random.default_rng(7)


def floats(*shape):
    return random.standard_normal(shape, dtype=np.float32)


def integers(low, high, *shape, kind=np.int32):
    return random.integers(low, high, shape).astype(kind)


def spaced(n, is_symmetric=False):
    """A matrix whose eigenvalues and singular values are far apart, so that rounding doesn't turn their vectors."""
    left, right = (np.linalg.qr(random.standard_normal((n, n)))[0] for _ in range(2))
    return (left * np.arange(1, n + 1) @ (left.T if is_symmetric else right.T)).astype(np.float32)


def gradients(f):
    """The value of f, and its gradients with respect to all its arguments."""
    def both(*args):
        out, back = jax.vjp(f, *args)
        return out, *back(jnp.cos(jnp.arange(out.size, dtype=out.dtype)).reshape(out.shape))

    return both


def convolutions():
    def conv(x, w, layout=("NHWC", "HWIO", "NHWC"), strides=(1, 1), padding="SAME", **more):
        f = lambda x, w: lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=layout, **more)
        return gradients(f), x, w

    line = ("NWC", "WIO", "NWC")
    yield "conv_3x3", *conv(floats(2, 14, 15, 8), floats(3, 3, 8, 12))
    yield "conv_7x7_strided", *conv(floats(2, 21, 20, 3), floats(7, 7, 3, 16), strides=(2, 2))
    yield "conv_1x1", *conv(floats(2, 9, 9, 16), floats(1, 1, 16, 24))
    yield "conv_1x1_strided", *conv(floats(2, 9, 9, 16), floats(1, 1, 16, 24), strides=(2, 2))
    yield "conv_depthwise", *conv(floats(2, 12, 12, 16), floats(3, 3, 1, 16), feature_group_count=16)
    yield "conv_groups", *conv(floats(2, 12, 12, 16), floats(3, 3, 4, 32), feature_group_count=4)
    yield "conv_batch_groups", *conv(floats(6, 9, 9, 5), floats(3, 3, 5, 12), batch_group_count=3)
    yield "conv_rhs_dilated", *conv(floats(2, 16, 16, 4), floats(3, 3, 4, 8), rhs_dilation=(2, 3))
    yield "conv_lhs_dilated", *conv(floats(2, 9, 9, 4), floats(3, 3, 4, 8), lhs_dilation=(2, 2), padding=((1, 2), (2, 1)))
    yield "conv_negative_padding", *conv(
        floats(3, 40, 6), floats(5, 6, 7), line, (1,), ((-3, -2),), rhs_dilation=(2,))
    yield "conv_nchw", *conv(floats(2, 6, 11, 13), floats(8, 6, 3, 3), ("NCHW", "OIHW", "NCHW"))
    yield "conv_3d", *conv(floats(1, 7, 8, 9, 3), floats(3, 3, 3, 3, 5), ("NDHWC", "DHWIO", "NDHWC"), (1, 2, 1))
    yield "conv_bf16", lambda x, w: lax.conv_general_dilated(
        x.astype(jnp.bfloat16), w.astype(jnp.bfloat16), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
        preferred_element_type=jnp.float32), floats(2, 10, 10, 8), floats(3, 3, 8, 8)
    yield "conv_i8", lambda x, w: lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), preferred_element_type=jnp.int32), integers(
            -128, 128, 2, 10, 10, 8, kind=np.int8), integers(-128, 128, 3, 3, 8, 8, kind=np.int8)
    yield "conv_einsum_of_windows", lambda x, w: jnp.einsum(
        "btkd,kde->bte", jnp.stack([x[:, i:i + 30] for i in range(3)], 2), w), floats(2, 32, 8), floats(3, 8, 4)


def windows():
    pool = lambda start, op, window, strides, padding, **more: lambda x: lax.reduce_window(
        x, start, op, window, strides, padding, **more)
    yield "window_max", pool(-jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), floats(2, 13, 14, 5)
    yield "window_sum_wide", pool(0.0, lax.add, (9, 17), (1, 1), "SAME"), floats(40, 50)
    yield "window_dilated", pool(0.0, lax.add, (3, 2), (2, 1), ((1, 2), (0, 3)), base_dilation=(2, 3),
                                 window_dilation=(2, 1)), floats(9, 10)
    yield "window_max_gradient", jax.grad(lambda x: (lax.reduce_window(
        x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") ** 2).sum()), floats(2, 12, 13, 4)
    yield "window_mean_gradient", jax.grad(lambda x: (lax.reduce_window(
        x, 0.0, lax.add, (1, 2, 4, 1), (1, 2, 2, 1), "VALID") ** 2).sum()), floats(2, 12, 13, 4)
    yield "scan_cumsum", lambda x: jnp.cumsum(x, 0), floats(3000, 3)
    yield "scan_cumsum_reversed", lambda x: lax.cumsum(x, 1, reverse=True), floats(5, 1000)
    yield "scan_cumprod", lambda x: jnp.cumprod(1 + x / 100, 0), floats(500, 4)
    yield "scan_cummax", lambda x: lax.cummax(x, 0), floats(700, 3)
    yield "scan_cumlogsumexp", lambda x: lax.cumlogsumexp(x, 0), floats(300, 3)
    yield "scan_of_pairs", lambda a, b: lax.associative_scan(
        lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b)), floats(257, 3) / 2, floats(257, 3)
    yield "scan_of_integers", lambda x: jnp.cumsum(x), integers(-1000, 1000, 5000)


def sorts():
    mixed = floats(50, 40)
    mixed[::7, ::3], mixed[::5, 1::4], mixed[::5, 2::4], mixed[3] = np.nan, -0.0, 0.0, np.inf
    yield "sort_major_with_nan", lambda x: jnp.sort(x, 0), mixed
    yield "sort_two_keys", lambda a, b, c: lax.sort((a, b, c), num_keys=2), integers(0, 9, 3000), floats(3000), integers(
        0, 99, 3000)
    yield "sort_descending_stable", lambda x: jnp.argsort(x, descending=True, stable=True), integers(0, 50, 40, 300)
    yield "sort_bf16", lambda x: jnp.sort(x.astype(jnp.bfloat16)).astype(jnp.float32), floats(6, 500)
    yield "sort_complex", lambda a, b: jnp.sort(a + 1j * b), integers(0, 5, 300).astype(np.float32), floats(300)
    yield "top_k", lambda x: lax.top_k(x, 10), floats(6, 1000)
    yield "top_k_of_equals", lambda x: lax.top_k(x, 40), integers(0, 20, 4, 300)
    yield "approx_max_k", lambda x: jnp.sort(lax.approx_max_k(x, 8)[0]), floats(4, 256)
    yield "search_sorted", lambda a, v: jnp.searchsorted(jnp.sort(a), v), floats(500), floats(70)
    yield "median", lambda x: jnp.median(x, 1), floats(7, 101)


def indexed():
    to = integers(-3, 104, 400)
    for name, f in [("sum", jax.ops.segment_sum), ("prod", jax.ops.segment_prod), ("max", jax.ops.segment_max),
                    ("min", jax.ops.segment_min)]:
        yield "scatter_segment_" + name, lambda x, i, f=f: f(x, i, 100), floats(400, 6), to
    yield "scatter_sorted", lambda x, i: jax.ops.segment_sum(x, jnp.sort(i), 100, indices_are_sorted=True), floats(
        400, 6), to
    yield "scatter_windows", lambda x, u: x.at[2:7, 3:9].add(u).at[-4:, ::2].multiply(2.0), floats(20, 20), floats(5, 6)
    yield "scatter_set_many", lambda x, i, u: x.at[i].set(u, unique_indices=True), floats(50, 4), random.permutation(
        50)[:30].astype(np.int32), floats(30, 4)
    yield "scatter_out_of_bounds", lambda x, i, u: x.at[i, i].add(u, mode="drop"), floats(20, 20), integers(
        -40, 40, 60), floats(60)
    yield "scatter_embedding", jax.grad(lambda e, i: (e[i] ** 3).sum()), floats(70, 16), integers(0, 70, 30, 8)
    yield "scatter_integers", lambda x, i: x.at[i].max(i * 3), integers(0, 99, 40), integers(0, 40, 200)
    yield "gather_rows", lambda x, i: x[i], floats(60, 7), integers(-60, 60, 20, 3)
    yield "gather_pairs", lambda x, i, j: x[i, :, j], floats(12, 5, 13), integers(0, 12, 40), integers(0, 13, 40)
    yield "gather_along", lambda x, i: jnp.take_along_axis(x, i, 1), floats(9, 30), integers(0, 30, 9, 4)
    yield "gather_fill", lambda x, i: x.at[i].get(mode="fill", fill_value=-7.0), floats(30, 3), integers(-50, 50, 50)
    yield "dynamic_slices", lambda x, i: lax.dynamic_update_slice(
        x, lax.dynamic_slice(x, (i, i), (4, 5)) * 2, (i - 3, i + 30)), floats(30, 30), np.int32(9)


def linear_algebra():
    a, s, b = spaced(24), spaced(24, True), floats(24, 5)
    posed = s @ s.T / 100 + np.eye(24, dtype=np.float32)
    yield "cholesky", jnp.linalg.cholesky, posed
    yield "cholesky_batch_complex", lambda a, b: jnp.linalg.cholesky(
        jnp.einsum("bij,bkj->bik", a + 1j * b, a - 1j * b) + 9 * jnp.eye(8)), floats(3, 8, 8), floats(3, 8, 8)
    triangle = np.tril(floats(24, 24)) / 8 + 2 * np.eye(24, dtype=np.float32)
    for i in range(16):
        lower, left, trans, unit = (bool(i >> bit & 1) for bit in range(4))
        yield f"triangular_solve_{i:02}", lambda t, b, lower=lower, left=left, trans=trans, unit=unit: (
            lax.linalg.triangular_solve(t if lower else t.T, b if left else b.T, left_side=left, lower=lower, transpose_a=trans,
                                        unit_diagonal=unit)), triangle, b
    yield "qr", lambda a: jnp.linalg.qr(a), floats(30, 20)
    yield "qr_complete", lambda a: jnp.linalg.qr(a, mode="complete"), floats(20, 12)
    yield "lu", lambda a: jax.scipy.linalg.lu(a), a
    yield "inverse", jnp.linalg.inv, a
    yield "determinant", lambda a: jnp.linalg.slogdet(a), a
    yield "solve", jnp.linalg.solve, a, b
    yield "eigh_values", jnp.linalg.eigvalsh, s
    yield "eigh_product", lambda s: (lambda e: (e[1] * e[0]) @ e[1].T)(jnp.linalg.eigh(s)), s
    yield "svd_values", lambda a: jnp.linalg.svd(a, compute_uv=False), a
    yield "svd_product", lambda a: (lambda u, s, v: (u * s) @ v)(*jnp.linalg.svd(a, full_matrices=False)), floats(20, 30)
    yield "eig_values", lambda a: jnp.sort(jnp.abs(jnp.linalg.eigvals(a))), spaced(9)
    yield "hessenberg", lambda a: lax.linalg.hessenberg(a)[0], a
    yield "tridiagonal", lambda s: lax.linalg.tridiagonal(s)[1:3], s


def transforms():
    x, y = floats(5, 48), floats(5, 48)
    yield "fft", lambda x, y: jnp.fft.fft(x + 1j * y), x, y
    yield "fft_inverse", lambda x, y: jnp.fft.ifft2(x + 1j * y), x, y
    yield "fft_real", jnp.fft.rfft, floats(4, 51)
    yield "fft_real_inverse", lambda x, y: jnp.fft.irfft(x + 1j * y, 47), floats(3, 24), floats(3, 24)
    yield "fft_3d", lambda x: jnp.abs(jnp.fft.fftn(x)), floats(8, 9, 10)
    for algorithm in ["threefry2x32", "rbg"]:
        yield "random_" + algorithm, lambda seed, algorithm=algorithm: jax.random.bits(
            jax.random.key(seed, impl=algorithm), (300,)), np.uint32(5)
    yield "random_normal", lambda seed: jax.random.normal(jax.random.key(seed), (300,)), np.uint32(6)


def products():
    bf16, f16, i4 = jnp.bfloat16, jnp.float16, jnp.int4
    to = lambda kind, out=jnp.float32: lambda a, b: jnp.matmul(a.astype(kind), b.astype(kind), preferred_element_type=out)
    yield "product_f32", to(jnp.float32), floats(65, 70), floats(70, 33)
    yield "product_f64", lambda a, b: a @ b, floats(65, 70).astype(np.float64), floats(70, 33).astype(np.float64)
    yield "product_bf16", to(bf16), floats(65, 70), floats(70, 33)
    yield "product_bf16_to_bf16", to(bf16, bf16), floats(65, 70), floats(70, 33)
    yield "product_f16", to(f16), floats(65, 70), floats(70, 33)
    yield "product_f16_to_f16", to(f16, f16), floats(65, 70), floats(70, 33)
    yield "product_i8", to(jnp.int8, jnp.int32), integers(-128, 128, 65, 300), integers(-128, 128, 300, 33)
    yield "product_i4", to(i4, jnp.int32), integers(-8, 8, 65, 300), integers(-8, 8, 300, 33)
    yield "product_u8", to(jnp.uint8, jnp.uint32), integers(0, 256, 65, 300), integers(0, 256, 300, 33)
    for kind in [jnp.float8_e4m3fn, jnp.float8_e5m2]:
        yield f"product_{np.dtype(kind).name}", to(kind), floats(65, 70), floats(70, 33)
        yield f"convert_{np.dtype(kind).name}", lambda x, kind=kind: x.astype(kind).astype(jnp.float32), floats(4000) * 30
    yield "product_batched", lambda a, b: jnp.einsum("bij,bjk->bik", a, b), floats(40, 9, 11), floats(40, 11, 8)
    yield "product_strided", lambda a, b: jnp.einsum("ibj,kjb->kib", a, b), floats(30, 6, 20), floats(25, 20, 6)
    yield "product_complex", lambda a, b: (a + 1j * b) @ (b - 1j * a).T, floats(20, 30), floats(20, 30)
    yield "product_vector", lambda a, b: a @ b, floats(300, 200), floats(200)
    yield "product_ragged", lambda a, b: lax.ragged_dot(a, b, jnp.array([5, 0, 20, 15], jnp.int32)), floats(40, 12), floats(4, 12, 7)


def fused():
    norm = lambda x, g: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g
    attend = lambda q, k, v: jax.nn.softmax(jnp.where(
        jnp.tril(jnp.ones((24, 24), bool)), q @ k.swapaxes(-1, -2) / 4, -1e30), -1) @ v
    loss = lambda x, i: -jnp.take_along_axis(jax.nn.log_softmax(x), i[:, None], 1).mean()
    heads = lambda: floats(2, 3, 24, 16)
    yield "layer_norm", gradients(norm), floats(20, 64), floats(64)
    yield "softmax", gradients(jax.nn.softmax), floats(30, 70)
    yield "attention", gradients(attend), heads(), heads(), heads()
    yield "cross_entropy", lambda x, i: jax.value_and_grad(loss)(x, i), floats(40, 90), integers(0, 90, 40)
    yield "elementary", lambda x: [f(x) for f in [
        jnp.tan, jnp.tanh, jnp.sinh, jnp.cosh, jax.scipy.special.erfc, lax.digamma, jax.nn.sigmoid, jnp.cbrt,
        jnp.expm1, jnp.arctan, jnp.arcsinh, jnp.log1p]], np.abs(floats(500)) * 3 + 0.1
    yield "inverse_error_function", lax.erf_inv, random.uniform(-1, 1, 500).astype(np.float32)
    yield "logistic_far", jax.nn.sigmoid, np.linspace(-87, 20, 500, dtype=np.float32)
    yield "while_of_tuples", lambda x: lax.while_loop(
        lambda s: s[0] < 20, lambda s: (s[0] + 1, s[1] * 0.9 + jnp.sin(s[2]), s[1]), (jnp.int32(0), x, -x)), floats(30)
    yield "conditional", lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x * 2], x), np.int32(1), floats(30)


def on_tpus():
    a, s = floats(30, 20), spaced(16, True)
    yield "tpu_qr", lambda a: (lambda q, r: (q @ r, jnp.abs(r)))(*jnp.linalg.qr(a)), a
    yield "tpu_eigh", lambda s: (lambda e: (e[0], (e[1] * e[0]) @ e[1].T))(jnp.linalg.eigh(s)), s
    yield "tpu_approx_max_k", lambda x: lax.approx_max_k(x, 8, recall_target=1.0), floats(4, 256)
    yield "tpu_lu", lambda a: jax.scipy.linalg.lu(a), spaced(16)
    yield "tpu_cholesky", lambda s: jnp.linalg.cholesky(s @ s + jnp.eye(16)), s
    yield "tpu_svd", lambda s: jnp.linalg.svd(s, compute_uv=False), spaced(12)
    yield "tpu_top_k", lambda x: lax.top_k(x, 5), floats(6, 100)


def sharded():
    """With the axes of the mesh that shard each argument's dimensions."""
    image, kernel = floats(8, 16, 16, 4), floats(3, 3, 4, 8)
    conv = gradients(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    yield "sharded_conv", conv, [("x", "y"), ()], image, kernel
    yield "sharded_conv_features", conv, [("x",), (None, None, None, "y")], image, kernel
    yield "sharded_sort", lambda x: jnp.sort(x, 0), [("x", "y")], floats(64, 8)
    yield "sharded_cumsum", lambda x: jnp.cumsum(x, 0), [("x", "y")], floats(64, 8)
    yield "sharded_segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 40), [("x", "y"), ("x",)], floats(128, 8), integers(
        0, 40, 128)
    yield "sharded_top_k", lambda x: lax.top_k(x, 5), [("x", "y")], floats(8, 64)
    yield "sharded_fft", lambda x: jnp.fft.fft2(x).real, [("x", "y")], floats(16, 32)
    yield "sharded_softmax", jax.nn.softmax, [("x", "y")], floats(16, 64)
    yield "sharded_roll", lambda x: x - jnp.roll(x, 5, 0), [("x", "y")], floats(64, 8)
    yield "sharded_gather", lambda x, i: x[i], [("x", "y"), ("x",)], floats(64, 8), integers(0, 64, 32)
    yield "sharded_cholesky", lambda x: jnp.linalg.cholesky(x), [("x", "y")], (
        lambda a: a @ a.T / 16 + np.eye(16, dtype=np.float32))(floats(16, 16))


def programs():
    for family in [convolutions, windows, sorts, indexed, linear_algebra, transforms, products, fused, on_tpus, sharded]:
        yield from family()


def text_of(name, f, args):
    """The program, and its arguments."""
    if name.startswith("tpu_"):
        return jax.export.export(jax.jit(f), platforms=["tpu"])(*args).mlir_module(), args
    if not name.startswith("sharded_"):
        return jax.jit(f, keep_unused=True).lower(*args).as_text(), args
    mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    places = tuple(NamedSharding(mesh, P(*axes)) for axes in args[0])
    return jax.jit(f, in_shardings=places).lower(*args[1:]).as_text(), args[1:]


def store(path, arrays, prefix):
    bits = lambda a: a.view(f"V{a.itemsize}") if a.dtype.kind == "V" or a.dtype == ml_dtypes.bfloat16 else a
    np.savez(path, **{f"{prefix}{i}": bits(np.asarray(a)) for i, a in enumerate(arrays)})


def differs(shardc, folder, name, f, args):
    """What the program says if it doesn't give what JAX does."""
    program, inputs, expected = (os.path.join(folder, end) for end in ["program.mlir", "in.npz", "out.npz"])
    text, args = text_of(name, f, args)
    with open(program, "w") as file:
        file.write(text)
    store(inputs, jax.tree.leaves(args), "arg")
    store(expected, jax.tree.leaves(jax.jit(SAME_AS.get(name, f))(*args)), "out")
    command = [shardc, "run", program, "--inputs", inputs, "--expect", expected, *APART.get(name, [])]
    ran = subprocess.run(command, capture_output=True, text=True)
    return None if ran.returncode == 0 else ran.stdout + ran.stderr


def main(shardc, *names):
    jax.config.update("jax_enable_x64", False)
    wrong, count = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, f, *args in programs():
            if names and not any(fnmatch.fnmatch(name, wanted) for wanted in names):
                continue
            with jax.enable_x64("f64" in name):
                said = differs(shardc, folder, name, f, args)
            count += 1
            wrong += said is not None
            print(f"{name}: {'as JAX' if said is None else 'DIFFERS'}\n{said or ''}".strip(), flush=True)
    print(f"{count - wrong} of {count} as JAX")
    sys.exit(int(wrong > 0 or count == 0))


if __name__ == "__main__":
    main(*sys.argv[1:])
