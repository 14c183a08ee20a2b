"""The intervention is a measurement too: how far it takes a layer from what it knows, and who stands in."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .edits import HOWS, ablate_heads
from .heads import HEADS
from .model import N_HEADS, Edit, Floats, Run, forward

NATURAL = 0.99  # of natural inputs this share counts as near

__all__ = ["Usual", "direct_effects", "displacement_table", "reactions", "stand_ins"]


class Usual:
    """What a step usually holds, learned from a natural run, to tell how unusual something else is.

    Distances are Mahalanobis distances from the mean of each position, with one covariance for all positions, as
    Lee et al. take them from the mean of each class ("A simple unified framework for detecting out-of-distribution
    samples and adversarial attacks", arXiv 1807.03888). Position 0 is left out: its token is always ^.

    Parameters
    ----------
    natural : dict
        A run on some thousand natural sequences.
    step : str
        A step of shape (n, T, d_model), such as "layer1.in".

    Examples
    --------
    >>> from helpers.tiny_model import model, task
    >>> weights = model.load()
    >>> usual = Usual(model.forward(weights, task.sequences(500, seed=1)[0]), "layer1.in")
    >>> bool(usual.far(model.forward(weights, task.sequences(500, seed=2)[0])) < 0.05)
    True
    """

    def __init__(self, natural: Run, step: str) -> None:
        self.step = step
        known = natural[step][:, 1:]
        self.mean = known.mean(axis=0)
        around = (known - self.mean).reshape(-1, known.shape[-1])
        self.precision = np.linalg.inv(np.cov(around, rowvar=False))
        self.limit = float(np.quantile(self.distances(natural), NATURAL))

    def distances(self, run: Run) -> Floats:
        """Measure each position's distance, (n, T - 1)."""
        off = run[self.step][:, 1:] - self.mean
        return np.sqrt(((off @ self.precision) * off).sum(axis=-1))

    def far(self, run: Run) -> float:
        """Give the share of positions farther away than 99% of the natural ones: 0.01 means nothing unusual."""
        return float((self.distances(run) > self.limit).mean())


def displacement_table(
    weights: Mapping[str, Floats], tokens: NDArray[np.integer], reference: Run, natural: Run
) -> NDArray[np.void]:
    """Measure where each ablation of each head takes what comes after it: "layer1.in" for layer 0, "out" for layer 1.

    Parameters
    ----------
    weights : mapping
    tokens : ndarray of int, shape (n, T)
    reference : dict
        A run on n other sequences, for the ablations.
    natural : dict
        A run on some thousand more, to learn what is usual.

    Returns
    -------
    structured array, one row per head and way
        "distance", the mean, and "far", as in `Usual`; "change", the mean change in loss over all predictions.
    """
    usual = [Usual(natural, step) for step in ("layer1.in", "out")]
    before = forward(weights, tokens)["loss"].mean()
    columns = [
        ("layer", int),
        ("head", int),
        ("how", "U8"),
        ("distance", float),
        ("far", float),
        ("change", float),
    ]
    rows = []
    for layer, head in HEADS:
        for how in HOWS:
            run = forward(weights, tokens, ablate_heads([(layer, head)], how, reference))
            there, far = usual[layer].distances(run).mean(), usual[layer].far(run)
            rows.append((layer, head, how, there, far, run["loss"].mean() - before))
    return np.array(rows, dtype=columns)


def direct_effects(weights: Mapping[str, Floats], run: Run, tokens: NDArray[np.integer]) -> Floats:
    """Measure what each head of the last layer adds, by itself, to the logit of the right token.

    Nothing but W_U comes after, so this is exact. The mean over all tokens is taken off: it changes no probability.

    Returns
    -------
    ndarray, shape (n, heads, T - 1)
    """
    added = run["layer1.written"][..., :-1, :] @ weights["W_U"]  # (n, heads, T - 1, vocab)
    right = np.take_along_axis(added, tokens[:, None, 1:, None], axis=-1)[..., 0]
    return right - added.mean(axis=-1)


def reactions(
    weights: Mapping[str, Floats], tokens: NDArray[np.integer], where: NDArray[np.bool_], reference: Run
) -> dict[str, Floats]:
    """Look for a later head that does more when an earlier one is taken out, as a backup head would.

    Parameters
    ----------
    weights : mapping
    tokens : ndarray of int, shape (n, T)
    where : ndarray of bool, shape (n, T - 1)
    reference : dict
        A run on n other sequences.

    Returns
    -------
    dict
        "before", the mean direct effect of each head of layer 1, (heads,); and for each of "zero", "mean" and
        "resample" how much that grows when a head of layer 0 is taken out, (head taken out, head of layer 1).
    """

    def effects(edits: Mapping[str, Edit] | None) -> Floats:
        found = direct_effects(weights, forward(weights, tokens, edits), tokens)
        return np.moveaxis(found, 1, 0)[:, where].mean(axis=-1)

    before = effects(None)
    grown = {
        how: np.stack(
            [effects(ablate_heads([(0, head)], how, reference)) - before for head in range(N_HEADS)]
        )
        for how in HOWS
    }
    return {"before": before, **grown}


def stand_ins(
    weights: Mapping[str, Floats], tokens: NDArray[np.integer], where: NDArray[np.bool_], reference: Run
) -> NDArray[np.void]:
    """Ask of each pair in a layer what the second head is worth once the first is gone, by mean ablation.

    Heads of one layer run side by side and cannot react to each other; yet one can make another unnecessary.

    Returns
    -------
    structured array, one row per ordered pair
        "alone", the mean change in loss when only `head` is taken out; "without", when `head` is taken out after
        `gone` has been.
    """

    def change(*heads: tuple[int, int]) -> float:
        run = forward(weights, tokens, ablate_heads(list(heads), "mean", reference))
        return float((run["loss"] - before)[where].mean())

    before = forward(weights, tokens)["loss"]
    alone = {head: change(head) for head in HEADS}
    columns = [(name, int) for name in ("layer", "head", "gone")] + [("alone", float), ("without", float)]
    rows = []
    for layer, head in HEADS:
        for gone in range(N_HEADS):
            if gone != head:
                both = change((layer, gone), (layer, head))
                rows.append((layer, head, gone, alone[layer, head], both - alone[layer, gone]))
    return np.array(rows, dtype=columns)
