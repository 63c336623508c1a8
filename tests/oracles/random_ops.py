"""Ops of the random programs, beyond the plain ones: each method puts one op, and what it needs, into a block."""
import math

UNARY = ["abs", "cbrt", "ceil", "cosine", "exponential_minus_one", "floor", "log", "log_plus_one", "logistic",
         "round_nearest_afz", "round_nearest_even", "rsqrt", "sign", "sqrt", "tan"]
BINARY = ["subtract", "divide", "minimum", "power", "remainder", "atan2"]
INTEGER_UNARY = ["not", "popcnt", "count_leading_zeros", "sign", "negate", "abs"]
INTEGER_BINARY = ["and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical", "add", "divide"]
POINTWISE_CALLS = ["annotate_device_placement", "MoveToDevice", "MoveToHost", "LayoutConstraint", "mhlo.erf",
                   "X64SplitHigh", "CompactWyHelper", "InspectSharding", "xla.megascale.provide_metadata"]
UNRULED_CALLS = ["some_target", "tpu_custom_call", "xla_ffi_python_cpu_callback", "xla.debug.Log"]


def ty(shape, kind="f32"):
    return "tensor<" + "x".join([*map(str, shape), kind]) + ">"


def array(values, kind="i64"):
    values = list(values)
    return f"array<{kind}: {', '.join(map(str, values))}>" if values else f"array<{kind}>"


def dense(rows, shape):
    return f"dense<{rows}> : tensor<{'x'.join(map(str, shape))}xi64>"


def combiner(make, kind="f32", name="stablehlo.add", count=1):
    """A region that combines `count` pairs of scalars of `kind`."""
    left, right, out = [[make() for _ in range(count)] for _ in range(3)]
    heads = ", ".join(f"{v}: tensor<{kind}>" for v in left + right)
    lines = " ".join(f"{o} = {name} {a}, {b} : tensor<{kind}>" for a, b, o in zip(left, right, out))
    types = ", ".join([f"tensor<{kind}>"] * count)
    return f'({{ ^bb0({heads}): {lines} "stablehlo.return"({", ".join(out)}) : ({types}) -> () }})'


