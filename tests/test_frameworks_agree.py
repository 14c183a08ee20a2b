"""PyTorch, JAX and Keras given a converted pattern compute what `helpers.attention` computes with `allowed`.

Each library is skipped, with the reason, where it is not installed. Float32 in all of them, so 1e-5.
"""

from __future__ import annotations

import numpy as np
import pytest

from helpers import patterns
from helpers.attention import (
    attention,
    attention_weights,
    causal_attention,
    multi_head_attention,
    softmax,
    split_heads,
)
from tests.support import optional

B, H, N_Q, N_K, D_K, D_V = 2, 3, 4, 5, 6, 7
PADDING = patterns.keys([[1, 0, 1, 1, 1], [1, 1, 1, 0, 0]])  # (B, 1, n_k)
PATTERNS = {
    "top-left": patterns.causal(N_Q, N_K, align="top-left"),
    "bottom-right": patterns.causal(N_Q, N_K, align="bottom-right"),
    "padding for all": patterns.keys([1, 0, 1, 1, 0]),
    "padding": PADDING,
    "causal and padding": patterns.causal(N_Q, N_K, align="bottom-right") & PADDING,
    "one pattern per head": np.stack([patterns.full(N_Q, N_K), np.eye(N_Q, N_K, 1, dtype=bool)] * 3).reshape(
        B, H, N_Q, N_K
    ),
}

every_pattern = pytest.mark.parametrize("allowed", PATTERNS.values(), ids=PATTERNS.keys())


def agrees(theirs, ours, tolerance=1e-5):
    theirs = np.asarray(theirs)
    assert theirs.shape == ours.shape
    np.testing.assert_allclose(theirs, ours, rtol=tolerance, atol=tolerance)


def heads(n_heads=H, d_v=D_V, seed=0):
    """Q, K, V of shape (B, n_heads, positions, width), in single precision."""
    rng = np.random.default_rng(seed)
    shapes = ((N_Q, D_K), (N_K, D_K), (N_K, d_v))
    return tuple(rng.normal(0.3, 1.0, (B, n_heads, *shape)).astype(np.float32) for shape in shapes)


def for_heads(allowed):
    """The same pattern beside (B, H, ...) arrays: `attention` wants the head axis said."""
    return allowed[:, None] if allowed.ndim == 3 else allowed


# PyTorch: scaled_dot_product_attention


@every_pattern
@pytest.mark.parametrize("n_heads", [H, B], ids=["B != H", "B = H"])
def test_sdpa(allowed, n_heads):
    torch = optional("torch")
    allowed = allowed[:, :n_heads] if allowed.ndim == 4 else allowed
    Q, K, V = heads(n_heads)
    out = torch.nn.functional.scaled_dot_product_attention(
        *map(torch.from_numpy, (Q, K, V)), attn_mask=patterns.to_torch_sdpa(allowed)
    )
    agrees(out, attention(Q, K, V, for_heads(allowed)))


def test_sdpa_without_heads():
    torch = optional("torch")
    sdpa = torch.nn.functional.scaled_dot_product_attention
    Q, K, V = (a[:, 0] for a in heads())
    tensors = [torch.from_numpy(a) for a in (Q, K, V)]
    mask = patterns.to_torch_sdpa(PADDING)
    agrees(sdpa(*tensors, attn_mask=mask[:, 0]), attention(Q, K, V, PADDING))
    with pytest.raises(RuntimeError):
        sdpa(*tensors, attn_mask=mask)
    single = patterns.to_torch_sdpa(PATTERNS["top-left"])
    agrees(
        sdpa(*(t[0] for t in tensors), attn_mask=single), attention(Q[0], K[0], V[0], PATTERNS["top-left"])
    )


def test_sdpa_of_the_causal_flag():
    torch = optional("torch")
    Q, K, V = heads()
    Q = np.concatenate([Q, Q[:, :, :1]], axis=2)
    out = torch.nn.functional.scaled_dot_product_attention(*map(torch.from_numpy, (Q, K, V)), is_causal=True)
    agrees(out, causal_attention(Q, K, V))


# PyTorch: MultiheadAttention


def module(torch, n_heads):
    """A MultiheadAttention and its four matrices, as multi_head_attention takes them."""
    torch.manual_seed(0)
    width = 4 * n_heads
    made = torch.nn.MultiheadAttention(width, n_heads, bias=False, batch_first=True).eval()
    W_Q, W_K, W_V = made.in_proj_weight.detach().numpy().reshape(3, width, width).swapaxes(1, 2)
    return made, (W_Q, W_K, W_V, made.out_proj.weight.detach().numpy().T)


