"""Programs that say what arithmetic of narrow floating-point types gives, rounded once from the exact result, as ml_dtypes rounds.

Prints one JSON object a line: {"name", "program"}; `check` ops inside the programs hold the expected values.
"""

import json
import warnings

import ml_dtypes
import numpy as np

warnings.filterwarnings("ignore")

TYPES = {
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
}
PATTERNS = {"f4E2M1FN": 16, "f6E2M3FN": 64, "f6E3M2FN": 64}

# Exact in float64 up to a rounding far finer than any of these types, so that rounding again does no harm.
BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


def dense(values, name):
    return f'dense<"0x{values.tobytes().hex().upper()}"> : tensor<{values.size}x{name}>'


def program(name, constants, op, expected, element):
    lines = [f"  %{i} = stablehlo.constant {c}" for i, c in enumerate(constants)]
    lines += [f"  %r = {op}", f"  check.expect_eq_const %r, {dense(expected, element)}", "  return"]
    print(json.dumps({"name": name, "program": "func.func @main() {\n" + "\n".join(lines) + "\n}\n"}))


random = np.random.default_rng(0)
for element, dtype in TYPES.items():
    if np.dtype(dtype).itemsize == 2:
        values = random.integers(0, 1 << 16, 150).astype(np.uint16).view(dtype)
    else:
        values = np.arange(PATTERNS.get(element, 256), dtype=np.uint8).view(dtype)
    lhs, rhs = (side.reshape(-1) for side in np.meshgrid(values, values, indexing="ij"))
    wide = lhs.astype(np.float64), rhs.astype(np.float64)
    for op, f in BINARY.items():
        text = f"stablehlo.{op} %0, %1 : tensor<{lhs.size}x{element}>"
        program(f"{op} {element}", [dense(lhs, element), dense(rhs, element)], text, f(*wide).astype(dtype), element)
    # Any float, floats near these values, and the middles between them.
    floats = np.concatenate([
        random.integers(0, 1 << 32, 4000, dtype=np.uint32).view(np.float32),
        (random.standard_normal(4000) * 3).astype(np.float32),
        (wide[0] / 2 + wide[1] / 2).astype(np.float32),
    ])
    text = f"stablehlo.convert %0 : (tensor<{floats.size}xf32>) -> tensor<{floats.size}x{element}>"
    program(f"convert {element}", [dense(floats, "f32")], text, floats.astype(np.float64).astype(dtype), element)
