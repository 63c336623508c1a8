"""Random small programs with random shardings, for comparing propagation.

Every seed gives one program: a mesh of one to four axes, arguments with and without shardings, a chain of ops of all
kinds over them (also in loops, branches, manual computations, called functions), constraints, priorities, sub-axes.
"""
import math
import random

from random_ops import Ops, array, ty

NAMES = "xyzw"


class Scope:
    """Lines of one block and the values that may be read there: (name, shape)."""

    def __init__(self, depth):
        self.depth, self.lines, self.values = depth, [], []

    def put(self, line):
        self.lines.append("  " * self.depth + line)


class Program(Ops):
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.count = 0
        self.functions = []
        axes = self.r.choice([1, 2, 2, 3, 3, 4])
        sizes = [self.r.choice([2, 2, 3, 4, 4, 6, 8] + [1] * (self.r.random() < 0.1)) for _ in range(axes)]
        self.mesh = {NAMES[i]: n for i, n in enumerate(sizes)}
        # Of every third program most dimensions divide by no axis.
        self.sizes = [3, 5, 6, 7, 9, 10, 11, 13] if seed % 3 == 2 else [2, 3, 4, 6, 8, 8, 12, 16]
        self.priorities = self.r.random() < 0.25
        self.sub_axes = self.r.random() < 0.4
        # Shardy has no answer for programs with both named computations and calls.
        self.named = self.r.random() < 0.15
        self.unreduced = self.r.random() < 0.1
        self.manual = []

    # Shardings -------------------------------------------------------------------------------------------------

    def parts(self):
        """Axes and parts of axes, no two overlapping, in random order."""
        out = []
        for name, size in self.mesh.items():
            if name in self.manual:
                continue
            cut = [d for d in (2, 3, 4) if size % d == 0 and size > d]
            if self.sub_axes and cut and self.r.random() < 0.4:
                d = self.r.choice(cut)
                halves = [f'"{name}":(1){d}', f'"{name}":({d}){size // d}']
                out.append(self.r.choice(halves))
            else:
                out.append(f'"{name}"')
        self.r.shuffle(out)
        return out

    def sharding(self, shape, density=0.5, closed=None):
        axes = self.parts()
        dims = []
        for size in shape:
            own = []
            while axes and size > 1 and self.r.random() < density / 2:
                own.append(axes.pop())
            is_open = (self.r.random() < 0.5) if closed is None else not closed
            text = ", ".join(own + (["?"] if is_open else []))
            priority = ""
            if self.priorities and (own or is_open) and self.r.random() < 0.5:
                priority = f"p{self.r.randint(0, 3)}"
            dims.append("{" + text + "}" + priority)
        whole = sorted((a for a in axes if ":" not in a), key=lambda a: list(self.mesh).index(a[1:-1]))
        kept = [a for a in whole if self.r.random() < 0.15]
        tail = f", replicated={{{', '.join(kept)}}}" if kept else ""
        if self.unreduced and not self.manual:
            summed = [a for a in whole if a not in kept and self.r.random() < 0.2]
            tail += f", unreduced={{{', '.join(summed)}}}" if summed else ""
        return f"<@mesh, [{', '.join(dims)}]{tail}>"

    def maybe_sharding(self, shape, chance):
        return " {sdy.sharding = #sdy.sharding" + self.sharding(shape) + "}" if self.r.random() < chance else ""

    # Values ----------------------------------------------------------------------------------------------------

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def pick(self, s, test=lambda shape: True):
        """A value; later ones more often."""
        values = [v for v in s.values if test(v[1])]
        if not values:
            return None
        return self.r.choice(values[-4:] if self.r.random() < 0.7 else values)

    def give(self, s, name, shape):
        s.values.append((name, tuple(shape)))

    def op(self, s, name, operands, shape, attributes="", region="", kind="f32"):
        result = self.fresh()
        types = ", ".join(ty(shape) for _, shape in operands)
        own = ""
        if self.r.random() < 0.06:
            own = " {sdy.sharding = #sdy.sharding_per_value<[" + self.sharding(shape) + "]>}"
        s.put(f'{result} = "{name}"({", ".join(v for v, _ in operands)}) {attributes} {region}{own} : ({types}) -> {ty(shape, kind)}')
        if kind == "f32":
            self.give(s, result, shape)
        return result

    def constant(self, s, shape, kind="f32", value=None):
        result = self.fresh()
        text = value if value is not None else ("1.0" if kind == "f32" else "0")
        s.put(f'{result} = stablehlo.constant dense<{text}> : {ty(shape, kind)}')
        return result

    # Ops -------------------------------------------------------------------------------------------------------

    def step(self, s):
        kinds = [
            (self.unary, 3), (self.binary, 6), (self.dot, 4), (self.broadcast, 2), (self.reduce, 2), (self.reshape, 4),
            (self.transpose, 2), (self.slice, 2), (self.concatenate, 2), (self.pad, 1), (self.constraint, 2),
            (self.constant_use, 2), (self.dynamic_slice, 1), (self.dynamic_update_slice, 1), (self.select, 1),
            (self.reverse, 1), (self.barrier, 1), (self.gather, 1), (self.iota, 1), (self.sort, 1), (self.scalar, 1),
            (self.group, 1), (self.expand, 1),
            (self.more_unary, 2), (self.more_binary, 2), (self.integers, 1), (self.predicates, 1), (self.clamp, 1),
            (self.complexes, 1), (self.real_fft, 0.5), (self.bitcast, 1), (self.narrow, 1), (self.plain_dot, 1),
            (self.double_contraction, 1), (self.convolution, 2), (self.reduce_window, 1), (self.select_and_scatter, 0.5),
            (self.variadic_reduce, 1), (self.variadic_sort, 0.5), (self.map, 0.3), (self.strided_slice, 1),
            (self.any_pad, 1), (self.halves, 0.5), (self.any_gather, 2), (self.scatter, 2), (self.cholesky, 1),
            (self.triangular_solve, 0.7), (self.random_bits, 0.7), (self.random_numbers, 0.3), (self.batch_norm, 0.7),
            (self.top_k, 0.7), (self.chlo, 0.4), (self.custom_call, 2), (self.unknown, 0.3), (self.partition, 0.3),
            (self.reshard, 0.7),
        ]
        if self.manual:
            kinds += [(self.collective, 4)]
        if s.depth <= 2:
            kinds += [(self.loop, 1.5), (self.case, 1), (self.optimization_barrier, 1), (self.condition, 1),
                      (self.named_computation, 1.5) if self.named else (self.call, 1)]
        if s.depth == 2 and not self.manual:
            kinds += [(self.manual_computation, 1), (self.wide_manual, 2)]
        if s.depth == 3 and self.manual:
            kinds += [(self.wide_manual, 1)]
        [chosen] = self.r.choices([k for k, _ in kinds], [w for _, w in kinds])
        chosen(s)

    def unary(self, s):
        v = self.pick(s)
        self.op(s, "stablehlo." + self.r.choice(["tanh", "negate", "exponential", "sine"]), [v], v[1])

    def binary(self, s):
        a = self.pick(s)
        b = self.pick(s, lambda shape: shape == a[1])
        self.op(s, "stablehlo." + self.r.choice(["add", "multiply", "maximum"]), [a, b], a[1])

    def select(self, s):
        a = self.pick(s)
        b = self.pick(s, lambda shape: shape == a[1])
        p = self.fresh()
        s.put(f'{p} = stablehlo.compare LT, {a[0]}, {b[0]} : ({ty(a[1])}, {ty(a[1])}) -> {ty(a[1], "i1")}')
        result = self.fresh()
        s.put(f'{result} = stablehlo.select {p}, {a[0]}, {b[0]} : {ty(a[1], "i1")}, {ty(a[1])}')
        self.give(s, result, a[1])

    def dot(self, s):
        a = self.pick(s, lambda shape: len(shape) >= 2)
        if a is None:
            return
        contract = self.r.randrange(len(a[1]))
        b = self.pick(s, lambda shape: len(shape) >= 2 and a[1][contract] in shape)
        if b is None:
            return
        right = self.r.choice([d for d, n in enumerate(b[1]) if n == a[1][contract]])
        batch = []
        left_free = [d for d in range(len(a[1])) if d != contract]
        right_free = [d for d in range(len(b[1])) if d != right]
        if self.r.random() < 0.4:
            pairs = [(i, j) for i in left_free for j in right_free if a[1][i] == b[1][j]]
            if pairs:
                batch = [self.r.choice(pairs)]
                left_free.remove(batch[0][0])
                right_free.remove(batch[0][1])
        shape = [a[1][i] for i, _ in batch] + [a[1][i] for i in left_free] + [b[1][j] for j in right_free]
        if len(shape) > 4:
            return
        lb, rb = [i for i, _ in batch], [j for _, j in batch]
        numbers = (f"#stablehlo.dot<lhs_batching_dimensions = {lb}, rhs_batching_dimensions = {rb}, "
                   f"lhs_contracting_dimensions = [{contract}], rhs_contracting_dimensions = [{right}]>")
        self.op(s, "stablehlo.dot_general", [a, b], shape, f"<{{dot_dimension_numbers = {numbers}}}>")

    def broadcast(self, s):
        v = self.pick(s, lambda shape: len(shape) <= 3)
        if v is None:
            return
        at = self.r.randint(0, len(v[1]))
        shape = list(v[1])
        shape.insert(at, self.r.choice([2, 4, 6, 8]))
        dims = [d if d < at else d + 1 for d in range(len(v[1]))]
        self.op(s, "stablehlo.broadcast_in_dim", [v], shape, f"<{{broadcast_dimensions = {array(dims)}}}>")

    def expand(self, s):
        v = self.pick(s, lambda shape: 1 in shape)
        if v is None:
            v = self.pick(s, lambda shape: 1 <= len(shape) <= 3)
            if v is None:
                return
            at = self.r.randint(0, len(v[1]))
            shape = list(v[1])
            shape.insert(at, 1)
            self.op(s, "stablehlo.reshape", [v], shape)
            return
        shape = [n if n != 1 else self.r.choice([4, 8]) for n in v[1]]
        self.op(s, "stablehlo.broadcast_in_dim", [v], shape, f"<{{broadcast_dimensions = {array(range(len(shape)))}}}>")

    def reduce(self, s):
        v = self.pick(s, lambda shape: len(shape) >= 1)
        if v is None:
            return
        dims = sorted(self.r.sample(range(len(v[1])), self.r.randint(1, len(v[1]))))
        shape = [n for d, n in enumerate(v[1]) if d not in dims]
        zero = self.constant(s, ())
        a, b, c = self.fresh(), self.fresh(), self.fresh()
        region = (f'({{ ^bb0({a}: tensor<f32>, {b}: tensor<f32>): {c} = stablehlo.add {a}, {b} : tensor<f32> '
                  f'"stablehlo.return"({c}) : (tensor<f32>) -> () }})')
        self.op(s, "stablehlo.reduce", [v, (zero, ())], shape, f"<{{dimensions = {array(dims)}}}>", region)

    def reshape(self, s):
        v = self.pick(s, lambda shape: len(shape) >= 1)
        if v is None:
            return
        left, shape = list(v[1]), []
        total = 1
        for n in left:
            total *= n
        for _ in range(self.r.randint(0, 3)):
            divisors = [d for d in (1, 2, 3, 4, 6, 8, 12, 16, 24) if total % d == 0]
            d = self.r.choice(divisors)
            shape.append(d)
            total //= d
        shape.insert(self.r.randint(0, len(shape)), total)
        self.op(s, "stablehlo.reshape", [v], shape)

    def transpose(self, s):
        v = self.pick(s, lambda shape: len(shape) >= 2)
        if v is None:
            return
        order = list(range(len(v[1])))
        self.r.shuffle(order)
        self.op(s, "stablehlo.transpose", [v], [v[1][d] for d in order], f"<{{permutation = {array(order)}}}>")

    def slice(self, s):
        v = self.pick(s, lambda shape: len(shape) >= 1)
        if v is None:
            return
        start, limit = [], []
        for n in v[1]:
            whole = self.r.random() < 0.5
            a = 0 if whole else self.r.randrange(n)
            start.append(a)
            limit.append(n if whole else self.r.randint(a + 1, n))
        shape = [b - a for a, b in zip(start, limit)]
        self.op(s, "stablehlo.slice", [v], shape,
                f"<{{start_indices = {array(start)}, limit_indices = {array(limit)}, strides = {array([1] * len(shape))}}}>")

    def concatenate(self, s):
        a = self.pick(s, lambda shape: len(shape) >= 1)
        if a is None:
            return
        dim = self.r.randrange(len(a[1]))
        like = lambda shape: len(shape) == len(a[1]) and all(x == y for d, (x, y) in enumerate(zip(shape, a[1])) if d != dim)
        parts = [a] + [self.pick(s, like) for _ in range(self.r.randint(1, 2))]
        shape = list(a[1])
        shape[dim] = sum(p[1][dim] for p in parts)
        if shape[dim] > 64:
            return
        self.op(s, "stablehlo.concatenate", parts, shape, f"<{{dimension = {dim} : i64}}>")

    def pad(self, s):
        v = self.pick(s, lambda shape: len(shape) >= 1)
        if v is None:
            return
        low = [self.r.choice([0, 0, 1, 2]) for _ in v[1]]
        high = [self.r.choice([0, 0, 1, 4]) for _ in v[1]]
        shape = [n + a + b for n, a, b in zip(v[1], low, high)]
        zero = self.constant(s, ())
        self.op(s, "stablehlo.pad", [v, (zero, ())], shape, f"<{{edge_padding_low = {array(low)}, "
                f"edge_padding_high = {array(high)}, interior_padding = {array([0] * len(shape))}}}>")

    def reverse(self, s):
        v = self.pick(s, lambda shape: len(shape) >= 1)
        if v is None:
            return
        dims = sorted(self.r.sample(range(len(v[1])), self.r.randint(1, len(v[1]))))
        self.op(s, "stablehlo.reverse", [v], v[1], f"<{{dimensions = {array(dims)}}}>")

    def sort(self, s):
        v = self.pick(s, lambda shape: len(shape) >= 1)
        if v is None:
            return
        a, b, c = self.fresh(), self.fresh(), self.fresh()
        region = (f'({{ ^bb0({a}: tensor<f32>, {b}: tensor<f32>): {c} = stablehlo.compare LT, {a}, {b} : '
                  f'(tensor<f32>, tensor<f32>) -> tensor<i1> "stablehlo.return"({c}) : (tensor<i1>) -> () }})')
        dim = self.r.randrange(len(v[1]))
        self.op(s, "stablehlo.sort", [v], v[1], f"<{{dimension = {dim} : i64, is_stable = false}}>", region)

    def index(self, s):
        return (self.constant(s, (), "i32"), ())

    def dynamic_slice(self, s):
        v = self.pick(s, lambda shape: 1 <= len(shape))
        if v is None:
            return
        shape = [n if self.r.random() < 0.5 else max(1, n // 2) for n in v[1]]
        starts = [self.index(s)[0] for _ in shape]
        result = self.fresh()
        types = ", ".join([ty(v[1])] + ["tensor<i32>"] * len(shape))
        s.put(f'{result} = stablehlo.dynamic_slice {v[0]}, {", ".join(starts)}, sizes = {list(shape)} : ({types}) -> {ty(shape)}')
        self.give(s, result, shape)

    def dynamic_update_slice(self, s):
        v = self.pick(s, lambda shape: len(shape) >= 1)
        u = v and self.pick(s, lambda shape: len(shape) == len(v[1]) and all(a <= b for a, b in zip(shape, v[1])))
        if not u:
            return
        # The start comes from an argument or is a constant.
        starts = ["%start" if s.depth == 2 and not self.manual and self.r.random() < 0.5 else self.index(s)[0] for _ in v[1]]
        result = self.fresh()
        types = ", ".join([ty(v[1]), ty(u[1])] + ["tensor<i32>"] * len(v[1]))
        s.put(f'{result} = stablehlo.dynamic_update_slice {v[0]}, {u[0]}, {", ".join(starts)} : ({types}) -> {ty(v[1])}')
        self.give(s, result, v[1])

    def gather(self, s):
        """Rows of a matrix, chosen by constant or iota indices."""
        v = self.pick(s, lambda shape: len(shape) == 2)
        if v is None:
            return
        n = self.r.choice([4, 6, 8])
        rows = self.fresh()
        s.put(f'{rows} = stablehlo.iota dim = 0 : {ty((n, 1), "i32")}')
        result = self.fresh()
        s.put(f'{result} = "stablehlo.gather"({v[0]}, {rows}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], '
              f'collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, '
              f'slice_sizes = array<i64: 1, {v[1][1]}>}}> : ({ty(v[1])}, {ty((n, 1), "i32")}) -> {ty((n, v[1][1]))}')
        self.give(s, result, (n, v[1][1]))

    def constraint(self, s):
        v = self.pick(s)
        result = self.fresh()
        s.put(f"{result} = sdy.sharding_constraint {v[0]} {self.sharding(v[1], 0.8)} : {ty(v[1])}")
        self.give(s, result, v[1])

    def barrier(self, s):
        v = self.pick(s)
        result = self.fresh()
        direction = self.r.choice(["NONE", "FORWARD", "BACKWARD"])
        s.put(f"{result} = sdy.propagation_barrier {v[0]} allowed_direction={direction} : {ty(v[1])}")
        self.give(s, result, v[1])

    def group(self, s):
        if self.r.random() < 0.5 or s.depth > 2:
            return
        a = self.pick(s)
        b = self.pick(s, lambda shape: shape == a[1])
        self.count += 1
        for v in dict.fromkeys((a, b)):
            s.put(f"sdy.sharding_group {v[0]} group_id={self.count} : {ty(v[1])}")

    def constant_use(self, s):
        """A constant, or something made of one, that several ops read."""
        v = self.pick(s)
        c = self.constant(s, () if self.r.random() < 0.5 else v[1])
        if s.lines[-1].endswith("tensor<f32>") and v[1]:
            wide = self.fresh()
            s.put(f'{wide} = stablehlo.broadcast_in_dim {c}, dims = [] : (tensor<f32>) -> {ty(v[1])}')
            c = wide
        self.give(s, c, v[1])
        for _ in range(self.r.randint(1, 2)):
            w = self.pick(s, lambda shape: shape == v[1])
            self.op(s, "stablehlo.add", [w, (c, v[1])], v[1])

    def iota(self, s):
        v = self.pick(s, lambda shape: len(shape) >= 1)
        if v is None:
            return
        result = self.fresh()
        s.put(f'{result} = stablehlo.iota dim = {self.r.randrange(len(v[1]))} : {ty(v[1])}')
        self.give(s, result, v[1])

    def scalar(self, s):
        v = self.pick(s, lambda shape: shape == ())
        w = self.pick(s, lambda shape: len(shape) >= 1)
        if v is None or w is None:
            return
        self.op(s, "stablehlo.broadcast_in_dim", [v], w[1], "<{broadcast_dimensions = array<i64>}>")

    # Regions ---------------------------------------------------------------------------------------------------

    def body(self, s, depth, values, steps):
        inner = Scope(depth)
        inner.values = list(values)
        for _ in range(steps):
            self.step(inner)
        return inner

    def loop(self, s):
        carried = [self.pick(s) for _ in range(self.r.randint(1, 2))]
        names = [self.fresh() for _ in carried]
        counter, start = self.fresh(), self.constant(s, (), "i32")
        inner = self.body(s, s.depth + 2, [(n, v[1]) for n, v in zip(names, carried)] + self.captured(s), self.r.randint(1, 4))
        out = [self.pick(inner, lambda shape, want=v[1]: shape == want) for v in carried]
        types = ", ".join(["tensor<i32>"] + [ty(v[1]) for v in carried])
        result = self.fresh()
        heads = ", ".join([f"{counter} = {start}"] + [f"{n} = {v[0]}" for n, v in zip(names, carried)])
        s.put(f"{result}:{len(carried) + 1} = stablehlo.while({heads}) : {types}")
        limit, go, one, nxt = self.fresh(), self.fresh(), self.fresh(), self.fresh()
        s.put(f" cond {{ {limit} = stablehlo.constant dense<3> : tensor<i32> {go} = stablehlo.compare LT, {counter}, {limit} : "
              f"(tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return {go} : tensor<i1> }} do {{")
        s.lines += inner.lines
        s.put(f"  {one} = stablehlo.constant dense<1> : tensor<i32>")
        s.put(f"  {nxt} = stablehlo.add {counter}, {one} : tensor<i32>")
        s.put(f"  stablehlo.return {', '.join([nxt] + [v[0] for v in out])} : {types} }}")
        for i, v in enumerate(carried):
            self.give(s, f"{result}#{i + 1}", v[1])

    def captured(self, s):
        return [v for v in s.values if self.r.random() < 0.3]

    def case(self, s):
        v = self.pick(s)
        index = self.constant(s, (), "i32")
        branches = []
        for _ in range(2):
            inner = self.body(s, s.depth + 1, [v] + self.captured(s), self.r.randint(1, 3))
            out = self.pick(inner, lambda shape: shape == v[1])
            branches.append("({\n".replace("(", "") + "\n".join(inner.lines) + "\n" + "  " * s.depth +
                            f'"stablehlo.return"({out[0]}) : ({ty(v[1])}) -> () }}')
        result = self.fresh()
        s.put(f'{result} = "stablehlo.case"({index}) ({", ".join(branches)}) : (tensor<i32>) -> {ty(v[1])}')
        self.give(s, result, v[1])

    def optimization_barrier(self, s):
        values = [self.pick(s) for _ in range(2)]
        result = self.fresh()
        s.put(f"{result}:2 = stablehlo.optimization_barrier {values[0][0]}, {values[1][0]} : "
              f"{ty(values[0][1])}, {ty(values[1][1])}")
        for i, v in enumerate(values):
            self.give(s, f"{result}#{i}", v[1])

    def call(self, s):
        if self.manual:
            return
        if self.functions and self.r.random() < 0.5:
            name, shapes, shape, _ = self.r.choice(self.functions)
            operands = [self.pick(s, lambda have, want=want: have == want) for want in shapes]
            if None in operands:
                return
        else:
            operands = [self.pick(s) for _ in range(self.r.randint(1, 2))]
            name, shapes = f"f{len(self.functions)}", [v[1] for v in operands]
            entry = [name, shapes, None, []]
            names = [self.fresh() for _ in operands]
            inner = self.body(s, 3, list(zip(names, shapes)), self.r.randint(1, 4))
            out = self.pick(inner)
            entry[2] = out[1]
            heads = ", ".join(f"{n}: {ty(shape)}{self.maybe_sharding(shape, 0.1)}" for n, shape in zip(names, shapes))
            entry[3] = ([f"  func.func private @{name}({heads}) -> {ty(out[1])} {{"] + inner.lines +
                        [f"    return {out[0]} : {ty(out[1])}", "  }"])
            self.functions.append(entry)
            shape = out[1]
        result = self.fresh()
        types = ", ".join(ty(x) for x in shapes)
        s.put(f"{result} = func.call @{name}({', '.join(v[0] for v in operands)}) : ({types}) -> {ty(shape)}")
        self.give(s, result, shape)

    def manual_computation(self, s):
        v = self.pick(s, lambda shape: len(shape) >= 1)
        if v is None:
            return
        axis = self.r.choice(list(self.mesh))
        n = self.mesh[axis]
        fits = [d for d, size in enumerate(v[1]) if size % n == 0]
        if not fits:
            return
        d = self.r.choice(fits)
        local = [size // n if i == d else size for i, size in enumerate(v[1])]
        cut = ["{" + (f'"{axis}"' if i == d else "") + self.r.choice(["", ", ?" if i == d else "?"]) + "}" for i in range(len(local))]
        sharding = f"<@mesh, [{', '.join(cut)}]>"
        name = self.fresh()
        self.manual = [axis]
        saved = self.priorities
        self.priorities = False
        inner = self.body(s, s.depth + 1, [(name, tuple(local))], self.r.randint(1, 4))
        self.manual, self.priorities = [], saved
        out = self.pick(inner, lambda shape: shape == tuple(local))
        result = self.fresh()
        s.put(f'{result} = sdy.manual_computation({v[0]}) in_shardings=[{sharding}] out_shardings=[{sharding}] '
              f'manual_axes={{"{axis}"}} ({name}: {ty(local)}) {{')
        s.lines += inner.lines
        s.put(f"  sdy.return {out[0]} : {ty(local)}")
        s.put(f"}} : ({ty(v[1])}) -> {ty(v[1])}")
        self.give(s, result, v[1])

    def text(self):
        main = Scope(2)
        arguments = []
        for i in range(self.r.randint(1, 4)):
            if main.values and self.r.random() < 0.5:
                shape = self.r.choice(main.values)[1]
            else:
                shape = tuple(self.r.choice(self.sizes) for _ in range(self.r.choice([1, 2, 2, 3])))
            arguments.append(f"%arg{i}: {ty(shape)}{self.maybe_sharding(shape, 0.6)}")
            self.give(main, f"%arg{i}", shape)
        arguments.append("%start: tensor<i32>")
        for _ in range(self.r.randint(3, 14)):
            self.step(main)
        results = [self.pick(main)] + [self.r.choice(main.values) for _ in range(self.r.randint(0, 2))]
        heads = ", ".join(ty(v[1]) + self.maybe_sharding(v[1], 0.3) for v in results)
        axes = ", ".join(f'"{name}"={size}' for name, size in self.mesh.items())
        if self.r.random() < 0.1:
            devices = list(range(math.prod(self.mesh.values())))
            self.r.shuffle(devices)
            if devices != sorted(devices):
                axes += f"], device_ids=[{', '.join(map(str, devices))}"
        lines = ["module {", f"  sdy.mesh @mesh = <[{axes}]>", f"  func.func public @main({', '.join(arguments)}) -> ({heads}) {{"]
        lines += main.lines
        lines.append(f"    return {', '.join(v[0] for v in results)} : {', '.join(ty(v[1]) for v in results)}")
        lines.append("  }")
        for function in self.functions:
            lines += function[3]
        return "\n".join(lines + ["}", ""])


def program(seed):
    return Program(seed).text()
