"""Training steps of decoders as MaxText writes them, lowered for the devices of a record of steps.json.

`program(record)` returns the StableHLO of one step with Shardy's shardings, and the FLOPs of the attention kernels that a
device runs, which are custom calls. Only shapes are traced: no array is made, and any number of devices is possible.

As in MaxText: layers are a scan, weights and Adam's moments are f32 and weights are converted to bf16 where they are used; a weight's
embedding dimension is sharded along fsdp, context and expert, its heads, mlp and vocab along tensor and fsdp_transpose; activations
along data, fsdp and expert by batch, context by length, and tensor by heads, mlp and embedding. Attention is a kernel in a shard_map.
"""

import json
import math

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name as name
from jax.extend import core
from jax.interpreters import mlir
from jax._src.interpreters.mlir import custom_call
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec as P

BF16 = jnp.bfloat16

# Axes of the mesh from major to minor; those between slices are first.
AXES = ["dcn_data", "dcn_fsdp", "data", "fsdp", "fsdp_transpose", "context", "ulysses", "tensor", "expert"]
BATCH = ["dcn_data", "dcn_fsdp", "data", "fsdp", "fsdp_transpose", "expert"]
MLP_EMBED = ["dcn_fsdp", "fsdp", "context", "ulysses", "expert"]
EMBED = ["fsdp_transpose", *MLP_EMBED]
LENGTH = ["context", "ulysses"]
MLP = ["fsdp_transpose", "tensor"]

kernel = core.Primitive("kernel")
kernel.multiple_results = True


@kernel.def_abstract_eval
def _(*operands, target, results, flops, transcendentals):
    return [jax.core.ShapedArray(shape, dtype) for shape, dtype in results]


def lower_kernel(ctx, *operands, target, results, flops, transcendentals):
    """A custom call with the estimate that Pallas gives XLA for it."""
    estimate = {"flops": flops, "transcendentals": transcendentals, "bytes_accessed": 0}
    config = json.dumps({"custom_call_config": {"body": "", "cost_estimate": estimate}})
    types = [mlir.aval_to_ir_type(ctx.module_context, aval) for aval in ctx.avals_out]
    return custom_call(target, result_types=types, operands=operands, backend_config=config).results


mlir.register_lowering(kernel, lower_kernel)


def call(record, operands, results, flops, scores):
    target = "tpu_custom_call" if record["hardware"].startswith("v") else "__cudnn$fmhaSoftmax"
    return tuple(
        kernel.bind(*operands, target=target, results=tuple(results), flops=int(flops), transcendentals=int(scores))
    )


def flash(record, q, k, v, share):
    """Attention of one device as a kernel. `share` of the products of all rows by all columns is computed."""
    b, s, h, d = q.shape
    e = v.shape[-1]
    scores = b * h * s * k.shape[1] * share
    lse = ((b, h, s), jnp.float32)

    @jax.custom_vjp
    def attend(q, k, v):
        return call(record, (q, k, v), [((b, s, h, e), q.dtype), lse], 2 * scores * (d + e), scores)

    def forward(q, k, v):
        o, l = attend(q, k, v)
        o, l = name(o, "context"), name(l, "context")
        return (o, l), (q, k, v, o, l)

    def backward(saved, cotangents):
        like = [(x.shape, x.dtype) for x in saved[:3]]
        return call(record, (*saved, cotangents[0]), like, scores * (6 * d + 4 * e), scores)

    attend.defvjp(forward, backward)
    return attend(q, k, v)