@pytest.mark.parametrize("n_heads", [H, B], ids=["B != H", "B = H"])
@pytest.mark.parametrize("need_weights", [True, False])
def test_multihead_attention(n_heads, need_weights):
    torch = optional("torch")
    made, matrices = module(torch, n_heads)
    X = np.random.default_rng(4).normal(size=(B, N_K, 4 * n_heads)).astype(np.float32)
    x = torch.from_numpy(X)
    for allowed in (
        patterns.causal(N_K),
        patterns.causal(N_K) & patterns.keys([[1, 0, 1, 1, 1], [1, 1, 1, 0, 0]]),
    ):
        mask = patterns.to_torch_mha(allowed, n_heads)
        with torch.no_grad():
            out, _ = made(x, x, x, attn_mask=mask, need_weights=need_weights)
        agrees(out, multi_head_attention(X, *matrices, n_heads, allowed))


@every_pattern
@pytest.mark.parametrize("n_heads", [H, B], ids=["B != H", "B = H"])
def test_the_weights_of_each_head_of_multihead_attention(allowed, n_heads):
    torch = optional("torch")
    made, (W_Q, W_K, _, _) = module(torch, n_heads)
    rng = np.random.default_rng(5)
    X, Y = (rng.normal(size=(B, n, 4 * n_heads)).astype(np.float32) for n in (N_Q, N_K))
    allowed = allowed[:, :n_heads] if allowed.ndim == 4 else patterns.full(N_Q, N_K) & allowed
    x, y = torch.from_numpy(X), torch.from_numpy(Y)
    with torch.no_grad():
        mask = patterns.to_torch_mha(allowed, n_heads)
        _, weights = made(x, y, y, attn_mask=mask, average_attn_weights=False)
    agrees(
        weights,
        attention_weights(split_heads(X @ W_Q, n_heads), split_heads(Y @ W_K, n_heads), for_heads(allowed)),
    )


def test_a06_the_heads_of_one_item_come_together():
    optional("torch")
    padding = patterns.full(3) & patterns.keys([[1, 1, 1], [1, 1, 0]])
    mask = patterns.to_torch_mha(padding, 2).numpy()
    np.testing.assert_array_equal(mask, ~padding[[0, 0, 1, 1]])


# JAX


@every_pattern
@pytest.mark.parametrize("n_heads", [H, B], ids=["B != H", "B = H"])
def test_jax(allowed, n_heads):
    jax = optional("jax")
    allowed = allowed[:, :n_heads] if allowed.ndim == 4 else allowed
    Q, K, V = heads(n_heads, d_v=D_K)  # JAX wants values as wide as keys
    out = jax.nn.dot_product_attention(*(a.swapaxes(1, 2) for a in (Q, K, V)), mask=patterns.to_jax(allowed))
    agrees(np.asarray(out).swapaxes(1, 2), attention(Q, K, V, for_heads(allowed)))


def test_jax_without_a_batch():
    jax = optional("jax")
    Q, K, V = (a[0] for a in heads(d_v=D_K))
    allowed = PATTERNS["bottom-right"]
    out = jax.nn.dot_product_attention(
        *(a.swapaxes(0, 1) for a in (Q, K, V)), mask=patterns.to_jax(allowed)[0]
    )
    agrees(np.asarray(out).swapaxes(0, 1), attention(Q, K, V, allowed))


# Keras


def layer(keras, X, Y, n_heads):
    """A MultiHeadAttention without biases, and its queries, keys, values and output matrix."""
    keras.utils.set_random_seed(0)
    made = keras.layers.MultiHeadAttention(n_heads, D_K, use_bias=False)  # on JAX values are as wide as keys
    made(X, Y)
    W_Q, W_K, W_V, W_O = (keras.ops.convert_to_numpy(w.value) for w in made.weights)
    projected = [np.einsum("btd,dhk->bhtk", x, W) for x, W in ((X, W_Q), (Y, W_K), (Y, W_V))]
    return made, projected, W_O


@every_pattern
@pytest.mark.parametrize("n_heads", [H, B], ids=["B != H", "B = H"])
@pytest.mark.parametrize("scores_too", [False, True])
def test_keras(allowed, n_heads, scores_too):
    keras = optional("keras")
    allowed = allowed[:, :n_heads] if allowed.ndim == 4 else allowed
    rng = np.random.default_rng(6)
    X, Y = (rng.normal(size=(B, n, 8)).astype(np.float32) for n in (N_Q, N_K))
    made, (Q, K, V), W_O = layer(keras, X, Y, n_heads)
    out = made(X, Y, attention_mask=patterns.to_keras(allowed), return_attention_scores=scores_too)
    if scores_too:
        out, weights = out
        agrees(keras.ops.convert_to_numpy(weights), attention_weights(Q, K, for_heads(allowed)))
    ours = np.einsum("bhtv,hvd->btd", attention(Q, K, V, for_heads(allowed)), W_O)
    agrees(keras.ops.convert_to_numpy(out), ours)


