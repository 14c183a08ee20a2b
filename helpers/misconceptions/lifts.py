"""What one wrong step makes of all that is built on it: a wrong softmax, for one, gives wrong weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from .. import patterns
from ..tasks import TASKS
from .catalogue import CATALOGUE, Program
from .plain import blocked, merge, scaled, softmax, split

# fmt: off
COMMONEST = (
    "lookup", "uniform", "mask-ignored", "scale-missing", "score-proportional", "scores-as-weights",
    "not-normalised", "mask-after", "mask-value-0", "scale-dk", "axis", "swap-qk", "heat-swap",
    "polarity", "mask-past", "mask-diag", "mask-one-ahead", "mask-finite-fill", "mask-small-fill",
    "mask-renormalised",
)
# fmt: on

# The axes of one unbatched argument; whatever an array has in front of them is a batch.
AXES = {"Q": 2, "K": 2, "V": 2, "X": 2, "H": 3, "allowed": 2}

# What a task cannot show: it has no such input, or the program is right or another one there.
TEMPERATURE = {"scale-no-effect", "temperature-inverted", "temp"}
EMPTY = {"fullrow", "masked-nan", "align"}
MASKS = {
    id for id, entry in CATALOGUE.items() if entry.task in ("masked_weights", "pattern", "causal_pattern")
}
LEFT_OUT = {
    "full_attention": {*TEMPERATURE, *EMPTY, *MASKS},
    "attention_row": {*TEMPERATURE, *EMPTY, *MASKS, "swap-qk", "heat-swap", "heat-offset", "softmax-whole"},
    # mask-on-queries is mask-past there, and row 0 is a single 1, so that colours need no stretching
    "causal_attention": {*TEMPERATURE, *EMPTY, "mask-on-queries", "padrows", "heat-scale"},
    "multi_head_attention": {*TEMPERATURE, *EMPTY, "output-is-weights", "output-is-scores", "dv-equals-dk"},
    "weights_beside_values": {*TEMPERATURE, "fullrow"},
    "tiled_attention": {*TEMPERATURE, *EMPTY},
    "head_weights": {*TEMPERATURE, "fullrow"},
    # rows of the last two are those of mask-on-queries, or right
    "causal_and_padding": {"align", "mask-past", "mask-only-self"},
}


def read(weights, V):
    """Sum the values by their weights; a value of weight 0 does not count, not even NaN."""
    if weights.shape[-1] != len(V):
        raise ValueError(f"{weights.shape[-1]} weights for {len(V)} values.")
    return np.where(weights[..., None] != 0, weights[..., None] * V, 0).sum(axis=-2)


def _weights(scores, allowed):
    if scores.shape != allowed.shape:
        raise ValueError(f"scores {scores.shape} for a pattern {allowed.shape}.")
    return softmax(blocked(scores, allowed))


def _under_causal(program):
    def lifted(scores, allowed):
        n_q, n_k = scores.shape
        if not np.array_equal(allowed, patterns.causal(n_q, n_k, align="bottom-right")):
            raise ValueError("this wrong pattern stands in for the causal one only.")
        return _weights(scores, program(n_q, n_k, align="bottom-right"))

    return lifted


def _of_each_head(attend):
    """Turn attend(h, Q, K, V, n_heads, allowed) into multi-head attention."""

    def lifted(X, W_Q, W_K, W_V, W_O, n_heads, allowed):
        Q, K, V = (split(X @ W, n_heads) for W in (W_Q, W_K, W_V))
        return merge(np.stack([attend(Q[h], K[h], V[h], n_heads, allowed) for h in range(n_heads)])) @ W_O

    return lifted


# For each task, the tasks whose wrong programs it inherits, and how.
LIFTS: dict[str, dict[str, Callable[[Program], Program]]] = {
    "shifted_softmax": {"softmax": lambda wrong: lambda scores, shift: wrong(scores + shift)},
    "causal_and_padding": {"causal_pattern": lambda wrong: lambda keep: wrong(len(keep)) & keep},
    "empty_output": {
        "filled_weights": lambda wrong: (
            lambda scores, values, fill: wrong(scores, np.zeros(scores.shape, dtype=bool), fill) @ values
        )
    },
    "masked_weights": {
        "softmax": lambda wrong: lambda scores, allowed: wrong(blocked(scores, allowed)),
        "causal_pattern": _under_causal,
        "pattern": lambda wrong: lambda scores, allowed: softmax(blocked(scores, wrong(allowed))),
    },
    "attention_weights": {
        "masked_weights": lambda wrong: lambda Q, K, allowed: wrong(scaled(Q, K), allowed),
        "scores": lambda wrong: lambda Q, K, allowed: _weights(wrong(Q, K), allowed),
    },
    "weights_beside_values": {"attention_weights": lambda wrong: lambda Q, K, allowed: wrong(Q, K, allowed)},
    "head_weights": {"attention_weights": lambda wrong: lambda Q, K, allowed: wrong(Q, K, allowed)},
    "attention": {
        "attention_weights": lambda wrong: (
            lambda Q, K, V, allowed, temperature: read(wrong(Q, K, allowed, temperature=temperature), V)
        )
    },
    "tiled_attention": {"attention": lambda wrong: lambda Q, K, V, allowed: wrong(Q, K, V, allowed)},
    "full_attention": {"attention": lambda wrong: lambda Q, K, V: wrong(Q, K, V)},
    "attention_row": {"attention": lambda wrong: lambda q, K, V: wrong(q[None], K, V)[0]},
    "causal_attention": {"attention": lambda wrong: lambda Q, K, V: wrong(Q, K, V, patterns.causal(len(Q)))},
    "split_of_sizes": {
        "split_heads": lambda wrong: (
            lambda T, d_model, n_heads: wrong(np.arange(T * d_model).reshape(T, d_model), n_heads)
        )
    },
    "head_row": {
        "head_scale": lambda wrong: lambda dots, d_model, n_heads: softmax(dots / wrong(d_model, n_heads))
    },
    "multi_head_attention": {
        "attention": lambda wrong: _of_each_head(lambda Q, K, V, n_heads, allowed: wrong(Q, K, V, allowed)),
        "head_weights": lambda wrong: _of_each_head(
            lambda Q, K, V, n_heads, allowed: read(wrong(Q, K, n_heads, allowed), V)
        ),
    },
}


@cache
def programs_for(task: str) -> MappingProxyType[str, Program]:
    """Return the wrong programs of a task, commonest first.

    Parameters
    ----------
    task : str
        A name in ``helpers.tasks.TASKS``.

    Returns
    -------
    mapping of str to callable
        By the id of the misconception. Each is called as the task's right function is, warns of nothing, and
        raises ValueError where it has no result.

    Examples
    --------
    >>> programs_for("attention_weights")["scale-missing"]([[1, 0]], [[1, 0], [0, 1]]).round(3)
    array([[0.731, 0.269]])
    """
    found = {id: entry.programs[task] for id, entry in CATALOGUE.items() if task in entry.programs}
    left_out = {"mutates", *LEFT_OUT.get(task, ())}  # a step's own array is nobody's input
    for lower, lift in LIFTS.get(task, {}).items():
        for id, program in programs_for(lower).items():
            if id not in left_out:
                found.setdefault(id, lift(program))
    order = [id for id in dict.fromkeys((*COMMONEST, *CATALOGUE)) if id in found]
    return MappingProxyType({id: as_task(task, found[id]) for id in order})


def as_task(task: str, program: Program) -> Program:
    """Make a program callable with all arguments of the task's right function, in a batch as well."""
    signature, takes = inspect.signature(TASKS[task].truth), set(inspect.signature(program).parameters)
    defaults = {
        name: one.default for name, one in signature.parameters.items() if one.default is not one.empty
    }

    def run(*args: Any, **kwargs: Any) -> Any:
        given = {**defaults, **dict(zip(signature.parameters, args, strict=False)), **kwargs}
        if given.keys() != signature.parameters.keys():
            signature.bind(*args, **kwargs)  # raises, and says why; it would take too long for every call
        given = _ready(given, takes)
        try:
            with np.errstate(all="ignore"):
                return _each(given, lambda one: program(**{name: one[name] for name in takes}))
        except (TypeError, AttributeError, IndexError, ArithmeticError) as error:
            raise ValueError(f"this wrong program has no result for these inputs: {error}") from error

    return run


