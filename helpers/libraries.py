"""PyTorch, JAX and Keras, which a learner may lack: imported where they are, else one line says how to get them."""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from types import ModuleType

NAMES = {"torch": "PyTorch", "jax": "JAX", "keras": "Keras"}
_told: set[str] = set()


def library(name: str) -> ModuleType | None:
    """
    Import a library, or print in one line, once, that it is missing and how to get it.

    Parameters
    ----------
    name : {"torch", "jax", "keras"}
        The name to import it by.

    Returns
    -------
    module or None
        None where it is missing, so that ``if torch:`` guards what needs it.

    Raises
    ------
    ValueError
        If it is none of the three.

    Examples
    --------
    >>> print(missing("torch")[:30])
    PyTorch is not installed here.
    """
    if name not in NAMES:
        raise ValueError(f"the library is {name!r}, expected one of {', '.join(NAMES)}.")
    try:
        return load(name)
    except ImportError:
        if name not in _told:
            print(missing(name))
        _told.add(name)
        return None


def load(name: str) -> ModuleType:
    """
    Import a library without the warnings it gives while it starts.

    Raises
    ------
    ImportError
        Where it is missing, or installed and does not start.
    """
    if name == "keras":
        os.environ.setdefault("KERAS_BACKEND", "jax")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return import_module(name)
        except ImportError:
            raise
        except Exception as error:  # on Windows, say, a library of its own that it does not find
            raise ImportError(f"{name} is installed and does not start: {error}") from error


def missing(name: str) -> str:
    """Say that a library is missing and how to get it, in one line."""
    return (
        f"{NAMES[name]} is not installed here. To get it, run `python start.py --frameworks` in the course's "
        "folder (in an environment of your own: `pip install -r requirements-frameworks.txt`), then restart "
        "the kernel. Everything else here runs without it."
    )
