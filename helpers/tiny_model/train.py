"""Train the tiny model with PyTorch and write its weights: python -m helpers.tiny_model.train"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import libraries
from . import task
from .model import N_HEADS, N_LAYERS, WEIGHTS, Floats

if TYPE_CHECKING:
    import torch

D_MODEL, BATCH, STEPS, WARM_UP = 32, 128, 2500, 100


def parameters(seed: int) -> dict[str, torch.Tensor]:
    """Draw the matrices that training starts from."""
    torch = libraries.load("torch")
    draw, narrow = torch.Generator().manual_seed(seed), D_MODEL**-0.5

    def normal(*shape: int, scale: float) -> torch.Tensor:
        return (scale * torch.randn(*shape, generator=draw)).requires_grad_()

    square = (N_LAYERS, D_MODEL, D_MODEL)
    return {
        "W_E": normal(task.VOCAB, D_MODEL, scale=0.5),
        "W_P": normal(task.T, D_MODEL, scale=0.5),
        "W_Q": normal(*square, scale=narrow),
        "W_K": normal(*square, scale=narrow),
        "W_V": normal(*square, scale=narrow),
        "W_O": normal(*square, scale=narrow / 2),
        "W_U": normal(D_MODEL, task.VOCAB, scale=narrow),
    }


def logits(W: dict[str, torch.Tensor], tokens: torch.Tensor) -> torch.Tensor:
    """Compute what `model.forward` does, with PyTorch's own attention: (n, T) -> (n, T, vocab)."""
    attend = libraries.load("torch").nn.functional.scaled_dot_product_attention
    x = W["W_E"][tokens] + W["W_P"][: tokens.shape[1]]
    for W_Q, W_K, W_V, W_O in zip(W["W_Q"], W["W_K"], W["W_V"], W["W_O"], strict=True):
        q, k, v = ((x @ M).unflatten(-1, (N_HEADS, -1)).transpose(1, 2) for M in (W_Q, W_K, W_V))
        x = x + attend(q, k, v, is_causal=True).transpose(1, 2).flatten(-2) @ W_O
    return x @ W["W_U"]


def train(steps: int = STEPS, seed: int = 0, report: Any = None) -> dict[str, Floats]:
    """
    Train on new sequences at every step, with AdamW and a rate that warms up and fades out.

    Parameters
    ----------
    steps : int
    seed : int
        Of the first weights and of the sequences.
    report : callable, optional
        Called with the step and its loss, in nats, every 250 steps.

    Returns
    -------
    dict of ndarray, float32
        As `model.load` reads them.

    Raises
    ------
    ImportError
        Where PyTorch is missing.
    """
    torch = libraries.load("torch")
    W = parameters(seed)
    optimizer = torch.optim.AdamW(W.values(), lr=0.01, betas=(0.9, 0.98), weight_decay=0.01)
    for step in range(steps):
        rate = 0.01 * min(1, (step + 1) / WARM_UP) * (1 + math.cos(math.pi * step / steps)) / 2
        for group in optimizer.param_groups:
            group["lr"] = rate
        # Seeds from 1,000,000 on are for training only: what tests and notebooks draw is new to the model.
        drawn, _ = task.sequences(BATCH, seed=1_000_000 * (seed + 1) + step)
        tokens = torch.as_tensor(drawn)
        guessed = logits(W, tokens[:, :-1])
        loss = torch.nn.functional.cross_entropy(guessed.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if report and (step % 250 == 0 or step == steps - 1):
            report(step, loss.item())
    return {name: matrix.detach().numpy() for name, matrix in W.items()}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="file to write; by default the shipped one")
    asked = parser.parse_args(arguments)
    W = train(asked.steps, asked.seed, report=lambda step, loss: print(f"step {step}: loss {loss:.3f}"))
    np.savez(asked.out, **W)


if __name__ == "__main__":
    main()
