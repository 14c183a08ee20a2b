"""What other checkers let through is refused here, by name; and what is right in another way is accepted.

The functions are written as learners write them, not taken from the catalogue.
"""

from __future__ import annotations

import numpy as np
import pytest

from helpers.exercises import check, check_task

from .support import optional


def softmax(scores, axis=-1):
    exps = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exps / exps.sum(axis=axis, keepdims=True)


def future(T, k=1):
    return np.triu(np.ones((T, T), dtype=bool), k=k)


def hidden(scores, k=1):
    return np.where(future(len(scores), k), -np.inf, scores)


def scale(Q):
    return Q.shape[-1] ** 0.5


def renormalised(Q, K, V):
    weights = np.where(future(len(Q)), 0, softmax(Q @ K.T / scale(Q)))
    return weights / weights.sum(axis=-1, keepdims=True) @ V


def tril_and_renormalise(Q, K, V):
    exps = np.tril(np.exp(Q @ K.T / scale(Q) - (Q @ K.T / scale(Q)).max(axis=-1, keepdims=True)))
    return (exps / exps.sum(axis=-1, keepdims=True)) @ V


def filled(value):
    return lambda Q, K, V: softmax(np.where(future(len(Q)), value, Q @ K.T / scale(Q))) @ V


def sentinel(Q, K, V):
    scores = Q @ K.T / scale(Q) * ~future(len(Q))
    scores[scores == 0] = -np.inf
    return softmax(scores) @ V


def unstable(Q, K, V):
    exps = np.exp(hidden(Q @ K.T / scale(Q)))
    return exps / exps.sum(axis=-1, keepdims=True) @ V


def writes_on_its_input(Q, K, V):
    Q /= scale(Q)
    return softmax(hidden(Q @ K.T)) @ V


def argmax(Q, K, V):
    return V[hidden(Q @ K.T).argmax(axis=-1)]


def uniform(Q, K, V):
    return np.cumsum(V, axis=0) / np.arange(1, len(V) + 1)[:, None]