def _ready(given: dict[str, Any], takes: set[str]) -> dict[str, Any]:
    """Prepare arguments: float arrays, `allowed` written out, a temperature that nobody names put into Q."""
    given = {name: _array(name, value) for name, value in given.items()}
    if "allowed" in given and "allowed" in takes and len(given) > 1:
        given["allowed"] = np.broadcast_to(
            True if given["allowed"] is None else given["allowed"], _grid(given)
        )
    if "Q" in given and "temperature" in given and "temperature" not in takes:
        given["Q"] = given["Q"] / given["temperature"]
    return given


def _array(name: str, value: Any) -> Any:
    if not isinstance(value, (list, tuple, np.ndarray)) or name in ("left", "right", "given"):
        return value
    value = np.asarray(value)
    return value.astype(bool if name in ("allowed", "keep") else float) if value.dtype.kind in "iu" else value


def _grid(given: dict[str, Any]) -> tuple[int, ...]:
    """Shape of the scores, (..., n_q, n_k)."""
    if "scores" in given:
        return given["scores"].shape
    if "heads" in given:
        return given["heads"].shape[1:]
    queries, keys = (given[name] if name in given else given["X"] for name in ("Q", "K"))
    return (*queries.shape[:-1], keys.shape[-2])


def _each(given: dict[str, Any], run: Callable[[dict[str, Any]], Any]) -> Any:
    """Run on each item of a batch."""
    leader = next((name for name in ("Q", "X", "H") if name in given), None)
    batch = given[leader].shape[: -AXES[leader]] if leader else ()
    if not batch:
        return run(given)

    def item(name, value, at):
        if name not in AXES or value.ndim == AXES[name]:
            return value
        return np.broadcast_to(value, (*batch, *value.shape[-AXES[name] :]))[at]

    results = [
        run({name: item(name, value, at) for name, value in given.items()}) for at in np.ndindex(batch)
    ]
    return np.reshape(results, (*batch, *np.shape(results[0])))
