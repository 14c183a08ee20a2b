"""The right functions by name, and the parts of a result that a question can ask for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from . import attention, conventions, fixture, gallery, influence, patterns, tiled


@dataclass(frozen=True)
class Task:
    """A right function; its parameters name the inputs it takes."""

    name: str
    truth: Callable[..., Any]

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        return tuple(inspect.signature(self.truth).parameters)


def scores(Q, K):
    """Scaled scores: (n_q, d_k) @ (d_k, n_k) -> (n_q, n_k)."""
    Q, K = np.asarray(Q), np.asarray(K)
    return Q @ K.T / Q.shape[-1] ** 0.5


def weighted_sum(weights, values):
    """One output: (n_k,) @ (n_k, d_v) -> (d_v,)."""
    return np.asarray(weights) @ np.asarray(values)


def shifted_softmax(scores, shift=0.0, dtype="float64"):
    """Weights after the same amount (or one per column) is added to the scores in the given precision."""
    return attention.softmax(np.asarray(scores, dtype=dtype) + np.asarray(shift, dtype=dtype))


def pattern(allowed):
    """Who may read whom."""
    return allowed


def masked_weights(scores, allowed=None):
    """Weights over the allowed keys of scores that are scaled already."""
    return attention.softmax(scores if allowed is None else np.where(allowed, scores, -np.inf))


def attention_row(q, K, V):
    """The output of one query: (d_k,), (n_k, d_k), (n_k, d_v) -> (d_v,)."""
    return attention.attention(np.asarray(q)[None], K, V)[0]


def full_attention(Q, K, V):
    """Attention where every query may read every key: (n_q, d_k), (n_k, d_k), (n_k, d_v) -> (n_q, d_v)."""
    return attention.attention(Q, K, V)


def _drawn(seed, count, size):
    """Square weight matrices, drawn as the notebooks draw them."""
    return np.random.default_rng(seed).normal(size=(count, size, size))


def each_alone(X, seed=0):
    """A network of two layers that takes each row of X by itself."""
    W_1, W_2 = _drawn(seed, 2, np.shape(X)[-1])
    return np.maximum(np.asarray(X) @ W_1, 0) @ W_2


def self_attention(X, seed=0):
    """Attention without positions or a mask: queries, keys and values are made of the rows of X."""
    return attention.attention(*(np.asarray(X) @ W for W in _drawn(seed, 3, np.shape(X)[-1])))


def changed_counts(X, X_after):
    """How many rows of Q, of K and of V differ between two inputs, and how many entries of Q @ K.T."""
    before, after = ([np.asarray(one) @ W for W in _drawn(0, 3, np.shape(X)[-1])] for one in (X, X_after))
    rows = [np.any(one != other, axis=-1).sum() for one, other in zip(before, after, strict=True)]
    return np.array([*rows, np.sum(before[0] @ before[1].T != after[0] @ after[1].T)])


def projection_of_sizes(T, d_model, d_k):
    """X @ W, where only the sizes matter."""
    return np.zeros((T, d_model)) @ np.zeros((d_model, d_k))


def sizes_of_attention(n_q, n_k, d_model, d_k, d_v):
    """Shapes of the weights and of the output, a row each."""
    weights = np.zeros((n_q, d_k)) @ np.zeros((n_k, d_k)).T
    return np.array([weights.shape, (weights @ np.zeros((n_k, d_v))).shape])


def readings(A, values):
    """What each position reads, from weights (n_q, n_k) and a value for each key."""
    return np.asarray(A) @ np.asarray(values)


def dot_variance(sizes):
    """Variance of q · k for these d_k; features independent, of mean 0 and variance 1."""
    return np.asarray(sizes, dtype=float)


def scaled_variance(sizes):
    """The same after the division by √d_k."""
    return dot_variance(sizes) / np.sqrt(sizes) ** 2


def aligned_scores(sizes):
    """Scores of a key that equals its query, for these d_k; every feature is 1 or -1."""
    return np.array([np.ones(int(d_k)) @ np.ones(int(d_k)) / d_k**0.5 for d_k in sizes])


def own_slopes(weights):
    """Growth of a weight with its own score: the derivative, for each weight by itself."""
    weights = np.asarray(weights)
    return weights * (1 - weights)


def softmax_slopes(weights):
    """Derivatives of one row of weights: in row j, what a nudge of score j does to each of them."""
    weights = np.asarray(weights)
    return np.diag(weights) - np.outer(weights, weights)


def weights_beside_values(Q, K, V, allowed=None):
    """Weights where values are at hand as well: they take no part."""
    return attention.attention_weights(Q, K, allowed)


def head_weights(Q, K, n_heads, allowed=None):
    """Weights of one of `n_heads` heads; Q and K are this head's own, d_model / n_heads wide."""
    return attention.attention_weights(Q, K, allowed)