# Wrong programs of causal attention, and the name that each must get.
WRONG = {
    "no scale": (lambda Q, K, V: softmax(hidden(Q @ K.T)) @ V, "scale-missing"),
    "divided by d_k": (lambda Q, K, V: softmax(hidden(Q @ K.T / Q.shape[-1])) @ V, "scale-dk"),
    "divided by the root of T": (
        lambda Q, K, V: softmax(hidden(Q @ K.T / len(Q) ** 0.5)) @ V,
        "scale-length",
    ),
    "divided by the root of d_v": (lambda Q, K, V: softmax(hidden(Q @ K.T / scale(V))) @ V, "scale-dv"),
    "multiplied": (lambda Q, K, V: softmax(hidden(Q @ K.T * scale(Q))) @ V, "scale-inverted"),
    "scaled after": (lambda Q, K, V: softmax(hidden(Q @ K.T)) / scale(Q) @ V, "scale-after"),
    "Q and K swapped": (lambda Q, K, V: softmax(hidden(K @ Q.T / scale(Q))) @ V, "swap-qk"),
    "wrong axis": (lambda Q, K, V: softmax(hidden(Q @ K.T / scale(Q)), axis=0) @ V, "axis"),
    "whole matrix": (
        lambda Q, K, V: softmax(hidden(Q @ K.T / scale(Q)).ravel()).reshape(len(Q), -1) @ V,
        "softmax-whole",
    ),
    "masked to 0": (filled(0.0), "mask-value-0"),
    "masked to -1e-9": (filled(-1e-9), "mask-value-0"),
    "masked to +inf": (filled(np.inf), "mask-sign"),
    "masked to -1e9": (filled(-1e9), "mask-finite-fill"),
    "masked to -1e4": (filled(-1e4), "mask-small-fill"),
    "-1e9 added": (lambda Q, K, V: softmax(Q @ K.T / scale(Q) - 1e9 * future(len(Q))) @ V, "mask-added-fill"),
    "zero after": (lambda Q, K, V: np.tril(softmax(Q @ K.T / scale(Q))) @ V, "mask-after"),
    "zero after and renormalised": (renormalised, "mask-renormalised"),
    "tril and renormalised": (tril_and_renormalise, "mask-renormalised"),
    "sentinel": (sentinel, "mask-sentinel"),
    "diagonal blocked": (lambda Q, K, V: softmax(hidden(Q @ K.T / scale(Q), k=0)) @ V, "mask-diag"),
    "k=2": (lambda Q, K, V: softmax(hidden(Q @ K.T / scale(Q), k=2)) @ V, "mask-one-ahead"),
    "inverted": (
        lambda Q, K, V: softmax(np.where(future(len(Q)), Q @ K.T / scale(Q), -np.inf)) @ V,
        "polarity",
    ),
    "past masked": (
        lambda Q, K, V: softmax(np.where(future(len(Q)).T, -np.inf, Q @ K.T / scale(Q))) @ V,
        "mask-past",
    ),
    "0 times inf": (
        lambda Q, K, V: softmax(Q @ K.T / scale(Q) + future(len(Q)) * -np.inf) @ V,
        "mask-times-inf",
    ),
    "no mask": (lambda Q, K, V: softmax(Q @ K.T / scale(Q)) @ V, "mask-ignored"),
    "uniform": (uniform, "uniform"),
    "argmax": (argmax, "lookup"),
    "the weights": (lambda Q, K, V: softmax(hidden(Q @ K.T / scale(Q))), "output-is-weights"),
    "the scores": (lambda Q, K, V: Q @ K.T / scale(Q), "output-is-scores"),
    "keys for values": (lambda Q, K, V: softmax(hidden(Q @ K.T / scale(Q))) @ K, "output-is-key"),
    "weights transposed": (lambda Q, K, V: softmax(hidden(Q @ K.T / scale(Q))).T @ V, "heat-swap"),
    "no maximum subtracted": (unstable, "no-maximum"),
    "writes on Q": (writes_on_its_input, "mutates"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.filterwarnings("error")
def test_causal_attention_with_this_fault_is_refused_by_its_name(name):
    function, id = WRONG[name]
    result = check("06-causal-attention", function)
    assert (result.passed, result.misconception) == (False, id)
    assert result.score < 1


@pytest.mark.parametrize(
    ("name", "shows"),
    [
        ("zero after and renormalised", "1273"),  # a future score of 900
        ("masked to -1e9", "-2.828e+09"),
        ("masked to -1e4", "-2.828e+04"),
        ("sentinel", " 1.5,    0]"),
        ("no scale", "-1.4, -1.3, -0.2]]"),  # two positions
        ("no mask", "V = [[10],"),  # the worked example
    ],
)
def test_the_smallest_input_that_shows_the_fault_is_shown(name, shows):
    rows = dict(check("06-causal-attention", WRONG[name][0]).rows)
    assert shows in rows["your call"]
    assert len(rows["your call"]) < 400


def row_by_row(Q, K, V):
    out = np.zeros((len(Q), V.shape[1]))
    for i in range(len(Q)):
        scores = [sum(Q[i] * K[j]) / scale(Q) for j in range(i + 1)]
        exps = [np.exp(score - max(scores)) for score in scores]
        for j in range(i + 1):
            out[i] += exps[j] / sum(exps) * V[j]
    return out


def by_log_sum_exp(Q, K, V):
    scores = hidden(Q @ K.T / scale(Q))
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)) @ V


def online(Q, K, V):
    largest, total, out = np.full(len(Q), -np.inf), np.zeros(len(Q)), np.zeros((len(Q), V.shape[1]))
    for j in range(len(K)):
        scores = np.where(np.arange(len(Q)) >= j, Q @ K[j] / scale(Q), -np.inf)
        new = np.maximum(largest, scores)
        old_part = np.where(np.isneginf(largest), 0, np.exp(largest - np.where(np.isneginf(new), 0, new)))
        part = np.where(np.isneginf(scores), 0, np.exp(scores - np.where(np.isneginf(new), 0, new)))
        total, out = total * old_part + part, out * old_part[:, None] + part[:, None] * V[j]
        largest = new
    return out / total[:, None]