class Ops:
    """Needs fresh, pick, give, constant, sharding of the program."""

    def emit(self, s, name, operands, results, attributes="", region="", tail="", own=True):
        """An op of (value, type) operands and result types in the generic form; gives the names of the results."""
        names = [self.fresh() for _ in results] if len(results) < 2 else None
        head = f"{names[0]} = " if results and names else ""
        if names is None:
            base = self.fresh()
            head, names = f"{base}:{len(results)} = ", [f"{base}#{i}" for i in range(len(results))]
        extra = [tail] if tail else []
        if own and results and self.r.random() < 0.06 and all(t.startswith("tensor") for t in results):
            shapes = [t[7:-1].split("x")[:-1] for t in results]
            shardings = ", ".join(self.sharding([int(n) for n in shape]) for shape in shapes)
            extra.append(f"sdy.sharding = #sdy.sharding_per_value<[{shardings}]>")
        dictionary = " {" + ", ".join(extra) + "}" if extra else ""
        types = f"({', '.join(t for _, t in operands)}) -> " + (results[0] if len(results) == 1 else f"({', '.join(results)})")
        s.put(f'{head}"{name}"({", ".join(v for v, _ in operands)}) {attributes} {region}{dictionary} : {types}')
        return names

    def convert(self, s, value, shape, source, target):
        [name] = self.emit(s, "stablehlo.convert", [(value, ty(shape, source))], [ty(shape, target)])
        return name

    def more_unary(self, s):
        v, shape = self.pick(s)
        if self.r.random() < 0.15:
            name = self.emit(s, "stablehlo.reduce_precision", [(v, ty(shape))], [ty(shape)],
                             "<{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}>")[0]
        else:
            name = self.emit(s, "stablehlo." + self.r.choice(UNARY), [(v, ty(shape))], [ty(shape)])[0]
        self.give(s, name, shape)

    def more_binary(self, s):
        v, shape = self.pick(s)
        w, _ = self.pick(s, lambda other: other == shape)
        self.give(s, self.emit(s, "stablehlo." + self.r.choice(BINARY), [(v, ty(shape)), (w, ty(shape))], [ty(shape)])[0], shape)

    def integers(self, s):
        v, shape = self.pick(s)
        kind = self.r.choice(["i32", "i64", "ui8"])
        a = self.convert(s, v, shape, "f32", kind)
        if self.r.random() < 0.5:
            names = INTEGER_UNARY if kind != "ui8" else INTEGER_UNARY[:3]
            [out] = self.emit(s, "stablehlo." + self.r.choice(names), [(a, ty(shape, kind))], [ty(shape, kind)])
        else:
            w, _ = self.pick(s, lambda other: other == shape)
            b = self.convert(s, w, shape, "f32", kind)
            [out] = self.emit(s, "stablehlo." + self.r.choice(INTEGER_BINARY), [(a, ty(shape, kind)), (b, ty(shape, kind))], [ty(shape, kind)])
        self.give(s, self.convert(s, out, shape, kind, "f32"), shape)

    def predicates(self, s):
        v, shape = self.pick(s)
        [p] = self.emit(s, "stablehlo.is_finite", [(v, ty(shape))], [ty(shape, "i1")])
        w, _ = self.pick(s, lambda other: other == shape)
        scalar = self.r.random() < 0.3
        if scalar:
            p = self.constant(s, (), "i1", "true")
        [out] = self.emit(s, "stablehlo.select", [(p, ty(() if scalar else shape, "i1")), (v, ty(shape)), (w, ty(shape))], [ty(shape)])
        self.give(s, out, shape)

    def clamp(self, s):
        v, shape = self.pick(s)
        bounds = []
        for _ in range(2):
            if self.r.random() < 0.5:
                bounds.append((self.constant(s, ()), ty(())))
            else:
                bounds.append((self.pick(s, lambda other: other == shape)[0], ty(shape)))
        if bounds[0][1] != bounds[1][1]:
            bounds[1] = bounds[0]
        self.give(s, self.emit(s, "stablehlo.clamp", [bounds[0], (v, ty(shape)), bounds[1]], [ty(shape)])[0], shape)

    def complexes(self, s):
        v, shape = self.pick(s)
        w, _ = self.pick(s, lambda other: other == shape)
        kind = "complex<f32>"
        [c] = self.emit(s, "stablehlo.complex", [(v, ty(shape)), (w, ty(shape))], [ty(shape, kind)], own=False)
        if shape and self.r.random() < 0.6:
            count = self.r.randint(1, min(2, len(shape)))
            fft = self.r.choice(["FFT", "IFFT"])
            [c] = self.emit(s, "stablehlo.fft", [(c, ty(shape, kind))], [ty(shape, kind)],
                            f"<{{fft_length = {array(shape[len(shape) - count:])}, fft_type = #stablehlo<fft_type {fft}>}}>", own=False)
        part = self.r.choice(["real", "imag"])
        self.give(s, self.emit(s, f"stablehlo.{part}", [(c, ty(shape, kind))], [ty(shape)])[0], shape)

    def real_fft(self, s):
        found = self.pick(s, lambda shape: len(shape) >= 1 and shape[-1] % 2 == 0)
        if found is None:
            return
        v, shape = found
        half = (*shape[:-1], shape[-1] // 2 + 1)
        kind = "complex<f32>"
        length = f"fft_length = {array([shape[-1]])}"
        [c] = self.emit(s, "stablehlo.fft", [(v, ty(shape))], [ty(half, kind)], f"<{{{length}, fft_type = #stablehlo<fft_type RFFT>}}>", own=False)
        if self.r.random() < 0.5:
            self.give(s, self.emit(s, "stablehlo.real", [(c, ty(half, kind))], [ty(half)])[0], half)
        else:
            self.give(s, self.emit(s, "stablehlo.fft", [(c, ty(half, kind))], [ty(shape)], f"<{{{length}, fft_type = #stablehlo<fft_type IRFFT>}}>")[0], shape)

    def bitcast(self, s):
        v, shape = self.pick(s)
        if self.r.random() < 0.5 or len(shape) > 3:
            [i] = self.emit(s, "stablehlo.bitcast_convert", [(v, ty(shape))], [ty(shape, "i32")])
            self.give(s, self.emit(s, "stablehlo.bitcast_convert", [(i, ty(shape, "i32"))], [ty(shape)])[0], shape)
            return
        wide = (*shape, 2)
        [i] = self.emit(s, "stablehlo.bitcast_convert", [(v, ty(shape))], [ty(wide, "i16")])
        if self.r.random() < 0.5:
            self.give(s, self.convert(s, i, wide, "i16", "f32"), wide)
        else:
            self.give(s, self.emit(s, "stablehlo.bitcast_convert", [(i, ty(wide, "i16"))], [ty(shape)])[0], shape)

    def narrow(self, s):
        v, shape = self.pick(s)
        kind = self.r.choice(["bf16", "f16", "f64", "i8"])
        self.give(s, self.convert(s, self.convert(s, v, shape, "f32", kind), shape, kind, "f32"), shape)

    # Contractions and windows ----------------------------------------------------------------------------------

    def plain_dot(self, s):
        a = self.pick(s, lambda shape: 1 <= len(shape) <= 2)
        b = a and self.pick(s, lambda shape: 1 <= len(shape) <= 2 and shape[0] == a[1][-1])
        if not b:
            return
        shape = (*a[1][:-1], *b[1][1:])
        self.give(s, self.emit(s, "stablehlo.dot", [(a[0], ty(a[1])), (b[0], ty(b[1]))], [ty(shape)])[0], shape)

    def double_contraction(self, s):
        a = self.pick(s, lambda shape: len(shape) >= 2)
        b = a and self.pick(s, lambda shape: shape == a[1])
        if not b:
            return
        dims = sorted(self.r.sample(range(len(a[1])), 2))
        batch = [d for d in range(len(a[1])) if d not in dims and self.r.random() < 0.5]
        free = [n for d, n in enumerate(a[1]) if d not in dims and d not in batch]
        shape = tuple([a[1][d] for d in batch] + free + free)
        if len(shape) > 4:
            return
        numbers = (f"#stablehlo.dot<lhs_batching_dimensions = {batch}, rhs_batching_dimensions = {batch}, "
                   f"lhs_contracting_dimensions = {dims}, rhs_contracting_dimensions = {dims}>")
        self.give(s, self.emit(s, "stablehlo.dot_general", [(a[0], ty(a[1])), (b[0], ty(b[1]))], [ty(shape)], f"<{{dot_dimension_numbers = {numbers}}}>")[0], shape)

    def convolution(self, s):
        """Any value of three or four dimensions as batch, spatial and features; the kernel is made or found."""
        found = self.pick(s, lambda shape: 3 <= len(shape) <= 4)
        if found is None:
            return
        v, shape = found
        spatial = len(shape) - 2
        groups, batches, features, batch = 1, 1, shape[-1], shape[0]
        if self.r.random() < 0.3:
            groups = self.r.choice([g for g in (1, 2, 3, 4, 8) if features % g == 0])
        elif self.r.random() < 0.2:
            batches = self.r.choice([g for g in (1, 2, 4) if batch % g == 0])
        out = self.r.choice([1, 2, 3]) * groups * batches
        if self.r.random() < 0.4 and 8 % (groups * batches) == 0:
            out = 8
        window = [self.r.choice([1, 2, 3, n]) for n in shape[1:-1]]
        window = [min(w, n) for w, n in zip(window, shape[1:-1])]
        kernel = (*window, features // groups, out)
        w = self.pick(s, lambda other: other == kernel)
        if w is None:
            w = (self.made(s, kernel), kernel)
        strides = [self.r.choice([1, 1, 2]) for _ in window]
        padding = [[self.r.choice([0, 0, 1]), self.r.choice([0, 0, 1])] for _ in window]
        if self.r.random() < 0.4:
            padding = [[(k - 1) // 2, k // 2] for k in window]
            strides = [1] * spatial
        dilation = [self.r.choice([1, 1, 1, 2]) for _ in window]
        rhs_dilation = [self.r.choice([1, 1, 1, 2]) if k > 1 else 1 for k in window]
        sizes = []
        for n, k, st, (lo, hi), ld, rd in zip(shape[1:-1], window, strides, padding, dilation, rhs_dilation):
            padded, reach = (n - 1) * ld + 1 + lo + hi, (k - 1) * rd + 1
            if padded < reach:
                return
            sizes.append((padded - reach) // st + 1)
        result = (batch // batches, *sizes, out)
        names = ", ".join(str(i) for i in range(spatial))
        numbers = f"#stablehlo.conv<[b, {names}, f]x[{names}, i, o]->[b, {names}, f]>"
        attributes = (f"<{{window_strides = {array(strides)}, padding = {dense(padding, (spatial, 2))}, lhs_dilation = {array(dilation)}, "
                      f"rhs_dilation = {array(rhs_dilation)}, dimension_numbers = {numbers}, feature_group_count = {groups} : i64, "
                      f"batch_group_count = {batches} : i64}}>")
        self.give(s, self.emit(s, "stablehlo.convolution", [(v, ty(shape)), (w[0], ty(kernel))], [ty(result)], attributes)[0], result)

    def made(self, s, shape):
        """A new value of a shape, out of what there is: a constant, or a scalar spread out."""
        scalar = self.pick(s, lambda other: other == ())
        if scalar is None or self.r.random() < 0.5:
            return self.constant(s, shape)
        return self.emit(s, "stablehlo.broadcast_in_dim", [(scalar[0], ty(()))], [ty(shape)], "<{broadcast_dimensions = array<i64>}>")[0]

    def window_of(self, shape):
        window, strides, padding, sizes = [], [], [], []
        for n in shape:
            k = self.r.choice([1, 1, 2, min(3, n), n])
            k = min(k, n)
            st = self.r.choice([1, k, 1, 2])
            lo, hi = (0, 0) if k == 1 or self.r.random() < 0.6 else ((k - 1) // 2, k // 2)
            window.append(k)
            strides.append(st)
            padding.append([lo, hi])
            sizes.append((n + lo + hi - k) // st + 1)
        return window, strides, padding, tuple(sizes)

    def reduce_window(self, s):
        found = self.pick(s, lambda shape: len(shape) >= 1)
        if found is None:
            return
        v, shape = found
        window, strides, padding, sizes = self.window_of(shape)
        count = 2 if self.r.random() < 0.2 else 1
        zeros = [(self.constant(s, ()), ty(())) for _ in range(count)]
        attributes = (f"<{{window_dimensions = {array(window)}, window_strides = {array(strides)}, "
                      f"padding = {dense(padding, (len(shape), 2))}}}>")
        operands = [(v, ty(shape))] + [(self.pick(s, lambda other: other == shape)[0], ty(shape)) for _ in range(count - 1)]
        names = self.emit(s, "stablehlo.reduce_window", operands + zeros, [ty(sizes)] * count, attributes, combiner(self.fresh, count=count))
        for name in names:
            self.give(s, name, sizes)

    def select_and_scatter(self, s):
        found = self.pick(s, lambda shape: len(shape) >= 1)
        if found is None:
            return
        v, shape = found
        window, strides, padding, sizes = self.window_of(shape)
        source = self.pick(s, lambda other: other == sizes)
        source = source[0] if source else self.made(s, sizes)
        zero = self.constant(s, ())
        a, b, c = self.fresh(), self.fresh(), self.fresh()
        select = (f'{{ ^bb0({a}: tensor<f32>, {b}: tensor<f32>): {c} = stablehlo.compare GE, {a}, {b} : '
                  f'(tensor<f32>, tensor<f32>) -> tensor<i1> "stablehlo.return"({c}) : (tensor<i1>) -> () }}')
        region = "(" + select + ", " + combiner(self.fresh)[1:]
        attributes = (f"<{{window_dimensions = {array(window)}, window_strides = {array(strides)}, "
                      f"padding = {dense(padding, (len(shape), 2))}}}>")
        operands = [(v, ty(shape)), (source, ty(sizes)), (zero, ty(()))]
        self.give(s, self.emit(s, "stablehlo.select_and_scatter", operands, [ty(shape)], attributes, region)[0], shape)

    def variadic_reduce(self, s):
        found = self.pick(s, lambda shape: len(shape) >= 1)
        if found is None:
            return
        v, shape = found
        w, _ = self.pick(s, lambda other: other == shape)
        dims = sorted(self.r.sample(range(len(shape)), self.r.randint(1, len(shape))))
        out = tuple(n for d, n in enumerate(shape) if d not in dims)
        zeros = [(self.constant(s, ()), ty(())) for _ in range(2)]
        names = self.emit(s, "stablehlo.reduce", [(v, ty(shape)), (w, ty(shape)), *zeros], [ty(out)] * 2,
                          f"<{{dimensions = {array(dims)}}}>", combiner(self.fresh, count=2, name=self.r.choice(["stablehlo.maximum", "stablehlo.add"])))
        for name in names:
            if self.r.random() < 0.8:
                self.give(s, name, out)

    def variadic_sort(self, s):
        found = self.pick(s, lambda shape: len(shape) >= 1)
        if found is None:
            return
        v, shape = found
        w, _ = self.pick(s, lambda other: other == shape)
        a, b, c, d, e = (self.fresh() for _ in range(5))
        region = (f'({{ ^bb0({a}: tensor<f32>, {b}: tensor<f32>, {c}: tensor<f32>, {d}: tensor<f32>): {e} = stablehlo.compare LT, {a}, {b} : '
                  f'(tensor<f32>, tensor<f32>) -> tensor<i1> "stablehlo.return"({e}) : (tensor<i1>) -> () }})')
        names = self.emit(s, "stablehlo.sort", [(v, ty(shape)), (w, ty(shape))], [ty(shape)] * 2,
                          f"<{{dimension = {self.r.randrange(len(shape))} : i64, is_stable = true}}>", region)
        for name in names:
            self.give(s, name, shape)

    def pointwise_rule(self, shape, operands):
        """The rule of an elementwise op, for ops that Shardy knows nothing of."""
        factors = f"[{', '.join('ijklmnop'[:len(shape)])}]"
        sizes = ", ".join(f"{f}={n}" for f, n in zip("ijklmnop", shape))
        return f"sdy.sharding_rule = #sdy.op_sharding_rule<({', '.join([factors] * operands)})->({factors}) {{{sizes}}}, custom>"

    def map(self, s):
        v, shape = self.pick(s)
        w, _ = self.pick(s, lambda other: other == shape)
        a, b, c = self.fresh(), self.fresh(), self.fresh()
        region = (f'({{ ^bb0({a}: tensor<f32>, {b}: tensor<f32>): {c} = stablehlo.add {a}, {b} : tensor<f32> '
                  f'"stablehlo.return"({c}) : (tensor<f32>) -> () }})')
        self.give(s, self.emit(s, "stablehlo.map", [(v, ty(shape)), (w, ty(shape))], [ty(shape)],
                  f"<{{dimensions = {array(range(len(shape)))}}}>", region, self.pointwise_rule(shape, 2))[0], shape)

    # Shapes ----------------------------------------------------------------------------------------------------

    def strided_slice(self, s):
        found = self.pick(s, lambda shape: len(shape) >= 1)
        if found is None:
            return
        v, shape = found
        start, limit, stride, out = [], [], [], []
        for n in shape:
            a = self.r.choice([0, 0, self.r.randrange(n)])
            b = self.r.choice([n, self.r.randint(a + 1, n)])
            st = self.r.choice([1, 1, 2])
            start.append(a), limit.append(b), stride.append(st), out.append((b - a + st - 1) // st)
        self.give(s, self.emit(s, "stablehlo.slice", [(v, ty(shape))], [ty(out)],
                  f"<{{start_indices = {array(start)}, limit_indices = {array(limit)}, strides = {array(stride)}}}>")[0], out)

    def any_pad(self, s):
        found = self.pick(s, lambda shape: len(shape) >= 1)
        if found is None:
            return
        v, shape = found
        low = [self.r.choice([0, 0, -1, 2]) for _ in shape]
        high = [self.r.choice([0, 0, -1, 1]) for _ in shape]
        inside = [self.r.choice([0, 0, 0, 1]) for _ in shape]
        out = [n + a + b + (n - 1) * i for n, a, b, i in zip(shape, low, high, inside)]
        if min(out) < 1:
            return
        zero = self.constant(s, ())
        self.give(s, self.emit(s, "stablehlo.pad", [(v, ty(shape)), (zero, ty(()))], [ty(out)],
                  f"<{{edge_padding_low = {array(low)}, edge_padding_high = {array(high)}, interior_padding = {array(inside)}}}>")[0], out)

    def halves(self, s):
        """Two slices of one value, joined the other way around: a rotation."""
        found = self.pick(s, lambda shape: len(shape) >= 1 and max(shape) >= 2)
        if found is None:
            return
        v, shape = found
        d = self.r.choice([d for d, n in enumerate(shape) if n >= 2])
        at = self.r.randint(1, shape[d] - 1)
        parts = []
        for a, b in ((at, shape[d]), (0, at)):
            start, limit, out = [0] * len(shape), list(shape), list(shape)
            start[d], limit[d], out[d] = a, b, b - a
            parts.append((self.emit(s, "stablehlo.slice", [(v, ty(shape))], [ty(out)],
                          f"<{{start_indices = {array(start)}, limit_indices = {array(limit)}, strides = {array([1] * len(shape))}}}>")[0], ty(out)))
        self.give(s, self.emit(s, "stablehlo.concatenate", parts, [ty(shape)], f"<{{dimension = {d} : i64}}>")[0], shape)

    # Indexing --------------------------------------------------------------------------------------------------

    def indices(self, s, shape):
        """Indices that come from a constant, an iota or a value of the program."""
        choice = self.r.random()
        if choice < 0.3:
            return self.constant(s, shape, "i32")
        if choice < 0.6 and shape:
            return self.emit(s, "stablehlo.iota", [], [ty(shape, "i32")], f"<{{iota_dimension = {self.r.randrange(len(shape))} : i64}}>", own=False)[0]
        v = self.pick(s, lambda other: other == tuple(shape))
        return self.convert(s, v[0], shape, "f32", "i32") if v else self.constant(s, shape, "i32")

    def windows(self, shape):
        """Any split of a tensor's dimensions: the indexed ones, the batching ones, those without a window, sizes of windows, and
        the dimensions of indices: those of batches, then others."""
        rank = len(shape)
        indexed = sorted(self.r.sample(range(rank), self.r.randint(1, rank)))
        batching = [d for d in range(rank) if d not in indexed and self.r.random() < 0.5]
        without = [d for d in indexed if self.r.random() < 0.6]
        sizes = [1 if d in without or d in batching else self.r.choice([n, n, max(1, n // 2)]) if d in indexed
                 else self.r.choice([n, n, n, max(1, n // 2)]) for d, n in enumerate(shape)]
        free = [self.r.choice([2, 4, 8]) for _ in range(self.r.randint(0, 2))]
        return indexed, batching, without, sizes, [shape[d] for d in batching] + free

    def mixed(self, window, lead):
        """The sizes of windows at any places among those of indices, and these places."""
        rank = len(lead) + len(window)
        places = sorted(self.r.sample(range(rank), len(window)))
        a, b = iter(window), iter(lead)
        return places, tuple(next(a) if d in places else next(b) for d in range(rank))

    def any_gather(self, s):
        """A gather with any split of the operand's dimensions into collapsed, batching and offset ones."""
        found = self.pick(s, lambda shape: 1 <= len(shape) <= 3)
        if found is None:
            return
        v, shape = found
        indexed, batching, collapsed, sizes, lead = self.windows(shape)
        offset = [n for d, n in enumerate(sizes) if d not in collapsed and d not in batching]
        if len(lead) + len(offset) > 4:
            return
        order = self.r.sample(range(len(lead)), len(lead))
        lead_at = [lead[i] for i in order]
        batch_at = [order.index(i) for i in range(len(batching))]
        starts = self.indices(s, (*lead_at, len(indexed)))
        places, out = self.mixed(offset, lead_at)
        numbers = (f"#stablehlo.gather<offset_dims = {places}, collapsed_slice_dims = {collapsed}, operand_batching_dims = {batching}, "
                   f"start_indices_batching_dims = {batch_at}, start_index_map = {indexed}, index_vector_dim = {len(lead)}>")
        operands = [(v, ty(shape)), (starts, ty((*lead_at, len(indexed)), "i32"))]
        self.give(s, self.emit(s, "stablehlo.gather", operands, [ty(out)],
                  f"<{{dimension_numbers = {numbers}, indices_are_sorted = false, slice_sizes = {array(sizes)}}}>")[0], out)

    def scatter(self, s):
        found = self.pick(s, lambda shape: 1 <= len(shape) <= 3)
        if found is None:
            return
        v, shape = found
        indexed, batching, inserted, sizes, lead = self.windows(shape)
        window = [n for d, n in enumerate(sizes) if d not in inserted and d not in batching]
        if len(lead) + len(window) > 4:
            return
        starts = self.indices(s, (*lead, len(indexed)))
        places, updates = self.mixed(window, lead)
        count = 2 if self.r.random() < 0.15 else 1
        inputs = [v] + [self.pick(s, lambda other: other == shape)[0] for _ in range(count - 1)]
        values = []
        for _ in range(count):
            u = self.pick(s, lambda other: other == updates)
            values.append((u[0] if u else self.made(s, updates), ty(updates)))
        numbers = (f"#stablehlo.scatter<update_window_dims = {places}, inserted_window_dims = {inserted}, input_batching_dims = {batching}, "
                   f"scatter_indices_batching_dims = {list(range(len(batching)))}, scatter_dims_to_operand_dims = {indexed}, index_vector_dim = {len(lead)}>")
        name = self.r.choice(["stablehlo.add", "stablehlo.maximum", "stablehlo.multiply", "stablehlo.subtract", "take"])
        region = combiner(self.fresh, name="stablehlo.add" if name == "take" else name, count=count)
        if name == "take":
            x, y = self.fresh(), self.fresh()
            region = f'({{ ^bb0({x}: tensor<f32>, {y}: tensor<f32>): "stablehlo.return"({y}) : (tensor<f32>) -> () }})'
            inputs, values, count = inputs[:1], values[:1], 1
        operands = [(i, ty(shape)) for i in inputs] + [(starts, ty((*lead, len(indexed)), "i32"))] + values
        for out in self.emit(s, "stablehlo.scatter", operands, [ty(shape)] * count,
                             f"<{{scatter_dimension_numbers = {numbers}, indices_are_sorted = false, unique_indices = false}}>", region):
            self.give(s, out, shape)

    # Linear algebra, random numbers, calls -------------------------------------------------------------------------

    def cholesky(self, s):
        found = self.pick(s, lambda shape: len(shape) >= 2 and shape[-1] == shape[-2])
        if found is None:
            return
        v, shape = found
        self.give(s, self.emit(s, "stablehlo.cholesky", [(v, ty(shape))], [ty(shape)], f"<{{lower = {self.r.choice(['true', 'false'])}}}>")[0], shape)

    def triangular_solve(self, s):
        b = self.pick(s, lambda shape: len(shape) >= 2)
        if b is None:
            return
        left = self.r.random() < 0.5
        n = b[1][-2] if left else b[1][-1]
        square = (*b[1][:-2], n, n)
        a = self.pick(s, lambda shape: shape == square)
        a = a[0] if a else self.made(s, square)
        transpose = self.r.choice(["NO_TRANSPOSE", "TRANSPOSE"])
        attributes = (f"<{{left_side = {str(left).lower()}, lower = true, unit_diagonal = false, "
                      f"transpose_a = #stablehlo<transpose {transpose}>}}>")
        self.give(s, self.emit(s, "stablehlo.triangular_solve", [(a, ty(square)), (b[0], ty(b[1]))], [ty(b[1])], attributes)[0], b[1])

    def random_bits(self, s):
        like = self.pick(s)[1]
        state = self.r.choice([2, 3])
        key = self.emit(s, "stablehlo.iota", [], [ty((state,), "ui64")], "<{iota_dimension = 0 : i64}>", own=False)[0]
        algorithm = "THREE_FRY" if state == 2 else "PHILOX"
        names = self.emit(s, "stablehlo.rng_bit_generator", [(key, ty((state,), "ui64"))], [ty((state,), "ui64"), ty(like, "ui32")],
                          f"<{{rng_algorithm = #stablehlo<rng_algorithm {algorithm}>}}>")
        self.give(s, self.convert(s, names[1], like, "ui32", "f32"), like)

    def random_numbers(self, s):
        like = self.pick(s)[1]
        a, b = self.constant(s, ()), self.constant(s, ())
        size = self.fresh()
        s.put(f"{size} = stablehlo.constant dense<{list(like)}> : tensor<{len(like)}xi64>" if like else f"{size} = stablehlo.constant dense<> : tensor<0xi64>")
        distribution = self.r.choice(["UNIFORM", "NORMAL"])
        self.give(s, self.emit(s, "stablehlo.rng", [(a, ty(())), (b, ty(())), (size, f"tensor<{len(like)}xi64>")], [ty(like)],
                  f"<{{rng_distribution = #stablehlo<rng_distribution {distribution}>}}>")[0], like)

    def batch_norm(self, s):
        found = self.pick(s, lambda shape: len(shape) >= 2)
        if found is None:
            return
        v, shape = found
        d = self.r.randrange(len(shape))
        row = (shape[d],)
        rows = []
        for _ in range(4):
            r = self.pick(s, lambda other: other == row)
            rows.append((r[0] if r else self.made(s, row), ty(row)))
        attributes = f"<{{epsilon = 1.0e-3 : f32, feature_index = {d} : i64}}>"
        if self.r.random() < 0.7:
            self.give(s, self.emit(s, "stablehlo.batch_norm_inference", [(v, ty(shape)), *rows], [ty(shape)], attributes)[0], shape)
        else:
            letters = "ijklmnop"[:len(shape)]
            factors, one = f"[{', '.join(letters)}]", f"[{letters[d]}]"
            sizes = ", ".join(f"{f}={n}" for f, n in zip(letters, shape))
            others = ", ".join(f for f in letters if f != letters[d])
            rule = f"sdy.sharding_rule = #sdy.op_sharding_rule<({factors}, {one}, {one})->({factors}, {one}, {one}) {{{sizes}}} need_replication={{{others}}}, custom>"
            names = self.emit(s, "stablehlo.batch_norm_training", [(v, ty(shape)), *rows[:2]], [ty(shape), ty(row), ty(row)], attributes, tail=rule)
            self.give(s, names[0], shape)

    def top_k(self, s):
        found = self.pick(s, lambda shape: len(shape) >= 1)
        if found is None:
            return
        v, shape = found
        k = self.r.randint(1, shape[-1])
        out = (*shape[:-1], k)
        if self.r.random() < 0.3:
            # Of several values all are kept apart from their places.
            iota = self.emit(s, "stablehlo.iota", [], [ty(shape, "i32")], f"<{{iota_dimension = {len(shape) - 1} : i64}}>", own=False)[0]
            scalars = [(self.constant(s, ()), ty(())), (self.constant(s, (), "i32"), ty((), "i32"))]
            names = self.emit(s, "stablehlo.custom_call", [(v, ty(shape)), (iota, ty(shape, "i32")), *scalars], [ty(out), ty(out, "i32")],
                              f'<{{call_target_name = "{self.r.choice(["ApproxTopK", "PartialReduce"])}"}}>')
        elif self.r.random() < 0.5:
            letters = "ijklmnop"[:len(shape)]
            factors = f"[{', '.join(letters)}]"
            sizes = ", ".join(f"{f}={n}" for f, n in zip(letters, shape))
            rule = (f"sdy.sharding_rule = #sdy.op_sharding_rule<({factors})->({factors}, {factors}) {{{sizes}}} "
                    f"need_replication={{{letters[-1]}}} blocked_propagation={{{letters[-1]}}}, custom>")
            names = self.emit(s, "chlo.top_k", [(v, ty(shape))], [ty(out), ty(out, "i32")], f"<{{k = {k} : i64}}>", tail=rule)
        else:
            names = self.emit(s, "stablehlo.custom_call", [(v, ty(shape))], [ty(out), ty(out, "i32")], '<{call_target_name = "mhlo.topk"}>')
        self.give(s, names[0], out)

    def chlo(self, s):
        v, shape = self.pick(s)
        name = self.r.choice(["erf", "tan", "lgamma", "square"])
        self.give(s, self.emit(s, "chlo." + name, [(v, ty(shape))], [ty(shape)], tail=self.pointwise_rule(shape, 1))[0], shape)

    def custom_call(self, s):
        """Calls with known targets, with unknown ones, with a rule of the user."""
        v, shape = self.pick(s)
        choice = self.r.random()
        if choice < 0.25:
            target = self.r.choice(POINTWISE_CALLS)
            self.give(s, self.emit(s, "stablehlo.custom_call", [(v, ty(shape))], [ty(shape)], f'<{{call_target_name = "{target}"}}>')[0], shape)
        elif choice < 0.4:
            target = self.r.choice(UNRULED_CALLS)
            self.give(s, self.emit(s, "stablehlo.custom_call", [(v, ty(shape))], [ty(shape)], f'<{{call_target_name = "{target}"}}>')[0], shape)
        elif choice < 0.55 and len(shape) >= 2 and shape[-1] == shape[-2]:
            names = self.emit(s, "stablehlo.custom_call", [(v, ty(shape))], [ty(shape), ty(shape[:-1])], '<{call_target_name = "Eigh"}>')
            self.give(s, names[0], shape)
            self.give(s, names[1], shape[:-1])
        elif choice < 0.65 and len(shape) >= 2:
            row = (*shape[:-2], min(shape[-2:]))
            names = self.emit(s, "stablehlo.custom_call", [(v, ty(shape))], [ty(shape), ty(row)],
                              f'<{{call_target_name = "{self.r.choice(["Qr", "QrDecompositionBlock"])}"}}>')
            self.give(s, names[0], shape)
            self.give(s, names[1], row)
        else:
            self.ruled_call(s, v, shape)

    def ruled_call(self, s, v, shape):
        """A custom call whose rule says that it turns its operand's dimensions around and knows another operand's."""
        w, other = self.pick(s)
        names = "ijklmnopqrstuvw"
        left = list(names[:len(shape)])
        right, used = [], len(shape)
        sizes = dict(zip(left, shape))
        for n in other:
            same = [f for f in left if sizes[f] == n and f not in right]
            if same and self.r.random() < 0.6:
                right.append(self.r.choice(same))
            else:
                right.append(names[used])
                sizes[names[used]] = n
                used += 1
        out = self.r.sample(left, len(left))
        extra = [f for f in right if f not in left]
        kinds = {"reduction": [], "need_replication": [], "permutation": []}
        for f in extra:
            if self.r.random() < 0.7:
                kinds[self.r.choice(["reduction", "need_replication"])].append(f)
        if out and self.r.random() < 0.2:
            kinds[self.r.choice(["need_replication", "permutation"])].append(self.r.choice(out))
        blocked = sorted(f for f in left if self.r.random() < 0.1)
        brackets = lambda factors: "[" + ", ".join(factors) + "]"
        order = sorted(sizes)
        rule = (f"#sdy.op_sharding_rule<({brackets(left)}, {brackets(right)})->({brackets(out)}) {{"
                + ", ".join(f"{f}={sizes[f]}" for f in order) + "}")
        for kind, factors in kinds.items():
            if factors:
                rule += f" {kind}={{{', '.join(sorted(factors))}}}"
        if blocked:
            rule += f" blocked_propagation={{{', '.join(blocked)}}}"
        result = [sizes[f] for f in out]
        self.give(s, self.emit(s, "stablehlo.custom_call", [(v, ty(shape)), (w, ty(other))], [ty(result)],
                  f'<{{call_target_name = "ruled"}}>', tail=f"sdy.sharding_rule = {rule}, custom>")[0], result)

    def unknown(self, s):
        v, shape = self.pick(s)
        self.give(s, self.emit(s, "stablehlo.custom_call", [(v, ty(shape))], [ty(shape)],
                  '<{call_target_name = "effect", has_side_effect = true}>')[0], shape)

    def partition(self, s):
        """The number of the device, as a value."""
        name = self.emit(s, f"stablehlo.{self.r.choice(['partition_id', 'replica_id'])}", [], ["tensor<ui32>"], own=False)[0]
        self.give(s, self.convert(s, name, (), "ui32", "f32"), ())

    # Ops of Shardy, collectives ----------------------------------------------------------------------------------

    def reshard(self, s):
        v, shape = self.pick(s)
        out = self.fresh()
        s.put(f"{out} = sdy.reshard {v} {self.sharding(shape, 0.8)} : {ty(shape)}")
        self.give(s, out, shape)

    def collective(self, s):
        """What the body of a manual computation does over its axes."""
        found = self.pick(s, lambda shape: len(shape) >= 1)
        if found is None:
            return
        v, shape = found
        n = self.mesh[self.manual[0]]
        # The manual axis with the devices that differ along it alone in a group.
        sizes, at = list(self.mesh.values()), list(self.mesh).index(self.manual[0])
        inner, total = math.prod(sizes[at + 1:]), math.prod(sizes)
        rows = [[first + i * inner for i in range(n)] for first in range(total) if first // inner % n == 0]
        groups = f"replica_groups = dense<{rows}> : tensor<{len(rows)}x{n}xi64>"
        d = self.r.randrange(len(shape))
        kind = self.r.choice(["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute"])
        handle = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
        out = list(shape)
        if kind == "all_reduce":
            attributes, region = f"<{{{handle}, {groups}, use_global_device_ids}}>", combiner(self.fresh)
        elif kind == "all_gather":
            out[d] *= n
            if out[d] > 64:
                return
            attributes, region = f"<{{all_gather_dim = {d} : i64, {handle}, {groups}, use_global_device_ids}}>", ""
        elif kind == "reduce_scatter" and shape[d] % n == 0:
            out[d] //= n
            attributes, region = f"<{{{handle}, {groups}, scatter_dimension = {d} : i64, use_global_device_ids}}>", combiner(self.fresh)
        elif kind == "all_to_all" and shape[d] % n == 0:
            e = self.r.randrange(len(shape))
            out[d] //= n
            out[e] *= n
            attributes, region = (f"<{{{handle}, concat_dimension = {e} : i64, {groups}, split_count = {n} : i64, "
                                  f"split_dimension = {d} : i64}}>"), ""
        elif kind == "collective_permute":
            pairs = [[row[i], row[(i + 1) % n]] for row in rows for i in range(n)]
            attributes, region = f"<{{{handle}, source_target_pairs = dense<{pairs}> : tensor<{total}x2xi64>}}>", ""
        else:
            return
        self.give(s, self.emit(s, "stablehlo." + kind, [(v, ty(shape))], [ty(out)], attributes, region, own=False)[0], out)

    # Regions -----------------------------------------------------------------------------------------------------

    def condition(self, s):
        """An `if`, whose branches take values from outside."""
        v, shape = self.pick(s)
        truth = self.constant(s, (), "i1", "true")
        count = self.r.randint(1, 2)
        branches = []
        for _ in range(2):
            inner = self.body(s, s.depth + 1, [(v, shape)] + self.captured(s), self.r.randint(1, 3))
            outs = [self.pick(inner, lambda other: other == shape)[0] for _ in range(count)]
            types = ", ".join([ty(shape)] * count)
            branches.append("{\n" + "\n".join(inner.lines) + "\n" + "  " * s.depth + f'"stablehlo.return"({", ".join(outs)}) : ({types}) -> () }}')
        for name in self.emit(s, "stablehlo.if", [(truth, "tensor<i1>")], [ty(shape)] * count, region=f"({', '.join(branches)})"):
            self.give(s, name, shape)

    def named_computation(self, s):
        v, shape = self.pick(s)
        w, other = self.pick(s)
        a, b = self.fresh(), self.fresh()
        saved = self.priorities
        self.priorities = False
        inner = self.body(s, s.depth + 1, [(a, shape), (b, other)], self.r.randint(1, 4))
        out = self.pick(inner)
        written = ""
        if self.r.random() < 0.4:
            written += f"in_shardings=[{self.sharding(shape)}, {self.sharding(other)}] "
        if self.r.random() < 0.4:
            written += f"out_shardings=[{self.sharding(out[1])}] "
        self.priorities = saved
        result = self.fresh()
        s.put(f'{result} = sdy.named_computation<"name{self.count}">({v}, {w}) {written}({a}: {ty(shape)}, {b}: {ty(other)}) {{')
        s.lines += inner.lines
        s.put(f"  sdy.return {out[0]} : {ty(out[1])}")
        s.put(f"}} : ({ty(shape)}, {ty(other)}) -> {ty(out[1])}")
        self.give(s, result, out[1])

    def wide_manual(self, s):
        """A manual computation over one or two axes with several operands and results."""
        axes = [a for a in self.mesh if a not in self.manual and self.r.random() < 0.6][:2]
        if not axes:
            return
        values = [self.pick(s, lambda shape: len(shape) >= 1) for _ in range(self.r.randint(1, 2))]
        if None in values:
            return
        ins, locals_ = zip(*[self.manual_sharding(shape, axes) for _, shape in values])
        names = [self.fresh() for _ in values]
        before, self.manual = self.manual, self.manual + axes
        saved, self.priorities = self.priorities, False
        inner = self.body(s, s.depth + 1, list(zip(names, locals_)), self.r.randint(1, 4))
        outs = [self.pick(inner) for _ in range(self.r.randint(1, 2))]
        self.manual = before
        results, out_shardings = [], []
        for _, local in outs:
            text, whole = self.manual_sharding(local, axes, grow=True)
            out_shardings.append(text)
            results.append(whole)
        self.priorities = saved
        base = self.fresh()
        head = base if len(outs) == 1 else f"{base}:{len(outs)}"
        arguments = ", ".join(f"{n}: {ty(shape)}" for n, shape in zip(names, locals_))
        axes_text = ", ".join(f'"{a}"' for a in axes)
        s.put(f"{head} = sdy.manual_computation({', '.join(v for v, _ in values)}) in_shardings=[{', '.join(ins)}] "
              f"out_shardings=[{', '.join(out_shardings)}] manual_axes={{{axes_text}}} ({arguments}) {{")
        s.lines += inner.lines
        s.put(f"  sdy.return {', '.join(v for v, _ in outs)} : {', '.join(ty(shape) for _, shape in outs)}")
        types = ", ".join(ty(shape) for shape in results)
        s.put(f"}} : ({', '.join(ty(shape) for _, shape in values)}) -> " + (types if len(outs) == 1 else f"({types})"))
        for i, shape in enumerate(results):
            self.give(s, base if len(outs) == 1 else f"{base}#{i}", shape)

    def manual_sharding(self, shape, axes, grow=False):
        """A sharding that says of each axis where it is, with free axes behind; the other side's shape."""
        dims, other, replicated = [[] for _ in shape], list(shape), []
        for axis in axes:
            n = self.mesh[axis]
            fits = [d for d in range(len(shape)) if grow and other[d] * n <= 96 or not grow and other[d] % n == 0]
            if fits and self.r.random() < 0.75:
                d = self.r.choice(fits)
                dims[d].append(f'"{axis}"')
                other[d] = other[d] * n if grow else other[d] // n
            else:
                replicated.append(f'"{axis}"')
        free = [a for a in self.mesh if a not in axes and a not in self.manual]
        for d in range(len(shape)):
            if free and self.r.random() < 0.25:
                dims[d].append(f'"{free.pop()}"')
            if self.r.random() < 0.4:
                dims[d].append("?")
        tail = f", replicated={{{', '.join(replicated)}}}" if replicated else ""
        return f"<@mesh, [{', '.join('{' + ', '.join(d) + '}' for d in dims)}]{tail}>", tuple(other)