def ring(record, q, k, v, axis, share):
    """Ring attention: keys and values go around the devices of an axis, and backward their gradients with them."""
    n = jax.lax.axis_size(axis)
    pairs = [(i, (i + 1) % n) for i in range(n)]
    around = lambda *values: tuple(jax.lax.ppermute(x, axis, pairs) for x in values)
    b, s, h, d = q.shape
    scores = b * h * s * k.shape[1] * share
    lse = ((b, h, s), jnp.float32)

    @jax.custom_vjp
    def attend(q, k, v):
        def turn(carry, _):
            o, l, k, v = carry
            part, new = call(record, (q, k, v), [(q.shape, q.dtype), lse], 4 * scores * d, scores)
            both = jnp.logaddexp(l, new)
            weigh = lambda x, w: x * jnp.exp(w - both).transpose(0, 2, 1)[..., None]
            return (weigh(o, l) + weigh(part, new), both, *around(k, v)), None

        zero = jnp.zeros(q.shape, jnp.float32), jnp.full((b, h, s), -1e30, jnp.float32)
        (o, l, *_), _ = jax.lax.scan(turn, (*zero, k, v), None, length=n)
        return o.astype(q.dtype), l

    def forward(q, k, v):
        o, l = (name(x, "context") for x in attend(q, k, v))
        return (o, l), (q, k, v, o, l)

    def backward(saved, cotangents):
        q, k, v, o, l = saved

        def turn(carry, _):
            dq, k, v, dk, dv = carry
            operands = (q, k, v, o, l, cotangents[0])
            new = call(record, operands, [(x.shape, jnp.float32) for x in (q, k, v)], 10 * scores * d, scores)
            return (dq + new[0], *around(k, v, dk + new[1], dv + new[2])), None

        zero = [jnp.zeros(x.shape, jnp.float32) for x in (q, k, v)]
        (dq, _, _, dk, dv), _ = jax.lax.scan(turn, (zero[0], k, v, zero[1], zero[2]), None, length=n)
        return tuple(x.astype(q.dtype) for x in (dq, dk, dv))

    attend.defvjp(forward, backward)
    return attend(q, k, v)[0]