RIGHT = {
    "einsum": lambda Q, K, V: np.einsum(
        "ij,jv->iv", softmax(hidden(np.einsum("id,jd->ij", Q, K) / scale(Q))), V
    ),
    "-inf added": lambda Q, K, V: (
        softmax(Q @ K.T / scale(Q) + np.triu(np.full((len(Q),) * 2, -np.inf), 1)) @ V
    ),
    "q scaled first": lambda Q, K, V: softmax(hidden((Q / scale(Q)) @ K.T)) @ V,
    "both scaled by the fourth root": lambda Q, K, V: (
        softmax(hidden((Q / scale(Q) ** 0.5) @ (K / scale(Q) ** 0.5).T)) @ V
    ),
    "np.sqrt": lambda Q, K, V: softmax(hidden(Q @ K.T / np.sqrt(Q.shape[-1]))) @ V,
    "row by row": row_by_row,
    "log-sum-exp": by_log_sum_exp,
    "online": online,
    "finfo.min fill": filled(np.finfo(np.float32).min),
    "finfo.min of float64": filled(np.finfo(np.float64).min),
    "tril of True": lambda Q, K, V: (
        softmax(np.where(np.tril(np.ones((len(Q),) * 2)) == 1, Q @ K.T / scale(Q), -np.inf)) @ V
    ),
    "values transposed": lambda Q, K, V: (V.T @ softmax(hidden(Q @ K.T / scale(Q))).T).T,
    "float32 throughout": lambda Q, K, V: (
        softmax(hidden(Q.astype(np.float32) @ K.astype(np.float32).T / scale(Q))).astype(np.float32)
        @ V.astype(np.float32)
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_causal_attention_written_another_way_is_accepted(name):
    result = check("06-causal-attention", RIGHT[name])
    assert result.passed is True, result
    assert (result.misconception, result.score) == (None, 1.0)


WEIGHTS = {
    "where": lambda S, allowed: softmax(np.where(allowed, S, -np.inf)),
    "added": lambda S, allowed: softmax(S + np.where(allowed, 0, -np.inf)),
    "copied and filled": lambda S, allowed: softmax(fill(S.copy(), ~allowed)),
    "exponentials only where allowed": lambda S, allowed: exps_where(S, allowed),
    "masked array": lambda S, allowed: np.asarray(
        softmax(np.ma.masked_array(S, ~allowed)).filled(0), dtype=S.dtype
    ),
    "row by row": lambda S, allowed: np.array(
        [one_row(row, legal) for row, legal in zip(S, allowed, strict=True)]
    ),
    "finfo.min": lambda S, allowed: softmax(np.where(allowed, S, np.finfo(np.float32).min)),
}


def fill(scores, blocked):
    scores[blocked] = -np.inf
    return scores


def exps_where(scores, allowed):
    largest = scores.max(axis=-1, keepdims=True, where=allowed, initial=-np.inf)
    exps = np.exp(scores - largest, where=allowed, out=np.zeros_like(scores))
    return exps / exps.sum(axis=-1, keepdims=True)


def one_row(scores, legal):
    weights = np.zeros_like(scores)
    weights[legal] = softmax(scores[legal])
    return weights


@pytest.mark.parametrize("name", WEIGHTS)
def test_masked_weights_written_another_way_are_accepted(name):
    result = check("04-masked-weights", WEIGHTS[name])
    assert result.passed is True, result


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_and_outputs_from_them_are_accepted(name):
    weights = WEIGHTS[name]

    def legal(Q, K, allowed):
        return np.ones((len(Q), len(K)), dtype=bool) if allowed is None else allowed

    def attention_weights(Q, K, allowed):
        return weights(Q @ K.T / scale(Q), legal(Q, K, allowed))

    assert check_task("attention_weights", attention_weights).passed
    assert check_task("attention", lambda Q, K, V, allowed: attention_weights(Q, K, allowed) @ V).passed
    assert check("01-attention-row", lambda q, K, V: (attention_weights(q[None], K, None) @ V)[0]).passed


SOFTMAX = {
    "subtracting the maximum": softmax,
    "log-sum-exp": lambda S: np.exp(S - np.logaddexp.reduce(S, axis=-1, keepdims=True)),
    "one over a sum": lambda S: 1 / np.exp(np.minimum(S[..., None, :] - S[..., :, None], 700)).sum(axis=-1),
    "along an axis": lambda S: np.apply_along_axis(softmax, -1, S),
    "subtracting more": lambda S: softmax(S - S.max() - 5.0) if S.ndim == 1 else softmax(S),
    "moved axis": lambda S: np.moveaxis(softmax(np.moveaxis(S, -1, 0), axis=0), 0, -1),
}


@pytest.mark.parametrize("name", SOFTMAX)
def test_softmax_written_another_way_is_accepted(name):
    result = check("01-softmax", SOFTMAX[name])
    assert result.passed is True, result


PATTERNS = {
    "tril": lambda n: np.tril(np.ones((n, n), dtype=bool)),
    "not triu": lambda n: ~np.triu(np.ones((n, n), dtype=bool), 1),
    "tri": lambda n: np.tri(n, dtype=bool),
    "compared": lambda n: np.arange(n)[:, None] >= np.arange(n),
    "list": lambda n: np.array([[j <= i for j in range(n)] for i in range(n)]),
    "float, then bool": lambda n: np.tril(np.ones((n, n))).astype(bool),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_causal_pattern_written_another_way_is_accepted(name):
    assert check("04-causal-pattern", PATTERNS[name]).passed is True


def loop_over_heads(X, W_Q, W_K, W_V, W_O, n_heads, allowed):
    if X.ndim == 3:
        return np.stack([loop_over_heads(x, W_Q, W_K, W_V, W_O, n_heads, allowed) for x in X])
    d_k, d_v, out = W_Q.shape[1] // n_heads, W_V.shape[1] // n_heads, 0
    for h in range(n_heads):
        k, v = slice(h * d_k, (h + 1) * d_k), slice(h * d_v, (h + 1) * d_v)
        scores = (X @ W_Q[:, k]) @ (X @ W_K[:, k]).T / d_k**0.5
        out = out + softmax(np.where(allowed, scores, -np.inf)) @ (X @ W_V[:, v]) @ W_O[v]
    return out


def test_multi_head_attention_as_a_loop_is_accepted():
    assert check_task("multi_head_attention", loop_over_heads).passed is True


def test_splitting_and_merging_with_einops_like_axes_are_accepted():
    def split(X, n_heads):
        return np.stack(np.split(X, n_heads, axis=-1), axis=-3)

    def merge(H):
        return np.concatenate([H[..., h, :, :] for h in range(H.shape[-3])], axis=-1)

    assert check_task("split_heads", split).passed is True
    assert check_task("merge_heads", merge).passed is True


# E06: comparisons that broadcast, or take NaN and nothing for equal.
@pytest.mark.parametrize(
    "answer",
    [
        lambda Q, K, V: np.full(V.shape, np.nan),
        lambda Q, K, V: np.array([]),
        lambda Q, K, V: np.float64(10.0),
        lambda Q, K, V: 10.0,
        lambda Q, K, V: softmax(hidden(Q @ K.T / scale(Q))) @ V[:, :1],
        lambda Q, K, V: (softmax(hidden(Q @ K.T / scale(Q))) @ V).T,
        lambda Q, K, V: (softmax(hidden(Q @ K.T / scale(Q))) @ V)[..., None],
        lambda Q, K, V: (softmax(hidden(Q @ K.T / scale(Q))) @ V).ravel(),
        lambda Q, K, V: np.zeros_like(V),
        lambda Q, K, V: (softmax(hidden(Q @ K.T / scale(Q))) @ V).tolist(),
        lambda Q, K, V: (softmax(hidden(Q @ K.T / scale(Q))) @ V).astype(int),
        lambda Q, K, V: (softmax(hidden(Q @ K.T / scale(Q))) @ V).astype(np.float16),
        lambda Q, K, V: (softmax(hidden(Q @ K.T / scale(Q))) @ V).astype(complex),
        lambda Q, K, V: (softmax(hidden(Q @ K.T / scale(Q))) @ V) * (1 + 1e-5),
        lambda Q, K, V: V,
        lambda Q, K, V: print("nothing returned"),
    ],
)
def test_what_only_looks_equal_is_refused(answer):
    result = check("06-causal-attention", answer)
    assert result.passed is False
    assert result.score < 1


def test_a_pattern_of_numbers_is_no_pattern():
    result = check("04-causal-pattern", lambda n: np.tril(np.ones((n, n))))
    assert result.passed is False
    assert "bool" in repr(result)


def torch_functions():
    torch = optional("torch")

    def right(Q, K, V):
        scores = Q @ K.transpose(-2, -1) / Q.shape[-1] ** 0.5
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), float("-inf"))
        return scores.softmax(dim=-1) @ V

    def causal(scores):
        return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), float("-inf"))

    def on_its_input(Q, K, V):
        Q.div_(Q.shape[-1] ** 0.5)
        return causal(Q @ K.T).softmax(-1) @ V

    return torch, {
        "right": (right, None),
        "no scale": (lambda Q, K, V: causal(Q @ K.T).softmax(-1) @ V, "scale-missing"),
        "wrong axis": (lambda Q, K, V: causal(Q @ K.T / Q.shape[-1] ** 0.5).softmax(0) @ V, "axis"),
        "no mask": (lambda Q, K, V: (Q @ K.T / Q.shape[-1] ** 0.5).softmax(-1) @ V, "mask-ignored"),
        "zero after": (lambda Q, K, V: (Q @ K.T / Q.shape[-1] ** 0.5).softmax(-1).tril() @ V, "mask-after"),
        "weights": (lambda Q, K, V: causal(Q @ K.T / Q.shape[-1] ** 0.5).softmax(-1), "output-is-weights"),
        "in place": (on_its_input, "mutates"),
        "NumPy array": (lambda Q, K, V: right(Q, K, V).numpy(), False),
        "-1e9": (
            lambda Q, K, V: (
                (Q @ K.T / Q.shape[-1] ** 0.5)
                .masked_fill(torch.ones(len(Q), len(Q), dtype=torch.bool).triu(1), -1e9)
                .softmax(-1)
                @ V
            ),
            "mask-finite-fill",
        ),
    }


