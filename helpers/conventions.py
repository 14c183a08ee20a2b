"""What True means to each library, and what a row with nothing to read gets there: run here, or as recorded.

Every function is given the same scores, and values that are one-hot, so that its output is its weights.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import attention, environment, patterns, validate

RECORDED = "November 2026"
BACKENDS = ("jax", "torch", "tensorflow")  # of Keras, as it is chosen here where nobody has chosen


@dataclass(frozen=True)
class Function:
    """A library's attention: how to call it, and what it was found to do.

    Parameters
    ----------
    name : str
    package : str
        To import, and whose version counts.
    call : callable
        Takes q, k, v, `given`, `converted`, `weights` and returns the output as an array.
    causal : callable or None
        Takes q, k, v and sets the function's own causal flag; None where it has none.
    true : {"allowed", "blocked"}
        What True means in a boolean mask, by its documentation.
    empty : mapping of bool to {"zeros", "NaN", "even"}
        What a query without a key gets, by whether the function is asked for its weights too. One entry where
        it does not offer them.
    align : str or None
        Which ends its causal flag lets meet.
    version : str
        With which `empty` and `align` were recorded.
    flag : str
        What asks it for its weights.
    """

    name: str
    package: str
    call: Callable[..., NDArray]
    causal: Callable[..., NDArray] | None
    true: Literal["allowed", "blocked"]
    empty: Mapping[bool, str]
    align: str | None
    version: str
    flag: str = ""


@dataclass(frozen=True)
class Finding:
    """What one call came to.

    Attributes
    ----------
    output : ndarray, shape (n_q, n_k)
        The weight that each query gave to each key.
    version : str
        Of the library that ran, or with which it was recorded.
    live : bool
        Whether it ran here.
    remark : str
        Why it did not.
    """

    output: NDArray[np.floating]
    version: str
    live: bool
    remark: str = ""

    @property
    def source(self) -> str:
        """Where the output comes from, in words."""
        return "run here" if self.live else f"recorded in {RECORDED}"


def run(
    name: str,
    given: ArrayLike,
    scores: ArrayLike | None = None,
    *,
    converted: bool = True,
    weights: bool = False,
) -> Finding:
    """Hand a boolean array to a library's attention function and see which weights come out.

    Parameters
    ----------
    name : str
        "sdpa", "mha", "jax", "keras", or "numpy" for this course's own.
    given : array_like of bool or 0/1, shape (n_q, n_k)
    scores : array_like, shape (n_q, n_k), optional
        All equal where left out, so that the weight of a row is shared evenly among what it may read.
    converted : bool
        Take `given` for `allowed` and convert it with `helpers.patterns`; or else hand it over unchanged.
    weights : bool
        Ask the function for its weights as well, where it offers them ("mha" and "keras").

    Returns
    -------
    Finding
        As recorded, with the reason, where the library is not installed or the call fails.

    Raises
    ------
    ValueError
        If there is no such function or array, or the function does not offer its weights.

    Examples
    --------
    >>> run("numpy", [[True, True, False]]).output
    array([[0.5, 0.5, 0. ]])
    """
    function = FUNCTIONS[validate.choice("name", name, tuple(FUNCTIONS))]
    given = validate.booleans("given", given)
    if given.ndim != 2 or given.size == 0:
        fix = "give one row per query"
        raise validate.refusal("given must have shape (n_q, n_k)", f"shape {given.shape}", fix)
    if weights not in function.empty:
        fix = "leave weights=True to mha and keras"
        raise validate.refusal("weights must be False here", f"weights=True for {name}", fix)
    scores = np.zeros(given.shape) if scores is None else np.broadcast_to(scores, given.shape)
    recorded = _recorded(function, given, scores, converted, weights)
    return _live(function, recorded, lambda: function.call(*_arrays(scores), given, converted, weights))


def run_causal(name: str, n_q: int, n_k: int) -> Finding | None:
    """Set a function's own causal flag for `n_q` queries and `n_k` keys of equal scores.

    Parameters
    ----------
    name : str
        As for `run`.
    n_q, n_k : int

    Returns
    -------
    Finding or None
        None where the function has no such flag.

    Raises
    ------
    ValueError
        If there is no such function.

    Examples
    --------
    >>> run_causal("mha", 2, 5) is None
    True
    """
    function = FUNCTIONS[validate.choice("name", name, tuple(FUNCTIONS))]
    if function.causal is None:
        return None
    allowed, scores = patterns.causal(n_q, n_k, align=function.align), np.zeros((n_q, n_k))
    recorded = _recorded(function, allowed, scores, converted=True, weights=False)
    return _live(function, recorded, lambda: function.causal(*_arrays(scores)))


def describe(row: ArrayLike) -> str:
    """Say in a word what an empty row got.

    Examples
    --------
    >>> describe([1 / 3, 1 / 3, 1 / 3]), describe([0, 0]), describe([np.nan, np.nan])
    ('even', 'zeros', 'NaN')
    """
    row = np.asarray(row, dtype=float)
    if np.isnan(row).all():
        return "NaN"
    if not row.any():
        return "zeros"
    return "even" if np.allclose(row, 1 / row.size, atol=1e-4) else "other"


def table(about: Literal["booleans", "empty rows"]):
    """Compare all functions, each with its version and whether it ran here.

    Parameters
    ----------
    about : {"booleans", "empty rows"}
        What each reads in [True, True, False], unchanged and converted; or what it gives a row in which
        every key is blocked, and which ends its causal flag lets meet for one query and three keys.

    Returns
    -------
    helpers.figures.Picture
        A table, shown by `helpers.show`.

    Raises
    ------
    ValueError
        If `about` is neither.
    """
    from .figures.picture import Picture
    from .figures.tables import html_table

    about = validate.choice("about", about, ("booleans", "empty rows"))
    columns, rows = _booleans() if about == "booleans" else _empty_rows()
    cells = [(name, [*values, found.version, found.source]) for name, values, found in rows]
    columns += ["version", "source"]
    text = "; ".join(
        f"{name}: " + ", ".join(f"{column} {value}" for column, value in zip(columns, values, strict=True))
        for name, values in cells
    )
    absent = {FUNCTIONS[name].package for name, found in _each(TABLE_ROW) if not found.live}
    how = f"Not run here: {', '.join(sorted(absent))}; `python start.py --frameworks` gets what is missing."
    return Picture("", html_table(columns, cells, how if absent else ""), f"{text}.")


TABLE_ROW = ((True, True, False),)


def _each(given: tuple) -> list[tuple[str, Finding]]:
    return [(name, run(name, given)) for name in FUNCTIONS]


def _booleans() -> tuple[list[str], list[tuple[str, list[str], Finding]]]:
    rows = []
    for name, converted in _each(TABLE_ROW):
        unchanged = run(name, TABLE_ROW, converted=False)
        rows.append((FUNCTIONS[name].name, [_row(unchanged.output[0]), _row(converted.output[0])], converted))
    return ["unchanged", "converted"], rows


def _empty_rows() -> tuple[list[str], list[tuple[str, list[str], Finding]]]:
    rows = []
    for name, function in FUNCTIONS.items():
        flag = run_causal(name, 1, 3)
        meets = "has none" if flag is None else _alignment(flag.output)
        for weights in function.empty:
            found = run(name, [[False, False, False]], weights=weights)
            asked = f", {function.flag}={weights}" if function.flag else ""
            rows.append((function.name + asked, [_row(found.output[0]), meets], found))
    return ["empty row", "causal flag"], rows


def _row(row: NDArray) -> str:
    return "[" + ", ".join("NaN" if np.isnan(one) else f"{one:.2f}" for one in row.tolist()) + "]"


def _alignment(output: NDArray) -> str:
    for align in ("top-left", "bottom-right"):
        if np.array_equal(output > 0, patterns.causal(*output.shape, align=align)):
            return align
    return "other"


def _arrays(scores: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """q, k, v whose scores are those given and whose values are one-hot: (n_q, n_k), twice (n_k, n_k)."""
    n_k = scores.shape[1]
    one_hot = np.eye(n_k, dtype=np.float32)
    return (scores * n_k**0.5).astype(np.float32), one_hot, one_hot.copy()


def _recorded(function: Function, given: NDArray, scores: NDArray, converted: bool, weights: bool) -> NDArray:
    """Apply what was recorded to the array at hand."""
    allowed = given if converted or function.true == "allowed" else ~given
    q, k, _ = _arrays(scores)
    output = attention.attention_weights(q, k, allowed, empty_rows="zero")
    output[~allowed.any(axis=-1)] = {"zeros": 0, "NaN": np.nan, "even": 1 / given.shape[1]}[
        function.empty[weights]
    ]
    return output.astype(float)


def _live(function: Function, recorded: NDArray, call: Callable[[], NDArray]) -> Finding:
    """Make the call, or fall back on what was recorded and say why."""
    try:
        with _quiet():
            output = np.asarray(call(), dtype=float)
    except Exception as error:  # a library of another version may fail in any way; the notebook goes on
        return Finding(recorded, function.version, False, f"{type(error).__name__}: {error}")
    version = environment.version(function.package) or "of unknown version"
    return Finding(output, f"{version} on {_backend()}" if function.package == "keras" else version, True)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep what libraries tell about devices and deprecations when they start off the learner's page."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _numpy(q, k, v, given, converted, weights):
    return attention.attention(q, k, v, given, empty_rows="zero")


def _sdpa(q, k, v, given, converted, weights):
    torch = import_module("torch")
    mask = patterns.to_torch_sdpa(given, empty_rows="keep") if converted else torch.from_numpy(given)
    return torch.nn.functional.scaled_dot_product_attention(*map(torch.from_numpy, (q, k, v)), attn_mask=mask)


def _sdpa_causal(q, k, v):
    torch = import_module("torch")
    return torch.nn.functional.scaled_dot_product_attention(*map(torch.from_numpy, (q, k, v)), is_causal=True)


def _mha(q, k, v, given, converted, weights):
    """Run the module with every projection the identity."""
    torch = import_module("torch")
    mask = patterns.to_torch_mha(given, 1, empty_rows="keep") if converted else torch.from_numpy(given)
    width = len(k)
    module = torch.nn.MultiheadAttention(width, num_heads=1, bias=False).eval()
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(width).repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(width))
        output, _ = module(*map(torch.from_numpy, (q, k, v)), attn_mask=mask, need_weights=weights)
    return output


def _jax(q, k, v, given, converted, weights):
    mask = patterns.to_jax(given, empty_rows="keep") if converted else given[None, None]
    return _jax_attention(q, k, v, mask=mask)


def _jax_causal(q, k, v):
    return _jax_attention(q, k, v, is_causal=True)


def _jax_attention(q, k, v, **options):
    """Run on the CPU, so that every machine gives the same digits."""
    jax = import_module("jax")
    with jax.default_device(jax.devices("cpu")[0]):
        output = jax.nn.dot_product_attention(*(a[None, :, None] for a in (q, k, v)), **options)
    return np.asarray(output)[0, :, 0]  # (1, n_q, 1, n_k) -> (n_q, n_k)


def _keras(q, k, v, given, converted, weights):
    mask = patterns.to_keras(given, empty_rows="keep") if converted else given[None]
    output = _keras_layer(q, k, v, attention_mask=mask, return_attention_scores=weights)
    return output[0] if weights else output


def _keras_causal(q, k, v):
    return _keras_layer(q, k, v, use_causal_mask=True)


def _keras_layer(q, k, v, **options):
    """Run the layer with every projection the identity."""
    keras, width = _import_keras(), len(k)
    with keras.device("cpu"):
        layer = keras.layers.MultiHeadAttention(num_heads=1, key_dim=width, use_bias=False)
        layer.build((1, *q.shape), (1, *v.shape), (1, *k.shape))
        into = np.eye(width, dtype=np.float32)[:, None]  # (width, heads, width per head)
        layer.set_weights([into, into, into, into.swapaxes(0, 1)])
        result = layer(q[None], v[None], k[None], **options)
    both = result if isinstance(result, tuple) else (result,)
    arrays = [keras.ops.convert_to_numpy(one)[0] for one in both]
    return arrays if isinstance(result, tuple) else arrays[0]


def _import_keras() -> ModuleType:
    """Import Keras with a backend that is there; where none is chosen, the first of BACKENDS."""
    if "keras" not in sys.modules and "KERAS_BACKEND" not in os.environ:
        found = next((name for name in BACKENDS if importlib.util.find_spec(name) is not None), None)
        if found is None:
            raise ImportError(f"Keras needs one of {', '.join(BACKENDS)}: pip install jax")
        os.environ["KERAS_BACKEND"] = found
    return import_module("keras")


def _backend() -> Any:
    return import_module("keras").backend.backend()


FUNCTIONS: dict[str, Function] = {
    "sdpa": Function(
        name="torch scaled_dot_product_attention",
        package="torch",
        call=_sdpa,
        causal=_sdpa_causal,
        true="allowed",
        empty={False: "zeros"},
        align="top-left",
        version="2.13.0",
    ),
    "mha": Function(
        name="torch MultiheadAttention",
        package="torch",
        call=_mha,
        causal=None,  # its is_causal is a hint beside a mask, not a mask
        true="blocked",
        empty={True: "NaN", False: "zeros"},
        align=None,
        version="2.13.0",
        flag="need_weights",
    ),
    "jax": Function(
        name="jax dot_product_attention",
        package="jax",
        call=_jax,
        causal=_jax_causal,
        true="allowed",
        empty={False: "even"},
        align="top-left",
        version="0.10.2",
    ),
    "keras": Function(
        name="keras MultiHeadAttention",
        package="keras",
        call=_keras,
        causal=_keras_causal,
        true="allowed",
        empty={False: "even", True: "zeros"},
        align="top-left",
        version="3.15.1 on jax",
        flag="return_attention_scores",
    ),
    "numpy": Function(
        name="this course (NumPy)",
        package="numpy",
        call=_numpy,
        causal=None,  # patterns.causal asks which ends meet
        true="allowed",
        empty={False: "zeros"},
        align=None,
        version="",
    ),
}
LIBRARIES = tuple(name for name in FUNCTIONS if name != "numpy")
