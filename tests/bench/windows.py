"""Programs of convolutions, pooling and cumulative sums, as JAX prints them: one operation each, with the batch sharded
over the devices.

    python windows.py DIR [NAME...] [--devices N] [--batch N]    writes DIR/NAME.mlir; without names, all of PROGRAMS

`resnet_*` are the 20 distinct convolutions of ResNet-50 (He and others, 2015, strides in the first 1x1 convolution of a
block): forward, the gradient of the input, the gradient of the kernel.
"""
import argparse
import os

# (input size, input channels, output channels, kernel size, stride)
RESNET = [(224, 3, 64, 7, 2), (56, 64, 64, 1, 1), (56, 64, 64, 3, 1), (56, 64, 256, 1, 1), (56, 256, 64, 1, 1)]
for size, channels in [(56, 256), (28, 512), (14, 1024)]:
    inner = channels // 2
    RESNET += [
        (size, channels, inner, 1, 2),
        (size // 2, inner, inner, 3, 1),
        (size // 2, inner, 2 * channels, 1, 1),
        (size, channels, 2 * channels, 1, 2),
        (size // 2, 2 * channels, inner, 1, 1),
    ]
KINDS = ["forward", "input", "kernel"]
# name: (input shape without batch, kernel shape, strides, dilations of the kernel, feature groups, letters of dimensions)
OTHERS = {
    "conv_3x3": ((512, 512, 32), (3, 3, 32, 32), (1, 1), (1, 1), 1, ("NHWC", "HWIO", "NHWC")),
    "conv_3x3_nchw": ((64, 56, 56), (64, 64, 3, 3), (1, 1), (1, 1), 1, ("NCHW", "OIHW", "NCHW")),
    "conv_depthwise": ((112, 112, 64), (3, 3, 1, 64), (1, 1), (1, 1), 64, ("NHWC", "HWIO", "NHWC")),
    "conv_grouped": ((56, 56, 128), (3, 3, 4, 128), (1, 1), (1, 1), 32, ("NHWC", "HWIO", "NHWC")),
    "conv_1d_dilated": ((16384, 64), (3, 64, 64), (1,), (8,), 1, ("NWC", "WIO", "NWC")),
    "conv_3d": ((16, 56, 56, 32), (3, 3, 3, 32, 64), (1, 1, 1), (1, 1, 1), 1, ("NDHWC", "DHWIO", "NDHWC")),
}
POOLS = ["pool_max", "pool_avg", "pool_avg_5x5"]
SCANS = ["cumsum", "cumsum_rows", "cummax", "cumlogsumexp"]
PROGRAMS = (
    [f"resnet_{i:02}_{kind}" for i in range(len(RESNET)) for kind in KINDS]
    + [f"{name}_{kind}" for name in OTHERS for kind in KINDS]
    + POOLS
    + SCANS
)


def convolution(name, batch):
    """The function, and the shapes of its arguments, the sharded one first."""
    import jax

    what, kind = name.rsplit("_", 1)
    if what.startswith("resnet_"):
        size, inputs, outputs, window, stride = RESNET[int(what[7:])]
        shape, kernel = (size, size, inputs), (window, window, inputs, outputs)
        strides, dilations, groups, letters = (stride, stride), (1, 1), 1, ("NHWC", "HWIO", "NHWC")
    else:
        shape, kernel, strides, dilations, groups, letters = OTHERS[what]

    def forward(x, w):
        return jax.lax.conv_general_dilated(
            x, w, strides, "SAME", rhs_dilation=dilations, feature_group_count=groups, dimension_numbers=letters
        )

    x = jax.ShapeDtypeStruct((batch, *shape), "float32")
    w = jax.ShapeDtypeStruct(kernel, "float32")
    y = jax.eval_shape(forward, x, w)
    # A convolution is linear in each operand, so gradients need only the other one.
    if kind == "input":
        return lambda g, w: jax.linear_transpose(lambda x: forward(x, w), x)(g)[0], (y, w)
    if kind == "kernel":
        return lambda g, x: jax.linear_transpose(lambda w: forward(x, w), w)(g)[0], (y, x)
    return forward, (x, w)


def other(name, batch):
    """The same for the programs that aren't convolutions."""
    import jax
    import jax.numpy as jnp

    if name in POOLS:
        x = jax.ShapeDtypeStruct((batch, 112, 112, 64), "float32")
        if name == "pool_max":
            return lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), (x,)
        window, stride = (3, 2) if name == "pool_avg" else (5, 1)
        windows, strides = (1, window, window, 1), (1, stride, stride, 1)
        return lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, windows, strides, "SAME") / window**2, (x,)
    if name == "cumsum":
        return jnp.cumsum, (jax.ShapeDtypeStruct((1 << 24,), "float32"),)
    x = jax.ShapeDtypeStruct((4096, 1024), "float32")
    if name == "cumsum_rows":
        return lambda x: jnp.cumsum(x, axis=0), (x,)
    if name == "cummax":
        return lambda x: jax.lax.cummax(x, axis=1, reverse=True), (x,)
    return lambda x: jax.lax.cumlogsumexp(x, axis=1), (x,)


def text(name, devices, batch):
    """The StableHLO of a program."""
    import jax
    from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

    function, arguments = (other if name in POOLS + SCANS else convolution)(name, batch)
    if devices == 1:
        return jax.jit(function).lower(*arguments).as_text()
    mesh = jax.make_mesh((devices,), ("data",), axis_types=(AxisType.Auto,))
    sharded = [i == 0 or name.endswith("_kernel") for i in range(len(arguments))]
    places = [NamedSharding(mesh, P("data") if s else P()) for s in sharded]
    return jax.jit(function, in_shardings=places).lower(*arguments).as_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", default=PROGRAMS)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--batch", type=int, default=8)
    options = parser.parse_args()
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={options.devices}"
    os.makedirs(options.folder, exist_ok=True)
    for name in options.names:
        with open(os.path.join(options.folder, f"{name}.mlir"), "w") as file:
            file.write(text(name, options.devices, options.batch))


if __name__ == "__main__":
    main()