def test_the_same_rules_hold_in_torch():
    _, functions = torch_functions()
    for name, (function, id) in functions.items():
        result = check("06-causal-attention", function, framework="torch")
        assert result.passed is (id is None), (name, result)
        assert result.misconception == (id or None), (name, result)


def test_a_mask_on_the_cpu_is_remarked_on():
    torch, functions = torch_functions()

    def on_the_cpu(Q, K, V):
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        return (
            scores.masked_fill(torch.ones(scores.shape, dtype=torch.bool).triu(1), float("-inf")).softmax(-1)
            @ V
        )

    result = check("06-causal-attention", on_the_cpu, framework="torch")
    assert result.passed is True
    assert "on a GPU this would stop" in repr(result)
    assert not check("06-causal-attention", functions["right"][0], framework="torch").notes


def test_the_same_rules_hold_in_jax():
    jax = optional("jax")
    jnp = jax.numpy

    def causal(scores):
        return jnp.where(jnp.triu(jnp.ones_like(scores, dtype=bool), k=1), -jnp.inf, scores)

    def scores(Q, K):
        return Q @ K.T / Q.shape[-1] ** 0.5

    functions = {
        "right": (lambda Q, K, V: jax.nn.softmax(causal(scores(Q, K)), axis=-1) @ V, None),
        "jitted": (jax.jit(lambda Q, K, V: jax.nn.softmax(causal(scores(Q, K)), axis=-1) @ V), None),
        "no scale": (lambda Q, K, V: jax.nn.softmax(causal(Q @ K.T), axis=-1) @ V, "scale-missing"),
        "wrong axis": (lambda Q, K, V: jax.nn.softmax(causal(scores(Q, K)), axis=0) @ V, "axis"),
        "no mask": (lambda Q, K, V: jax.nn.softmax(scores(Q, K), axis=-1) @ V, "mask-ignored"),
        "zero after": (lambda Q, K, V: jnp.tril(jax.nn.softmax(scores(Q, K), axis=-1)) @ V, "mask-after"),
        "NumPy array": (lambda Q, K, V: np.asarray(jax.nn.softmax(causal(scores(Q, K)), axis=-1) @ V), False),
    }
    for name, (function, id) in functions.items():
        result = check("06-causal-attention", function, framework="jax")
        assert result.passed is (id is None), (name, result)
        assert result.misconception == (id or None), (name, result)