def split_of_sizes(T, d_model, n_heads):
    """Numbered entries cut into heads, where only the sizes matter: (n_heads, T, d_model / n_heads)."""
    return attention.split_heads(np.arange(T * d_model).reshape(T, d_model), n_heads)


def scores_of_sizes(T, d_model, n_heads):
    """Scores of all heads, where only the sizes matter: (n_heads, T, T)."""
    heads = split_of_sizes(T, d_model, n_heads)
    return heads @ heads.swapaxes(-2, -1)


def cross_weights_of_sizes(n_q, n_k, d_model, n_heads):
    """Weights of all heads in cross-attention, where only the sizes matter: (n_heads, n_q, n_k)."""
    queries, keys = (np.zeros((n_heads, n, d_model // n_heads)) for n in (n_q, n_k))
    return attention.attention_weights(queries, keys)


def reshape_alone(X, n_heads):
    """What a reshape to the shape of the heads does: (T, d_model) -> (n_heads, T, d_head), no axes swapped."""
    T, d_model = np.shape(X)
    return np.reshape(X, (n_heads, T, d_model // n_heads))


def head_row(dots, d_model, n_heads):
    """Weights of one head's query from its dot products, which are not divided yet."""
    return attention.softmax(np.asarray(dots) / (d_model / n_heads) ** 0.5)


def joined_features(queries, keys, values):
    """Outputs of all heads, joined, a row for each feature: (n_heads, T, d_head) -> (n_heads * d_head, T)."""
    return attention.merge_heads(attention.attention(queries, keys, values)).T


def weights_of_texts(texts, n_heads, keep):
    """Weights in each text and head, a row each, as NumPy lays the pattern of the keys on the scores."""
    heads = attention.split_heads(texts, n_heads)
    scores = heads @ heads.swapaxes(-2, -1) / heads.shape[-1] ** 0.5
    weights = attention.softmax(np.where(patterns.keys(keep), scores, -np.inf))
    return weights.reshape(len(texts) * n_heads, -1)


def head_costs(T, d_model, n_heads, itemsize=4):
    """Parameters, multiplications in matrix products, bytes of scores, exponentials: one layer, one text."""
    products = 4 * T * d_model**2 + 2 * T**2 * d_model  # four projections; scores and the sums of values
    return np.array([4 * d_model**2, products, n_heads * T**2 * itemsize, n_heads * T**2])


def average_of_heads(queries, keys):
    """The mean of all heads' weights: (n_heads, T, d_head) each -> (T, T)."""
    return attention.attention_weights(queries, keys).mean(axis=0)


def causal_and_padding(keep):
    """Who may read whom in one text with padding: (n,) -> (n, n)."""
    return patterns.causal(len(keep)) & patterns.keys(keep)


def window_and_padding(keep, width):
    """The same, where a query reads no further back than a window of `width` keys."""
    return patterns.window(len(keep), width) & patterns.keys(keep)


def cached_pattern(n_q, n_k):
    """Who may read whom when the last `n_q` of `n_k` positions are new and the others are kept."""
    return patterns.causal(n_q, n_k, align="bottom-right")


def bare_softmax(scores):
    """What a softmax gives that looks after nothing but size: NaN for a row of nothing but −∞."""
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


def filled_weights(scores, allowed, fill=-1e9):
    """What comes of a row, read by a key or not, when `fill` stands in the place of a blocked score."""
    return bare_softmax(np.where(allowed, scores, fill))


def empty_output(scores, values, fill=-1e9):
    """The output of a query that may read nothing, with `fill` in the place of each score."""
    return filled_weights(scores, np.zeros(np.shape(scores), dtype=bool), fill) @ values


def added_weights(scores, M, more=0.0, dtype="float64"):
    """What comes of a row when one plane of numbers, or two, are added to the scores in the given precision."""
    total = np.asarray(scores, dtype) + np.asarray(M, dtype) + np.asarray(more, dtype)
    return bare_softmax(total.astype(float))


def nan_count(weights, V):
    """How many numbers of the output are NaN: (n_q, n_k) @ (n_k, d_v)."""
    return np.isnan(weights @ V).sum()


def by_library(given, values):
    """Outputs of equal scores where each library reads the boolean array `given` in its own way: (4,)."""
    means = (conventions.FUNCTIONS[name].true for name in conventions.LIBRARIES)
    return np.array([values[given if true == "allowed" else ~given].mean() for true in means])


def to_allowed(given, kind):
    """Read a mask of a named kind: "additive" (0 or −∞), "blocked" or "allowed" (what True or 1 means)."""
    return given != 0 if kind == "allowed" else given == 0


def caller_after(Q, lines=("",)):
    """What the caller's Q holds, flat, after each line has run in a function that was handed Q."""
    held = [np.array(Q, dtype=float) for _ in lines]
    for array, line in zip(held, lines, strict=True):
        exec(str(line), {"np": np, "Q": array})
    return np.array([array.ravel() for array in held])


def bytes_each(d_k, dtype="float32"):
    """Bytes of one number of the dot products, of these divided by d_k ** 0.5, and by np.sqrt(d_k)."""
    dots = np.ones((2, 2), dtype)
    return np.array([array.itemsize for array in (dots, dots / d_k**0.5, dots / np.sqrt(d_k))])


def entries(T, d_k):
    """How many numbers Q, the scores and the output of one head hold; values are as wide as keys."""
    return np.array([T * d_k, T * T, T * d_k])


def score_bytes_of_all(T, itemsize, n_heads, n_layers):
    """Bytes of the scores of one head, of one layer and of all layers, for one text."""
    return T * T * itemsize * np.array([1, n_heads, n_heads * n_layers])


def bytes_beside_mask(T, itemsize):
    """Bytes of the scores, of the scores with the future blocked, and of the boolean pattern."""
    return T * T * np.array([itemsize, itemsize, np.dtype(bool).itemsize])


def next_score(running_max, running_sum, score):
    """The largest score so far, and the sum of exp(score - largest), once one more score has come."""
    largest = max(running_max, score)
    return np.array([largest, running_sum * np.exp(running_max - largest) + np.exp(score - largest)])


def next_tile(scores, running_max, running_sum):
    """The same for several queries, a row each, and several scores of each: (n_q, 2)."""
    largest = np.hstack([running_max, scores]).max(axis=-1, keepdims=True)
    exps = np.exp(scores - largest).sum(axis=-1, keepdims=True)
    return np.hstack([largest, running_sum * np.exp(running_max - largest) + exps])


def add_tile(scores, V, running_max, running_sum, out):
    """What `tiled.add_tile` makes of a state, side by side: (n_q, 1 + 1 + d_v)."""
    state = [np.array(one, dtype=float) for one in (running_max, running_sum, out)]
    tiled.add_tile(np.array(scores, dtype=float), np.asarray(V, dtype=float), *state)
    return np.hstack(state)


def row_in_tiles(scores, values, size):
    """One feature of the output of one query whose keys come `size` at a time: the size changes nothing."""
    return attention.softmax(np.asarray(scores)) @ np.asarray(values)


def tiled_attention(Q, K, V, allowed, size):
    """Attention over the allowed keys, which come `size` at a time: the size changes nothing."""
    return attention.attention(Q, K, V, allowed)


def tiled_counts(T, d_v, side):
    """Scores held at once, numbers kept of all queries, and scores computed, by square tiles."""
    return np.array([side * side, T * (1 + 1 + d_v), T * T])


def alarms(plates):
    """Which plates have rows that do not make 1, and which weight on a later key, as 1 or 0: (1, plates, 2)."""
    shown = gallery.pictures(plates)
    off = ~np.isclose(shown.sum(axis=-1), 1).all(axis=-1)
    return np.stack([off, np.triu(shown, k=1).any(axis=(-2, -1))], axis=-1)[None].astype(int)


def own_shades(panels):
    """How dark each cell is, 0 to 1, where every panel stretches its own smallest and largest weight."""
    low, high = (end(axis=(-2, -1), keepdims=True) for end in (panels.min, panels.max))
    return (panels - low) / (high - low)


def pale_and_allowed(plate):
    """How many cells that a causal query may read are drawn as pale as 0."""
    return (gallery.pale(plate) & patterns.causal(4)).sum()


def heights_seen(tokens, row):
    """Sum of the bars that can be seen where equal names share one place, and the tallest hides the others."""
    return sum(row[np.asarray(tokens) == token].max() for token in np.unique(tokens))


def picture_of_head(heads, head, allowed):
    """Numbers to draw for one of several heads: its weights, and -1 where a cell is blocked."""
    return np.where(allowed, heads[head], -1)


def value_lengths(weights, V):
    """Length of what each key adds to one output: (n_k,), (n_k, d_v) -> (n_k,)."""
    return weights * np.linalg.norm(V, axis=-1)


def edge_lengths(A, V, W_O):
    """Length of what each edge writes: (n_q, n_k), (n_k, d_v), (d_v, d_model) -> (n_q, n_k)."""
    return A * np.linalg.norm(V @ W_O, axis=-1)


def head_ranks(heads, n):
    """Ranks of heads of the tiny model by what taking each out costs, 1 for the most; each is (layer, head)."""
    return influence.ranks(influence.columns(heads, "mean", n))


def edge_costs():
    """What two edges of the tiny model are worth, a bright one and a dim one: (1, 2)."""
    return influence.edges()["change"][None]


def ways_to_take_out(head, hows, n):
    """What a head of the tiny model costs, by each way of taking it out: (1, ways)."""
    return np.array([[influence.cost((tuple(head),), str(how), n) for how in hows]])


def far_shares(heads, hows, n):
    """How many positions each ablation takes far from what layer 1 knows, as shares: (1, ablations)."""
    return np.array([[influence.far(tuple(h), str(how), n) for h, how in zip(heads, hows, strict=True)]])


def cost_after(head, gone, n):
    """What a head costs, by mean ablation, once others are gone: (1,)."""
    others = tuple(tuple(int(part) for part in one) for one in gone)
    before = influence.cost(others, "mean", n) if others else 0.0
    return np.array([influence.cost((*others, tuple(head)), "mean", n) - before])


TASKS: dict[str, Task] = {
    name: Task(name, truth)
    for name, truth in {
        "dot": lambda u, v: np.dot(u, v),
        "exp": lambda x: np.exp(x),
        "mean": lambda values: np.mean(values),
        "product": lambda left, right: np.asarray(left) @ np.asarray(right),
        "product_of_shapes": lambda left, right: np.zeros(left) @ np.zeros(right),
        "scores": scores,
        "softmax": attention.softmax,
        "shifted_softmax": shifted_softmax,
        "weighted_sum": weighted_sum,
        "attention_weights": attention.attention_weights,
        "attention": attention.attention,
        "causal_attention": attention.causal_attention,
        "causal_pattern": patterns.causal,
        "pattern": pattern,
        "split_heads": attention.split_heads,
        "merge_heads": attention.merge_heads,
        "multi_head_attention": attention.multi_head_attention,
        "masked_weights": masked_weights,
        "attention_row": attention_row,
        "weights_beside_values": weights_beside_values,
        "full_attention": full_attention,
        "each_alone": each_alone,
        "self_attention": self_attention,
        "changed_counts": changed_counts,
        "projection_of_sizes": projection_of_sizes,
        "sizes_of_attention": sizes_of_attention,
        "readings": readings,
        "dot_variance": dot_variance,
        "scaled_variance": scaled_variance,
        "aligned_scores": aligned_scores,
        "own_slopes": own_slopes,
        "softmax_slopes": softmax_slopes,
        "head_weights": head_weights,
        "head_width": lambda d_model, n_heads: d_model // n_heads,
        "head_scale": lambda d_model, n_heads: (d_model / n_heads) ** 0.5,
        "parameters": lambda d_model, n_heads: 4 * d_model**2,  # W_Q, W_K, W_V and W_O
        "score_bytes": lambda T, itemsize=4, n_heads=1, n_layers=1: T * T * itemsize * n_heads * n_layers,
        "score_growth": lambda before, after: (after / before) ** 2,
        "outputs": fixture.outputs,
        "caller_after": caller_after,
        "bytes_each": bytes_each,
        "split_of_sizes": split_of_sizes,
        "scores_of_sizes": scores_of_sizes,
        "cross_weights_of_sizes": cross_weights_of_sizes,
        "reshape_alone": reshape_alone,
        "head_row": head_row,
        "joined_features": joined_features,
        "weights_of_texts": weights_of_texts,
        "head_costs": head_costs,
        "average_of_heads": average_of_heads,
        "causal_and_padding": causal_and_padding,
        "window_and_padding": window_and_padding,
        "cached_pattern": cached_pattern,
        "filled_weights": filled_weights,
        "empty_output": empty_output,
        "added_weights": added_weights,
        "nan_count": nan_count,
        "by_library": by_library,
        "to_allowed": to_allowed,
        "alarms": alarms,
        "own_shades": own_shades,
        "pale_and_allowed": pale_and_allowed,
        "heights_seen": heights_seen,
        "picture_of_head": picture_of_head,
        "value_lengths": value_lengths,
        "edge_lengths": edge_lengths,
        "head_ranks": head_ranks,
        "edge_costs": edge_costs,
        "ways_to_take_out": ways_to_take_out,
        "far_shares": far_shares,
        "cost_after": cost_after,
        "entries": entries,
        "score_bytes_of_all": score_bytes_of_all,
        "bytes_beside_mask": bytes_beside_mask,
        "next_score": next_score,
        "next_tile": next_tile,
        "add_tile": add_tile,
        "row_in_tiles": row_in_tiles,
        "tiled_attention": tiled_attention,
        "tiled_counts": tiled_counts,
    }.items()
}


def resolve(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Turn inputs as a question writes them into what a task takes.

    One query ``q`` becomes ``Q`` with one row; ``allowed`` is built from its description,
    ``{pattern = "causal", n = 4}``, ``{keys = [1, 1, 0]}``, rows of 0 and 1, or a list of such tables
    (combined with ``&``); lists of numbers become arrays.
    """
    ready = {
        name: np.array(value) if isinstance(value, list) and name != "allowed" else value
        for name, value in inputs.items()
    }
    if "q" in ready and "Q" not in ready:
        ready["Q"] = ready["q"][None]
    if "allowed" in ready:
        ready["allowed"] = _allowed(ready["allowed"])
    return ready


def _allowed(described: Any) -> np.ndarray:
    if isinstance(described, Mapping):
        if "keys" in described:
            return patterns.keys(described["keys"])
        arguments = {name: value for name, value in described.items() if name != "pattern"}
        return getattr(patterns, described["pattern"])(**arguments)
    if isinstance(described, list) and described and isinstance(described[0], Mapping):
        return np.logical_and.reduce(np.broadcast_arrays(*(_allowed(one) for one in described)))
    return np.asarray(described, dtype=bool)


def run(name: str, inputs: Mapping[str, Any], program: Callable[..., Any] | None = None) -> Any:
    """Run a task's right function, or a wrong ``program`` of the same signature, on a question's inputs."""
    task = TASKS[name]
    ready = resolve(inputs)
    with np.errstate(all="ignore"):
        return (program or task.truth)(**{key: ready[key] for key in task.inputs if key in ready})


def _same(pair) -> str:
    before, after = (np.asarray(one, dtype=float) for one in pair)
    return (
        "same"
        if before.shape == after.shape and np.allclose(before, after, atol=1e-6, equal_nan=True)
        else "different"
    )


def _sharpness(pair) -> str:
    before, after = (float(np.max(one)) for one in pair)
    return "same" if np.isclose(before, after, atol=1e-9) else ("sharper" if after > before else "flatter")


def _rows_that_change(pair) -> np.ndarray:
    before, after = (np.asarray(one, dtype=float) for one in pair)
    return ~np.isclose(before, after, atol=1e-9, equal_nan=True).all(axis=-1)[None]  # (1, n_q)


def _against_one(value) -> str:
    total = float(np.sum(value))
    if not np.isfinite(total):
        return "undefined"
    return "one" if np.isclose(total, 1, atol=1e-6) else ("below" if total < 1 else "above")


def _spread(row) -> str:
    row = np.asarray(row, dtype=float)
    if np.isclose(row.max(), row.sum()):
        return "one key"
    return "equal" if np.allclose(row, row[0]) else "uneven"


def _change(pair) -> str:
    before, after = (float(one) for one in pair)
    return "same" if np.isclose(before, after, atol=1e-9) else ("grows" if after > before else "shrinks")


def _heat(pair) -> str:
    before, after = (np.asarray(one, dtype=float) for one in pair)
    return "leaks" if np.any((before == 0) & (after > 0)) else _sharpness(pair)


WHOLE: dict[str, Callable[[Any], Any]] = {
    "all": np.asarray,
    "shape": lambda value: np.shape(value),
    "counts": lambda value: np.asarray(value).sum(axis=-1),  # legal keys per query
    "same or different": _same,
    "sharper or flatter": _sharpness,
    "rows that change": _rows_that_change,
    "factors": lambda pair: np.asarray(pair[1]) / np.asarray(pair[0]),  # of growth
}
ONE_ROW: dict[str, Callable[[Any], Any]] = {
    "row": lambda row: row,
    "sum of row": lambda row: float(np.sum(row)),
    "sum against one of row": _against_one,  # "below", "one", "above" or "undefined"
    "winner of row": lambda row: f"key {int(np.argmax(row))}",
    "spread of row": _spread,  # "one key", "equal" or "uneven"
}
ROW_OF_PAIR: dict[str, Callable[[Any], Any]] = {
    "heat of row": _heat,  # "sharper", "flatter", "same", or "leaks" where a weight of 0 grows
}


def read(value: Any, part: str) -> Any:
    """The part of a result that a question asks for.

    ``"all"``, ``"shape"``, ``"counts"``; ``"row 2"``, ``"sum of row 2"``, ``"sum against one of row 2"``,
    ``"winner of row 2"``, ``"spread of row 2"``; ``"cell 1 0"``; of a pair (before, after):
    ``"same or different"``, ``"sharper or flatter"``, ``"rows that change"``, ``"factors"``,
    ``"heat of row 2"``, ``"change of cell 1 0"``.

    >>> read([[0.5, 0.5], [0.2, 0.7]], "sum against one of row 1")
    'below'
    """
    if part in WHOLE:
        return WHOLE[part](value)
    name, _, at = part.rpartition(" ")
    if name in ONE_ROW:
        return ONE_ROW[name](np.asarray(value)[int(at)])
    if name in ROW_OF_PAIR:
        return ROW_OF_PAIR[name]([np.asarray(one)[int(at)] for one in value])
    if part.startswith("change of cell "):
        return _change([read(one, part.removeprefix("change of ")) for one in value])
    if part.startswith("cell "):
        return np.asarray(value)[tuple(int(index) for index in part.split()[1:])].item()
    known = [*WHOLE, *(f"{name} i" for name in (*ONE_ROW, *ROW_OF_PAIR)), "cell i j", "change of cell i j"]
    raise ValueError(f"part is {part!r}, but a question can ask for one of {known}: name one of these.")
