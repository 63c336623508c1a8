"""Training steps written with flax and optax, as in their public examples, where they are installed."""

import devices  # noqa: F401, I001: before JAX

import unittest

import jax
import jax.numpy as jnp
import numpy as np

import shardc
from programs import LINE, MESH, fsdp, put, rand, transformer_loss, transformer_params
from test_jit import count_planned, difference

try:
    import optax
    from flax import linen, nnx
    from flax.training import train_state
except ImportError:
    optax = None


@unittest.skipIf(optax is None, "flax or optax isn't installed")
class Training(unittest.TestCase):
    def same(self, make, steps=3):
        """Trains twice from the same start, with `jax.jit` and with `shardc.jit`."""
        ends = []
        for jit in (jax.jit, shardc.jit):
            with count_planned() as planned:
                step, state, batch = make(jit)
                for _ in range(steps):
                    state, loss = step(state, batch)
                ends.append((state, loss))
                self.assertEqual(planned.call_count > 0, jit is shardc.jit)
        self.assertEqual(jax.tree.structure(ends[0]), jax.tree.structure(ends[1]))
        for want, got in zip(*map(jax.tree.leaves, ends)):
            if jnp.issubdtype(want.dtype, jnp.floating):
                # Optimizers divide by values that may be close to zero.
                np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=2e-3, atol=2e-4)
                self.assertTrue(got.sharding.is_equivalent_to(want.sharding, want.ndim))
            else:
                self.assertIsNone(difference(got, want))

    def test_optax_chain_on_an_fsdp_transformer(self):
        schedule = lambda: optax.warmup_cosine_decay_schedule(0.0, 1e-2, 2, 10)

        def make(jit):
            optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule()))
            params = fsdp(transformer_params(64, 32, 2))
            state = params, optimizer.init(params)

            def step(state, tokens):
                params, inner = state
                loss, grads = jax.value_and_grad(transformer_loss)(params, tokens)
                updates, inner = optimizer.update(grads, inner, params)
                return (optax.apply_updates(params, updates), inner), loss

            tokens = np.random.default_rng(0).integers(0, 64, (16, 17)).astype(np.int32)
            return jit(step, donate_argnums=0), state, put(tokens, "data", mesh=LINE)

        self.same(make)

    def test_linen_cnn_with_a_train_state(self):
        class CNN(linen.Module):
            @linen.compact
            def __call__(self, x):
                x = linen.avg_pool(linen.relu(linen.Conv(8, (3, 3))(x)), (2, 2), (2, 2))
                x = linen.avg_pool(linen.relu(linen.Conv(16, (3, 3))(x)), (2, 2), (2, 2))
                x = linen.relu(linen.Dense(32)(x.reshape(x.shape[0], -1)))
                return linen.Dense(10)(x)

        def make(jit):
            model = CNN()
            params = jax.tree.map(put, model.init(jax.random.key(0), jnp.zeros((1, 8, 8, 1)))["params"])
            state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.sgd(0.1, 0.9))

            def step(state, batch):
                images, labels = batch

                def loss(params):
                    logits = state.apply_fn({"params": params}, images)
                    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

                value, grads = jax.value_and_grad(loss)(state.params)
                return state.apply_gradients(grads=grads), value

            batch = put(rand(16, 8, 8, 1), "data"), put(np.arange(16) % 10, "data")
            step = jit(step)
            # Two states with the same functions, so that their structures are equal.
            state = state.replace(apply_fn=APPLY.setdefault("cnn", model.apply), tx=APPLY.setdefault("sgd", state.tx))
            return step, state, batch

        APPLY = {}
        self.same(make)

    def test_linen_attention_with_dropout_and_batch_statistics(self):
        class Block(linen.Module):
            @linen.compact
            def __call__(self, x, train):
                x = x + linen.MultiHeadDotProductAttention(num_heads=4)(linen.LayerNorm()(x))
                x = linen.BatchNorm(use_running_average=not train)(x)
                x = linen.Dropout(0.1, deterministic=not train)(linen.gelu(linen.Dense(64)(x)))
                return linen.Dense(16)(x)

        def make(jit):
            # Not Adam, because the gradient of the bias of keys is only rounding errors, which Adam would amplify to whole steps.
            model, optimizer = Block(), optax.sgd(0.1, 0.9)
            variables = jax.tree.map(put, model.init(jax.random.key(0), jnp.zeros((1, 6, 16)), False))
            state = variables, optimizer.init(variables["params"]), jax.random.key(1)

            def step(state, x):
                variables, inner, key = state
                key, now = jax.random.split(key)

                def loss(params):
                    all = {**variables, "params": params}
                    y, changed = model.apply(all, x, True, rngs={"dropout": now}, mutable=["batch_stats"])
                    return jnp.mean((y - x) ** 2), changed

                (value, changed), grads = jax.value_and_grad(loss, has_aux=True)(variables["params"])
                updates, inner = optimizer.update(grads, inner)
                params = optax.apply_updates(variables["params"], updates)
                return ({**changed, "params": params}, inner, key), value

            return jit(step), state, put(rand(16, 6, 16), "data")

        self.same(make)

    def test_nnx_model_with_sharded_parameters(self):
        class Model(nnx.Module):
            def __init__(self, rngs):
                self.up, self.down = nnx.Linear(16, 64, rngs=rngs), nnx.Linear(64, 16, rngs=rngs)

            def __call__(self, x):
                return self.down(nnx.relu(self.up(x)))

        def make(jit):
            graph, state = nnx.split(Model(nnx.Rngs(0)))
            place = lambda p: put(p, None, "model") if p.ndim == 2 and p.shape[1] == 64 else put(p)
            state = jax.tree.map(place, state)

            def step(state, x):
                def loss(state):
                    return jnp.mean((nnx.merge(graph, state)(x) - x) ** 2)

                value, grads = jax.value_and_grad(loss)(state)
                return jax.tree.map(lambda p, g: p - 0.1 * g, state, grads), value

            return jit(step), state, put(rand(16, 16), "data")

        self.same(make)
        self.assertEqual(MESH.shape["model"], 2)


if __name__ == "__main__":
    unittest.main()
