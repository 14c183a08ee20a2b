"""The arrays that a checked function takes and returns; a library is imported only where it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ..libraries import load as load_library

Gradients = Callable[[Callable[..., Any], Sequence[Any]], "list[np.ndarray] | None"]


@dataclass(frozen=True)
class Framework:
    """How arrays go into one library and come back.

    Parameters
    ----------
    name : str
    array : type
        Of its arrays.
    give, take : callable
        From a NumPy array to one of its own, and back.
    widest : str
        The widest dtype it computes in.
    elsewhere : callable, optional
        Gives an array on another device, without its numbers.
    gradients : callable, optional
        Takes a function of Q, K, V and their arrays; gives the derivatives of each output row, summed, by K
        and by V, (n_q, n_k, d_k) and (n_q, n_k, d_v), or None where the output is cut off from them.
    """

    name: str
    array: type
    give: Callable[[np.ndarray], Any]
    take: Callable[[Any], np.ndarray]
    widest: str = "float64"
    elsewhere: Callable[[np.ndarray], Any] | None = None
    gradients: Gradients | None = None


def _numpy() -> Framework:
    return Framework("NumPy", np.ndarray, np.array, np.asarray)


def _torch() -> Framework:
    torch = load_library("torch")

    def gradients(function, arrays):
        arrays = [array.clone().requires_grad_() for array in arrays]
        out = function(*arrays)
        if not out.requires_grad:
            return None
        found = []
        for row in out:
            by = torch.autograd.grad(row.sum(), arrays[1:], retain_graph=True, allow_unused=True)
            if any(one is None for one in by):
                return None
            found.append([one.numpy() for one in by])
        return [np.stack(by) for by in zip(*found, strict=True)]

    return Framework(
        "PyTorch",
        torch.Tensor,
        torch.tensor,
        lambda tensor: tensor.detach().cpu().numpy(),
        elsewhere=lambda array: torch.tensor(array, device="meta"),
        gradients=gradients,
    )


def _jax() -> Framework:
    jax = load_library("jax")
    jnp = import_module("jax.numpy")

    def gradients(function, arrays):
        out, pull_back = jax.vjp(function, *arrays)
        found = [pull_back(jnp.zeros_like(out).at[i].set(1))[1:] for i in range(len(out))]
        return [np.stack([np.asarray(one) for one in by]) for by in zip(*found, strict=True)]

    widest = "float64" if jax.config.jax_enable_x64 else "float32"
    return Framework("JAX", jax.Array, jnp.asarray, np.asarray, widest, gradients=gradients)


MAKERS = {"numpy": _numpy, "torch": _torch, "jax": _jax}


def load(name: str) -> Framework:
    """Return a framework by its name; ImportError where it is not installed."""
    return MAKERS[name]()