# A row without a key: what the docstrings of the converters say of each library

EMPTY = np.array([[1, 1, 1, 1, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [1, 1, 0, 0, 0]], dtype=bool)


def test_an_empty_row_in_sdpa_gives_zeros():
    torch = optional("torch")
    Q, K, V = heads()
    mask = patterns.to_torch_sdpa(EMPTY, empty_rows="keep")
    out = torch.nn.functional.scaled_dot_product_attention(*map(torch.from_numpy, (Q, K, V)), attn_mask=mask)
    agrees(out, attention(Q, K, V, EMPTY, empty_rows="zero"))


def test_an_empty_row_in_multihead_attention_gives_nan_or_zeros():
    torch = optional("torch")
    made, _ = module(torch, H)
    x, y = torch.ones(B, N_Q, 4 * H), torch.ones(B, N_K, 4 * H)
    mask = patterns.to_torch_mha(EMPTY, H, empty_rows="keep")
    with torch.no_grad():
        with_weights, _ = made(x, y, y, attn_mask=mask)
        without, _ = made(x, y, y, attn_mask=mask, need_weights=False)
    assert with_weights[:, 1].isnan().all()
    assert (without[:, 1] == 0).all()


def test_an_empty_row_in_jax_is_an_even_spread():
    jax = optional("jax")
    Q, K, V = heads(d_v=D_K)
    mask = patterns.to_jax(EMPTY, empty_rows="keep")
    out = np.asarray(jax.nn.dot_product_attention(*(a.swapaxes(1, 2) for a in (Q, K, V)), mask=mask))
    agrees(out[:, 1], V.mean(axis=2))


def test_an_empty_row_in_keras_is_an_even_spread_or_zeros():
    keras = optional("keras")
    if keras.backend.backend() != "jax":
        pytest.skip("said of Keras on JAX only")
    rng = np.random.default_rng(6)
    X, Y = (rng.normal(size=(B, n, 8)).astype(np.float32) for n in (N_Q, N_K))
    made, (_, _, V), W_O = layer(keras, X, Y, H)
    mask = patterns.to_keras(EMPTY, empty_rows="keep")
    agrees(np.asarray(made(X, Y, attention_mask=mask))[:, 1], np.einsum("bhv,hvd->bd", V.mean(axis=2), W_O))
    assert (np.asarray(made(X, Y, attention_mask=mask, return_attention_scores=True)[0])[:, 1] == 0).all()


# The operations of the exercise, and arrays of the libraries as inputs


def test_the_exercise_in_pytorch():
    torch = optional("torch")
    rng = np.random.default_rng(7)
    Q, K, V = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 4))
    q, k, v = map(torch.from_numpy, (Q, K, V))
    scores = q @ k.T / q.shape[-1] ** 0.5
    future = torch.triu(torch.ones_like(scores, dtype=torch.bool), diagonal=1)
    out = torch.softmax(scores.masked_fill(future, float("-inf")), dim=-1) @ v
    agrees(out, causal_attention(Q, K, V), 1e-12)


def test_the_exercise_in_jax():
    jax = optional("jax")
    jnp = jax.numpy
    rng = np.random.default_rng(7)
    Q, K, V = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 4))
    scores = jnp.asarray(Q) @ jnp.asarray(K).T / Q.shape[-1] ** 0.5
    future = jnp.triu(jnp.ones(scores.shape, dtype=bool), k=1)
    out = jax.nn.softmax(jnp.where(future, -jnp.inf, scores), axis=-1) @ jnp.asarray(V)
    agrees(out, causal_attention(Q, K, V))


def test_tensors_are_read_like_arrays():
    torch = optional("torch")
    Q, K, V = heads()
    out = attention(*map(torch.from_numpy, (Q, K, V)), torch.ones(N_Q, N_K, dtype=torch.bool))
    assert isinstance(out, np.ndarray)
    np.testing.assert_array_equal(out, attention(Q, K, V))
    with pytest.raises(ValueError, match=r"Q must be an array, got a Tensor .*tensor.detach\(\)"):
        attention(torch.ones(2, 2, requires_grad=True), np.ones((2, 2)), np.ones((2, 2)))


def test_bfloat16_is_widened_to_float32():
    jnp = optional("jax").numpy
    weights = softmax(jnp.asarray([2, 1, 0], dtype=jnp.bfloat16))
    assert weights.dtype == np.float32
    np.testing.assert_allclose(weights, [0.665240956, 0.244728471, 0.090030573], rtol=1e-6)
