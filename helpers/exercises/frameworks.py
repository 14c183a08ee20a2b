"""The arrays that a checked function takes and returns; a library is imported only where it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Framework:
    """How arrays go into one library and come back."""

    name: str
    array: type
    give: Callable[[np.ndarray], Any]
    take: Callable[[Any], np.ndarray]
    widest: str = "float64"
    elsewhere: Callable[[np.ndarray], Any] | None = (
        None  # gives an array on another device, without its numbers
    )


def _numpy() -> Framework:
    return Framework("NumPy", np.ndarray, np.array, np.asarray)


def _torch() -> Framework:
    torch = import_module("torch")
    return Framework(
        "PyTorch",
        torch.Tensor,
        torch.tensor,
        lambda tensor: tensor.detach().cpu().numpy(),
        elsewhere=lambda array: torch.tensor(array, device="meta"),
    )


def _jax() -> Framework:
    jnp = import_module("jax.numpy")
    widest = "float64" if import_module("jax").config.jax_enable_x64 else "float32"
    return Framework("JAX", import_module("jax").Array, jnp.asarray, np.asarray, widest)


MAKERS = {"numpy": _numpy, "torch": _torch, "jax": _jax}
NAMES = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX"}
OWNERS = (
    "numpy",
    "scipy",
    "torch",
    "jax",
    "jaxlib",
    "keras",
    "helpers.attention",
    "helpers.patterns",
    "helpers.tiled",
)


def load(name: str) -> Framework:
    """Return a framework by its name; ImportError where it is not installed."""
    return MAKERS[name]()


def owner(function: Any) -> str | None:
    """Name the library that a function was imported from, or None where it is somebody's own."""
    if isinstance(function, np.ufunc):
        return "numpy"
    module = getattr(function, "__module__", None) or type(getattr(function, "__self__", function)).__module__
    return next((name for name in OWNERS if module == name or module.startswith(f"{name}.")), None)
