"""Exact values of elementary and special functions, by ball arithmetic of 300 bits (Arb).

Reads one JSON object a line, {"function", "x", "y"}, whose numbers are f64 as hexadecimal bytes, and prints
{"high", "low"} in the same form: each exact value is the sum of two f64, infinite where it overflows, and NaN where the
library knows none: at infinities, poles and where a result has more than 300 bits before its first digit.
"""

import json
import math
import sys

import numpy as np
from flint import arb, ctx

ctx.prec = 300
ONE = arb(1)


def lgamma(x):
    if x > 0:
        return x.lgamma()
    if float(x).is_integer():
        return arb("inf")
    return (arb.pi() / abs(x * x.sin_pi())).log() - (-x).lgamma()


def bessel_i1e(x):
    return (-abs(x)).exp() * x.bessel_i(ONE)


FUNCTIONS = {
    "exponential": arb.exp,
    "exponential_minus_one": arb.expm1,
    "log": arb.log,
    "log_plus_one": arb.log1p,
    "logistic": lambda x: ONE / (ONE + (-x).exp()),
    "tanh": arb.tanh,
    "tan": arb.tan,
    "sine": arb.sin,
    "cosine": arb.cos,
    "sqrt": arb.sqrt,
    "rsqrt": arb.rsqrt,
    "cbrt": lambda x: x.root(3) if x > 0 else -(-x).root(3) if x < 0 else x,
    "asin": arb.asin,
    "acos": arb.acos,
    "atan": arb.atan,
    "asinh": arb.asinh,
    "acosh": arb.acosh,
    "atanh": arb.atanh,
    "sinh": arb.sinh,
    "cosh": arb.cosh,
    "erf": arb.erf,
    "erfc": arb.erfc,
    "erf_inv": arb.erfinv,
    "lgamma": lgamma,
    "digamma": lambda x: x.digamma(),
    "bessel_i1e": bessel_i1e,
    "power": lambda x, y: x**y,
    "atan2": lambda x, y: arb.atan2(x, y),
}


def split(value):
    if not value.is_finite() or (value.rel_accuracy_bits() < 120 and not value.is_zero()):
        return (math.inf, 0.0) if value == arb("inf") else (math.nan, 0.0)
    middle = value.mid()
    try:
        high = float(middle)
    except OverflowError:
        high = math.inf if middle > 0 else -math.inf
    return (high, float(middle - arb(high))) if math.isfinite(high) else (high, 0.0)


def exact(function, numbers):
    if not all(map(math.isfinite, numbers)):
        return (math.nan, 0.0)
    return split(function(*map(arb, numbers)))


for line in sys.stdin:
    case = json.loads(line)
    columns = [np.frombuffer(bytes.fromhex(case[key]), np.float64).tolist() for key in ("x", "y") if key in case]
    function = FUNCTIONS[case["function"]]
    values = np.array([exact(function, numbers) for numbers in zip(*columns)]).reshape(-1, 2)
    high, low = (np.ascontiguousarray(values[:, part]).tobytes().hex() for part in (0, 1))
    print(json.dumps({"high": high, "low": low}), flush=True)
