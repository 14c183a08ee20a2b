"""What notebook 09 measures of the tiny model, once a session: its questions compute their answers from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .tiny_model import (
    Usual,
    ablate_heads,
    cut_each,
    forward,
    head_table,
    load,
    parts,
    sequences,
)
from .tiny_model.model import N_LAYERS, Run

__all__ = ["Measured", "columns", "cost", "edges", "far", "measured", "ranks"]

PART = 100  # sequences that are run at once
READ = tuple(f"layer{layer}.read" for layer in range(N_LAYERS))  # what ablations take from a reference

# Where `telling_edges` finds them: the search takes seconds and no learner waits for it. A test repeats it.
FOUND = {"sequence": (10, 7), "head": (1, 2), "query": (25, 16), "key": (10, 1)}


@dataclass(frozen=True)
class Measured:
    """Sequences, which predictions fall into the repetition, a run on other sequences, and the table of heads.

    Of the runs, only what is asked of them: the losses of `run`, and what each head of `reference` read.
    """

    weights: dict[str, NDArray[np.floating]]
    tokens: NDArray[np.integer]
    second: NDArray[np.bool_]
    run: Run
    reference: Run
    table: NDArray[np.void]


@cache
def measured(n: int) -> Measured:
    """Measure the heads on `n` sequences, as the notebook does: seed 1, and seed 2 for the reference."""
    weights = load()
    tokens, periods = sequences(n, seed=1)
    reference = _steps(sequences(n, seed=2)[0], READ)
    second = parts(periods)[1]
    table = head_table(weights, tokens, second, reference)
    run = _steps(tokens, ("loss",))
    return Measured(weights, tokens, second, run, reference, table)


@cache
def edges() -> NDArray[np.void]:
    """Measure a bright edge that does not matter and a dim one that does, found among a hundred sequences."""
    at = {name: np.array(places) for name, places in FOUND.items()}
    tokens = sequences(500, seed=1)[0][at["sequence"]]
    table = cut_each(load(), tokens, N_LAYERS - 1, at["head"], at["query"], at["key"])
    table["sequence"] = at["sequence"]
    return table


def columns(heads: ArrayLike, name: str, n: int) -> NDArray[np.floating]:
    """Take one column of the table of heads, for some (layer, head).

    Examples
    --------
    >>> columns([(0, 1), (1, 0)], "mean", 50).shape
    (2,)
    """
    table = measured(n).table
    return np.array([table[name][(table["layer"] == i) & (table["head"] == j)].item() for i, j in heads])


def ranks(values: ArrayLike) -> NDArray[np.integer]:
    """Rank numbers, 1 for the largest.

    Examples
    --------
    >>> ranks([0.2, 0.9, 0.5])
    array([3, 1, 2])
    """
    return (-np.asarray(values)).argsort().argsort() + 1


@cache
def cost(heads: tuple[tuple[int, int], ...], how: str, n: int) -> float:
    """Measure what the loss in the repetition gains, on average, when these heads are taken out, in nats."""
    known = measured(n)
    run = forward(known.weights, known.tokens, ablate_heads(list(heads), how, known.reference))
    return float((run["loss"] - known.run["loss"])[known.second].mean())


@cache
def _usual() -> Usual:
    return Usual(_steps(sequences(600, seed=3)[0], ("layer1.in",)), "layer1.in")


def _steps(tokens: ArrayLike, names: Iterable[str]) -> Run:
    """Keep some steps of a natural run, made a part at a time: a whole run of 600 sequences takes 120 MB."""
    kept: dict[str, list] = {name: [] for name in names}
    for part in np.array_split(tokens, -(-len(tokens) // PART)):
        run = forward(load(), part)
        for name, steps in kept.items():
            steps.append(run[name])
    return {name: np.concatenate(steps) for name, steps in kept.items()}


def far(head: tuple[int, int], how: str, n: int) -> float:
    """Share of positions that an ablation takes farther than 99 in a hundred natural inputs of layer 1 lie."""
    known = measured(n)
    return _usual().far(forward(known.weights, known.tokens, ablate_heads([head], how, known.reference)))