class Model:
    def __init__(self, record):
        self.record = r = record
        sizes = {"dcn_" + axis: size for axis, size in r["dcn_axes"].items()}
        sizes |= {{"context_ulysses": "ulysses"}.get(axis, axis): size for axis, size in r["mesh_axes"].items()}
        self.axes = {axis: sizes[axis] for axis in AXES if sizes.get(axis, 1) > 1}
        self.mesh = AbstractMesh(tuple(self.axes.values()), tuple(self.axes))
        self.batch = max(1, round(r["per_device_batch"] * r["jax_devices"]))

    def spec(self, *dims):
        return P(*(tuple(a for a in dim if a in self.axes) or None for dim in dims))

    def constrain(self, x, *dims):
        return jax.lax.with_sharding_constraint(x, NamedSharding(self.mesh, self.spec(*dims)))

    def weights(self):
        """Shapes of the weights and how they are sharded; those of layers have the layers as first dimension."""
        r = self.record
        e, h, kv, d, m, v = (r[k] for k in ("emb", "heads", "kv_heads", "head_dim", "mlp", "vocab"))
        attention = {
            "query": ((e, h, d), (EMBED, ["tensor"], [])),
            "key": ((e, kv, d), (EMBED, ["tensor"], [])),
            "value": ((e, kv, d), (EMBED, ["tensor"], [])),
            "out": ((h, d, e), (["tensor"], [], EMBED)),
            "norm": ((e,), (["tensor"],)),
            "norm2": ((e,), (["tensor"],)),
        }
        if latent := r.get("latent"):
            del attention["key"], attention["value"]
            attention["out"] = ((h, latent["value"], e), (["tensor"], [], EMBED))
            if latent["query"]:
                attention["query_down"] = ((e, latent["query"]), (EMBED, []))
                attention["query"] = ((latent["query"], h, d), (EMBED, ["tensor"], []))
            attention["down"] = ((e, latent["keys"] + latent["rope"]), (EMBED, []))
            attention["up"] = ((latent["keys"], h, d - latent["rope"] + latent["value"]), (EMBED, ["tensor"], []))

        def plain(m, prefix=""):
            wide = {prefix + w: ((e, m), (MLP_EMBED, MLP)) for w in ("wi", "gate")[: 1 + r["mlp_gated"]]}
            return wide | {prefix + "wo": ((m, e), (MLP, MLP_EMBED))}

        dense = r["layers"]
        found = {}
        if x := r.get("experts"):
            dense, wide = r.get("dense_layers", 0), r.get("moe_mlp", m)
            inside = [a for a in MLP_EMBED if a != "expert"]
            layer = attention | {"router": ((e, x), (EMBED, []))}
            layer |= {w: ((x, e, wide), (["expert"], inside, MLP)) for w in ("wi", "gate")}
            layer["wo"] = ((x, wide, e), (["expert"], MLP, inside))
            if r.get("shared_experts"):
                layer |= plain(r["shared_experts"] * wide, "shared_")
            found |= {k: ((r["layers"] - dense, *shape), ([], *dims)) for k, (shape, dims) in layer.items()}
        if dense:
            layer = attention | plain(m)
            found |= {"dense_" + k: ((dense, *shape), ([], *dims)) for k, (shape, dims) in layer.items()}
        found |= {"embedding": ((v, e), (["tensor"], EMBED)), "last": ((e,), (["tensor"],))}
        if not r["embedding_tied"]:
            found["logits"] = ((e, v), (EMBED, ["tensor"]))
        return found

    def state(self):
        """The weights and two moments, as shapes; the moments have the type of the weights."""
        kind = BF16 if "bf16 weights" in self.record["dtype"] else jnp.float32
        weights = {
            k: jax.ShapeDtypeStruct(shape, kind, sharding=NamedSharding(self.mesh, self.spec(*dims)))
            for k, (shape, dims) in self.weights().items()
        }
        return weights, weights, weights

    def product(self, spec, x, w):
        """A product of activations and weights, in the precision of the record."""
        quantization = self.record.get("quantization")
        if not quantization:
            return jnp.einsum(spec, x, w.astype(BF16))
        kind, sums = (jnp.int8, jnp.int32) if "int8" in quantization else (jnp.float8_e4m3fn, jnp.float32)
        left, right, out = spec.replace("->", ",").split(",")
        narrow = lambda spec, a, b: jnp.einsum(
            spec, a.astype(kind), b.astype(kind), preferred_element_type=sums
        ).astype(BF16)

        @jax.custom_vjp
        def multiply(x, w):
            return narrow(spec, x, w)

        def backward(saved, g):
            x, w = saved
            return narrow(f"{out},{right}->{left}", g, w), narrow(f"{left},{out}->{right}", x, g)

        multiply.defvjp(lambda x, w: (multiply(x, w), (x, w)), backward)
        return multiply(x, w.astype(BF16))

    def rope(self, x):
        half = x.shape[-1] // 2
        angle = jnp.arange(x.shape[1])[:, None] * jnp.exp(-jnp.arange(half) * (math.log(10000.0) / half))[None]
        sin, cos = jnp.sin(angle)[None, :, None], jnp.cos(angle)[None, :, None]
        a, b = x[..., :half], x[..., half:]
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(x.dtype)

    def attention(self, q, k, v):
        r = self.record
        if r["attention"].startswith("dot_product"):
            g = r["heads"] // r["kv_heads"]
            b, s, h, d = q.shape
            q = q.reshape(b, s, r["kv_heads"], g, d)
            scores = jnp.einsum("bskgd,btkd->bkgst", q, k).astype(jnp.float32)
            seen = jnp.arange(s)[:, None] >= jnp.arange(s)
            weight = jax.nn.softmax(jnp.where(seen, scores, -1e30)).astype(BF16)
            return jnp.einsum("bkgst,btkd->bskgd", weight, v).reshape(b, s, h, d)
        window = r.get("window")
        # A causal mask leaves half of the products, but all of them to the device with the last part of a sequence; windows
        # leave less on most layers.
        share = 0.5 if r.get("balanced", True) else 1.0
        if window:
            every = r["global_every"]
            share = (0.5 + (every - 1) * window / r["seq"]) / every
        rings = "ring" in r["attention"] and "context" in self.axes

        def inside(q, k, v):
            if "ulysses" in self.axes:
                q, k, v = (jax.lax.all_to_all(x, "ulysses", 2, 1, tiled=True) for x in (q, k, v))
            if rings:
                o = ring(r, q, k, v, "context", share)
            else:
                if "context" in self.axes:
                    k, v = (jax.lax.all_gather(x, "context", axis=1, tiled=True) for x in (k, v))
                o = flash(r, q, k, v, share)[0]
            if "ulysses" in self.axes:
                o = jax.lax.all_to_all(o, "ulysses", 1, 2, tiled=True)
            return o

        spec = self.spec(BATCH, LENGTH, ["tensor"], [])
        return jax.shard_map(inside, mesh=self.mesh, in_specs=(spec,) * 3, out_specs=spec, check_vma=False)(q, k, v)

    def experts(self, x, w):
        """Each token through `top_k` experts, with as many tokens for each expert; grouped products on each device."""
        r = self.record
        top, n = r["top_k"], r["experts"]
        scores = jnp.einsum("bse,ex->bsx", x, w["router"].astype(BF16))
        here = self.spec(BATCH, LENGTH, [])
        whole = self.spec(["expert"], [], ["tensor"])

        def inside(x, scores, wi, gate, wo):
            b, s, e = x.shape
            rows = x.reshape(b * s, e)
            weight, chosen = jax.lax.top_k(jax.nn.softmax(scores.reshape(b * s, n).astype(jnp.float32)), top)
            order = jnp.argsort(chosen.reshape(-1))
            sent = rows[order // top]
            ways = self.axes.get("expert", 1)
            if ways > 1:
                sent = jax.lax.all_to_all(sent.reshape(ways, -1, e), "expert", 0, 0, tiled=True).reshape(-1, e)
            sizes = jnp.full((n // ways,), sent.shape[0] // (n // ways), jnp.int32)
            grouped = lambda a, b: jax.lax.ragged_dot(a, b, sizes)
            hidden = jax.nn.silu(name(grouped(sent, gate), "mlpwi")) * name(grouped(sent, wi), "mlpwi")
            out = grouped(hidden, wo)
            if "tensor" in self.axes:
                out = jax.lax.psum(out, "tensor")
            if ways > 1:
                out = jax.lax.all_to_all(out.reshape(ways, -1, e), "expert", 0, 0, tiled=True).reshape(-1, e)
            back = out[jnp.argsort(order)].reshape(b * s, top, e)
            return jnp.einsum("tke,tk->te", back, weight.astype(BF16)).reshape(b, s, e)

        wi, gate, wo = (w[k].astype(BF16) for k in ("wi", "gate", "wo"))
        out_spec = self.spec(["expert"], ["tensor"], [])
        specs = (here, here, whole, whole, out_spec)
        return jax.shard_map(inside, mesh=self.mesh, in_specs=specs, out_specs=here, check_vma=False)(
            x, scores, wi, gate, wo
        )

    def layer(self, x, w):
        r = self.record
        rows = (BATCH, LENGTH, ["tensor"])
        norm = lambda x, scale: (
            (x * jax.lax.rsqrt(jnp.mean(jnp.square(x.astype(jnp.float32)), -1, keepdims=True) + 1e-6)).astype(BF16)
            * scale.astype(BF16)
        )
        x = name(self.constrain(x, *rows), "decoder_layer_input")
        heads = (BATCH, LENGTH, ["tensor"], [])
        normed = norm(x, w["norm"])
        q, k, v = self.latent_heads(normed, w, heads) if r.get("latent") else self.heads(normed, w, heads)
        attended = self.attention(q, k, v)
        attended = name(self.constrain(self.product("bshd,hde->bse", attended, w["out"]), *rows), "out_proj")
        if not r.get("parallel"):
            x = self.constrain(x + attended, *rows)
            normed = norm(x, w["norm2"])
        if "router" in w:
            y = self.experts(normed, w)
            if "shared_wi" in w:
                y += self.mlp(normed, w, "shared_")
        else:
            y = self.mlp(normed, w)
        return self.constrain(x + y + (attended if r.get("parallel") else 0), *rows), None

    def heads(self, x, w, dims):
        project = lambda k, label: name(self.constrain(self.product("bse,ehd->bshd", x, w[k]), *dims), label)
        q, k, v = project("query", "query_proj"), project("key", "key_proj"), project("value", "value_proj")
        return self.rope(q), self.rope(k), v

    def latent_heads(self, x, w, dims):
        """Keys and values from a narrow vector of each token, as in DeepSeek's models; a part of a key is the same for all heads."""
        r = self.record["latent"]
        narrow = self.product("bse,eq->bsq", x, w["query_down"]) if "query_down" in w else x
        q = name(self.constrain(self.product("bse,ehd->bshd", narrow, w["query"]), *dims), "query_proj")
        down = self.product("bse,ed->bsd", x, w["down"])
        both = self.constrain(self.product("bse,ehd->bshd", down[..., : r["keys"]], w["up"]), *dims)
        k, v = both[..., : -r["value"]], name(both[..., -r["value"] :], "value_proj")
        turned = self.rope(down[..., None, r["keys"] :])
        k = name(jnp.concatenate([k, jnp.broadcast_to(turned, (*k.shape[:3], r["rope"]))], -1), "key_proj")
        q = jnp.concatenate([q[..., : -r["rope"]], self.rope(q[..., -r["rope"] :])], -1)
        return q, k, v

    def mlp(self, x, w, prefix=""):
        r = self.record
        hidden, rows = (BATCH, LENGTH, ["tensor"]), (BATCH, LENGTH, ["tensor"])
        names = [prefix + k for k in ("wi", "gate")[: 1 + r["mlp_gated"]]]
        wide = [name(self.constrain(self.product("bse,em->bsm", x, w[k]), *hidden), "mlpwi") for k in names]
        act = jax.nn.silu(wide[1]) * wide[0] if r["mlp_gated"] else jax.nn.relu(wide[0])
        return name(self.constrain(self.product("bsm,me->bse", act, w[prefix + "wo"]), *rows), "mlpwo")

    def policy(self):
        r, policies = self.record, jax.checkpoint_policies
        save, offload = r.get("save", []), r.get("offload", [])
        if offload:
            return policies.save_and_offload_only_these_names(
                names_which_can_be_saved=save,
                names_which_can_be_offloaded=offload,
                offload_src="device",
                offload_dst="pinned_host",
            )
        names = policies.save_only_these_names(*(s for s in save if s != "dots"))
        return (
            policies.save_from_both_policies(policies.checkpoint_dots_with_no_batch_dims, names)
            if "dots" in save
            else names
        )

    def loss(self, weights, tokens, targets):
        r = self.record
        embedding = weights["embedding"].astype(BF16)
        if r.get("iota_embed"):
            x = jnp.einsum("bsv,ve->bse", jax.nn.one_hot(tokens, r["vocab"], dtype=BF16), embedding)
        else:
            x = embedding[tokens]
        rest = {k: w for k, w in weights.items() if k not in ("embedding", "last", "logits")}
        dense = {k.removeprefix("dense_"): w for k, w in rest.items() if k.startswith("dense_")}
        layers = {k: w for k, w in rest.items() if not k.startswith("dense_")}
        body = jax.checkpoint(self.layer, policy=self.policy(), prevent_cse=False)
        x = self.constrain(x, BATCH, LENGTH, ["tensor"])
        for stack in (dense, layers):
            if stack:
                x, _ = jax.lax.scan(body, x, stack)
        x = x * weights["last"].astype(BF16)
        table = embedding.T if r["embedding_tied"] else weights["logits"].astype(BF16)
        logits = self.constrain(jnp.einsum("bse,ev->bsv", x, table), BATCH, LENGTH, ["tensor"]).astype(jnp.float32)
        hot = jax.nn.one_hot(targets, r["vocab"], dtype=jnp.float32)
        return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.sum(logits * hot, -1))

    def step(self, state, tokens, targets):
        weights, first, second = state
        loss, gradient = jax.value_and_grad(self.loss)(weights, tokens, targets)

        def adam(w, g, m, v):
            g = g.astype(jnp.float32)
            new_m, new_v = 0.9 * m + 0.1 * g, 0.95 * v + 0.05 * g * g
            new_w = w - 3e-5 * (new_m / (jnp.sqrt(new_v) + 1e-8) + 0.1 * w)
            return tuple(new.astype(w.dtype) for new in (new_w, new_m, new_v))

        updated = {k: adam(weights[k], gradient[k], first[k], second[k]) for k in weights}
        return tuple({k: u[i] for k, u in updated.items()} for i in range(3)), loss


def kernel_flops(jaxpr, times=1):
    """FLOPs of all kernels of a jaxpr; a scan runs its body as often as it says."""
    total = 0
    for eqn in jaxpr.eqns:
        if eqn.primitive is kernel:
            total += times * eqn.params["flops"]
        inner = times * eqn.params["length"] if eqn.primitive.name == "scan" else times
        total += sum(kernel_flops(sub, inner) for sub in jax.core.jaxprs_in_params(eqn.params))
    return total


def program(record):
    """The text of a step, and the FLOPs of the kernels on a device."""
    model = Model(record)
    state = model.state()
    shardings = jax.tree.map(lambda x: x.sharding, state)
    ids = jax.ShapeDtypeStruct(
        (model.batch, record["seq"]), jnp.int32, sharding=NamedSharding(model.mesh, model.spec(BATCH, LENGTH))
    )
    step = jax.jit(model.step, donate_argnums=0, out_shardings=(shardings, NamedSharding(model.mesh, P())))
    traced = step.trace(state, ids, ids)
    return traced.lower(lowering_platforms=("tpu",)).as_text(), kernel_flops(traced.jaxpr.jaxpr)
