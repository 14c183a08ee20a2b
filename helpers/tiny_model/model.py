"""The tiny model, forward: two layers of attention on a residual stream, each step named and open to change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import patterns, validate
from ..attention import softmax, split_heads

Floats = NDArray[np.floating]
Run = dict[str, Floats]
Edit = Callable[[Floats, Run], ArrayLike]

N_LAYERS, N_HEADS = 2, 4
WEIGHTS = Path(__file__).with_name("weights.npz")
STEPS = ("in", "q", "k", "v", "scores", "weights", "read", "written")
SITES = (*(f"layer{layer}.{step}" for layer in range(N_LAYERS) for step in STEPS), "out", "logits")

__all__ = ["N_HEADS", "N_LAYERS", "SITES", "WEIGHTS", "Edit", "Run", "forward", "load"]


def load(path: str | Path = WEIGHTS) -> dict[str, Floats]:
    """Read the trained matrices.

    Returns
    -------
    dict
        W_E (vocab, d_model), W_P (T, d_model), W_Q, W_K, W_V, W_O (layers, d_model, d_model), W_U (d_model, vocab),
        in float64, so that measurements come out the same on every machine.

    Examples
    --------
    >>> load()["W_O"].shape
    (2, 32, 32)
    """
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name].astype(np.float64) for name in arrays.files}


def forward(weights: Mapping[str, Floats], tokens: ArrayLike, edits: Mapping[str, Edit] | None = None) -> Run:
    """Run the model and keep every step by name.

    Parameters
    ----------
    weights : mapping
        As `load` returns them.
    tokens : array_like of int, shape (..., T)
        One sequence, or a batch of them.
    edits : mapping from a name in `SITES` to a function, optional
        ``edit(value, run)`` is called where that step has been computed, with all steps before it in `run`, and
        what it returns goes on in its place. It must not change `value` itself.

    Returns
    -------
    dict
        For each layer, "layer0." and "layer1." before the name:

        - "in", the residual stream it reads, (..., T, d_model);
        - "q", "k", "v", (..., heads, T, d_head);
        - "scores" and "weights", (..., heads, T, T), rows are queries;
        - "read", what each head reads, A·V, (..., heads, T, d_head);
        - "written", what it adds to the stream, A·V·W_O, (..., heads, T, d_model).

        Then "out", the stream at the end, (..., T, d_model), "logits", (..., T, vocab), and "loss",
        -ln(probability of the next token), (..., T - 1).

    Raises
    ------
    ValueError
        If a token or an edited step does not exist, a sequence is too long, or an edit changes a shape.

    Examples
    --------
    >>> run = forward(load(), [0, 1, 8, 15])
    >>> run["layer1.weights"].shape, run["loss"].shape
    ((4, 4, 4), (3,))
    """
    tokens, edits = _tokens(tokens, weights), _edits(edits)
    run: Run = {}

    def keep(name: str, value: Floats) -> Floats:
        run[name] = _changed(name, value, edits[name](value, run)) if name in edits else value
        return run[name]

    T = tokens.shape[-1]
    allowed = patterns.causal(T)
    x = weights["W_E"][tokens] + weights["W_P"][:T]  # (..., T, d_model)
    for layer in range(N_LAYERS):
        W_Q, W_K, W_V, W_O = (weights[name][layer] for name in ("W_Q", "W_K", "W_V", "W_O"))
        x = keep(f"layer{layer}.in", x)
        q = keep(f"layer{layer}.q", split_heads(x @ W_Q, N_HEADS))  # (..., heads, T, d_head)
        k = keep(f"layer{layer}.k", split_heads(x @ W_K, N_HEADS))
        v = keep(f"layer{layer}.v", split_heads(x @ W_V, N_HEADS))
        scores = q @ k.swapaxes(-2, -1) / q.shape[-1] ** 0.5  # (..., heads, T, T)
        scores = keep(f"layer{layer}.scores", np.where(allowed, scores, -np.inf))
        A = keep(f"layer{layer}.weights", softmax(scores))
        read = keep(f"layer{layer}.read", A @ v)  # (..., heads, T, d_head)
        # Each head has its own rows of W_O; the sum over heads is merge_heads(read) @ W_O.
        rows = W_O.reshape(N_HEADS, -1, W_O.shape[-1])
        written = keep(f"layer{layer}.written", read @ rows)  # (..., heads, T, d_model)
        x = x + written.sum(axis=-3)
    x = keep("out", x)
    logits = keep("logits", x @ weights["W_U"])  # (..., T, vocab)
    right = np.take_along_axis(logits[..., :-1, :], tokens[..., 1:, None], axis=-1)[..., 0]
    run["loss"] = np.logaddexp.reduce(logits[..., :-1, :], axis=-1) - right
    return run


def _tokens(tokens: ArrayLike, weights: Mapping[str, Floats]) -> NDArray[np.integer]:
    tokens = np.asarray(tokens)
    vocab, longest = len(weights["W_E"]), len(weights["W_P"])
    if tokens.dtype.kind not in "iu" or tokens.size == 0 or tokens.min() < 0 or tokens.max() >= vocab:
        got = f"{tokens.dtype} from {tokens.min()} to {tokens.max()}" if tokens.size else "none"
        raise validate.refusal(f"tokens must be whole numbers, 0 to {vocab - 1}", got, "0 is ^, 1 is a")
    if tokens.ndim == 0 or not 2 <= tokens.shape[-1] <= longest:
        fix = "shorten it; the first of two tokens has one to predict"
        raise validate.refusal(f"a sequence has 2 to {longest} tokens", f"shape {tokens.shape}", fix)
    return tokens


def _edits(edits: Mapping[str, Edit] | None) -> Mapping[str, Edit]:
    unknown = sorted(set(edits or ()) - set(SITES))
    if unknown:
        fix = f"choose of {', '.join(SITES)}"
        raise validate.refusal("an edit must name a step", ", ".join(unknown), fix)
    return edits or {}


def _changed(name: str, before: Floats, after: ArrayLike) -> Floats:
    after = np.asarray(after)
    if after.shape != before.shape:
        fix = "return an array like the one that came in"
        raise validate.refusal(f"the edit of {name} must keep shape {before.shape}", f"{after.shape}", fix)
    return after
