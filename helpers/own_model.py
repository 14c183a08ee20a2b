"""Bring your own: read the attention weights that a model returned, check them, and say what they cannot tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

from . import patterns, validate
from .figures import plot_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.floating]
Flags = NDArray[np.bool_]

FIELDS = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
AXES = ("layer", "item", "head", "row", "key")
EAGER = 'load the model with attn_implementation="eager" and call it with output_attentions=True'

__all__ = ["Attentions", "read_attentions"]


@dataclass(frozen=True, eq=False, repr=False)
class Attentions:
    """Attention weights as they came from a model, with what is wrong with them and what they cannot tell.

    Attributes
    ----------
    weights : ndarray, shape (layers, batch, heads, n_q, n_k)
        A copy, float32 or wider. A layer that came as None holds NaN.
    problems : list of str
        What the checks found, one sentence or two a finding: where, the number, what it means, what to do.
    unknown : list of str
        What cannot be read off these weights, and what was not checked because nothing was told.
    tokens : list of list of str, or None
        Labels of each item; None where there are none that fit.
    allowed : ndarray of bool, shape (batch, n_q, n_k), or None
        What `causal` and `attention_mask` told; None where nothing was. Never guessed from zeros.
    dtype : str
        The type the numbers came in.
    exact : float
        How far from 1 that type's rounding may carry a row sum.
    missing : list of int
        The layers that came as None.
    """

    weights: Floats
    problems: list[str]
    unknown: list[str]
    tokens: list[list[str]] | None = None
    allowed: Flags | None = None
    dtype: str = ""
    exact: float = 0.0
    missing: list[int] = field(default_factory=list)

    def draw(self, layer: int, head: int, item: int = 0, *, ax: Axes | None = None) -> Axes:
        """Draw one head as `figures.plot_weights` does; cells are blocked only where that was told.

        Parameters
        ----------
        layer, head, item : int
            Counted from 0.
        ax : Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        Axes

        Raises
        ------
        ValueError
            If there is no such layer, head or item, it came without weights, or it holds other numbers
            than weights.

        Examples
        --------
        >>> report = read_attentions(np.full((1, 2, 3, 3), 1 / 3), tokens=["the", "cat", "the"])
        >>> [label.get_text() for label in report.draw(0, head=1).get_xticklabels()]
        ['the', 'cat', 'the']
        """
        asked = {"layer": layer, "item": item, "head": head}
        if layer in self.missing or not self.weights.size:
            raise validate.refusal(f"layer {layer} must hold weights to draw", "none", EAGER)
        for (name, number), n in zip(asked.items(), self.weights.shape[:3], strict=True):
            if validate.whole_number(name, number, least=0) >= n:
                raise validate.refusal(f"{name} must be 0 to {n - 1}", number, "they are counted from 0")
        return plot_weights(
            self.weights[layer, item, head],
            None if self.allowed is None else self.allowed[item],
            tokens=self.tokens and self.tokens[item],
            title=_at((layer, item, head), self.weights.shape[1]).capitalize(),
            ax=ax,
        )

    def _rows(self) -> list[tuple[str, str]]:
        """The table: what was read, what is wrong, what is open."""
        sizes = zip(("layers", "items", "heads", "queries", "keys"), self.weights.shape, strict=True)
        read = ", ".join(f"{n} {name if n != 1 else _one(name)}" for name, n in sizes)
        rows = [("read as", f"{read}; {self.dtype}" if self.dtype else read)]
        rows += [(f"problem {k}", said) for k, said in enumerate(self.problems, 1)]
        if not self.problems:
            rows.append(("problems", f"None found. Every row sums to 1, to within {self.exact:.1g}."))
        return rows + [(f"unknown {k}", said) for k, said in enumerate(self.unknown, 1)]

    def __repr__(self) -> str:
        return "\n".join(f"{name:<11} {said}" for name, said in self._rows())

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        look = 'style="text-align:left;vertical-align:top;white-space:{}"'
        head, cell = (Markup(look.format(wrap)) for wrap in ("nowrap", "normal"))
        row = Markup('<tr><th scope="row" {}>{}</th><td {}>{}</td></tr>')
        body = Markup("").join(row.format(head, name, cell, said) for name, said in self._rows())
        caption = '<caption style="text-align:left">Attention weights as they came</caption>'
        table = Markup('<table style="max-width:760px">{}<tbody>{}</tbody></table>')
        return {"text/plain": repr(self), "text/html": str(table.format(Markup(caption), body))}


def read_attentions(
    attentions: Any,
    tokens: Any = None,
    causal: bool | None = None,
    attention_mask: ArrayLike | None = None,
) -> Attentions:
    """Read the weights a model returned, and check whatever their numbers can show.

    Parameters
    ----------
    attentions : array_like, shape (batch, heads, n_q, n_k), or a tuple or list of them, one per layer
        Of NumPy, PyTorch (any device, half precision, with gradients) or JAX; or the model's output, if it holds
        one kind of attentions; or all layers stacked, (layers, batch, heads, n_q, n_k).
    tokens : sequence of str, length T, or one such sequence per item, optional
        Labels of the positions; queries and keys alike.
    causal : bool, optional
        Whether the model may not look ahead. Not checked, and nothing drawn as blocked, if left out.
    attention_mask : array_like of bool or 0/1, shape (batch, n_k), optional
        As a tokenizer returns it: 1 for a token, 0 for padding.

    Returns
    -------
    Attentions
        Shows itself as a table when it ends a notebook cell.

    Raises
    ------
    ValueError
        If the output holds several kinds of attentions, something is not an array of real numbers with two to four
        axes, layers differ in shape, or an argument does not fit.

    Notes
    -----
    ``model(..., output_attentions=True).attentions`` of the library transformers is such a tuple. Fused attention
    never has the weights, so a model gives None, or an empty tuple, in their place unless it was loaded
    with ``attn_implementation="eager"``.

    Examples
    --------
    >>> after_softmax = np.array([[[[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0]]]])
    >>> print(read_attentions(after_softmax, causal=True).problems[0][:72])
    Layer 0, head 0, row 2: the weights sum to 0.5, not 1 (1 of 3 rows). Par
    """
    if causal is not None and not isinstance(causal, bool | np.bool_):
        raise validate.refusal("causal must be True, False or None", repr(causal), "None is: not told")
    layers = _layers(attentions)
    came = [each for each in layers if each is not None]
    missing = [k for k, each in enumerate(layers) if each is None]
    if not came:
        return _without_weights(len(layers))
    arrays, dtypes = zip(*map(_array, came), strict=True)
    mask = None if attention_mask is None else _keep(attention_mask)
    four, problems = _four_axes(arrays, mask)
    if missing:
        problems.insert(0, f"Layer {', '.join(map(str, missing))}: None in place of weights. Fix: {EAGER}.")
    weights = np.full((len(layers), *four[0].shape), np.nan, dtype=np.result_type(*four))
    weights[[k for k, each in enumerate(layers) if each is not None]] = four
    _, batch, _, n_q, n_k = weights.shape
    keep = _fitting(mask, batch, n_k)
    ahead = _ahead(n_q, n_k) if causal else None
    dtype = max(dtypes, key=_eps)
    exact = max(1e-6, 2 * _eps(dtype) + n_k * 2.0**-23)
    look = _Look(weights, exact, missing)
    look.find(keep, ahead)
    labels, about_tokens = _labels(tokens, batch, n_q, n_k)
    problems += look.said + _no_look_ahead_after_all(weights, causal, missing) + about_tokens
    allowed = _allowed(keep, ahead, weights.shape)
    unknown = _unknown(look, dtype, causal, keep, allowed)
    return Attentions(weights, problems, unknown, labels, allowed, dtype, exact, missing)


# What came


def _layers(attentions: Any) -> list[Any]:
    """One entry per layer, from whatever holds them."""
    named = attentions if isinstance(attentions, Mapping) else {}
    held = {
        n: named.get(n, getattr(attentions, n, None)) for n in FIELDS if n in named or hasattr(attentions, n)
    }
    # A model without cross attention, and one that was not asked, hold an empty tuple or None.
    found = [name for name, value in held.items() if value is not None and len(value)]
    if len(found) > 1:
        fix = f"pass one of them, such as output.{found[0]}"
        raise validate.refusal("the output must hold one kind of attentions", ", ".join(found), fix)
    if found:
        return _layers(held[found[0]])
    if attentions is None or held:
        return []
    if isinstance(attentions, list | tuple):
        for k, each in enumerate(attentions):
            if isinstance(each, tuple) or (isinstance(each, list) and any(hasattr(a, "shape") for a in each)):
                fix = (
                    "generate returns a tuple per new token, so pass attentions[0], that of the prompt; "
                    "of a whole output pass its attentions alone"
                )
                raise validate.refusal("each layer must be one array", f"a tuple at position {k}", fix)
        return list(attentions)
    return list(attentions) if len(getattr(attentions, "shape", ())) == 5 else [attentions]


def _array(layer: Any) -> tuple[Floats, str]:
    """A layer as NumPy, float32 or wider, and the name of the type it came in."""
    dtype = str(getattr(layer, "dtype", "float64")).removeprefix("torch.")
    if hasattr(layer, "detach"):
        layer = layer.detach().cpu()
        layer = layer.float() if dtype == "bfloat16" else layer  # NumPy has no such type
    (array,) = validate.floats(attentions=layer)
    if not 2 <= array.ndim <= 4 or not array.size:
        fix = "pass one array per layer; in a list of lists, make it an array first"
        expected = "a layer must have shape (batch, heads, T, T), no axis empty"
        raise validate.refusal(expected, f"shape {array.shape}", fix)
    return array, dtype


def _eps(dtype: str) -> float:
    """The relative step of a type of floats; whole numbers have none."""
    return {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}.get(
        dtype, 0.0
    )


def _four_axes(arrays: tuple[Floats, ...], mask: Flags | None) -> tuple[list[Floats], list[str]]:
    """Layers of one shape, (batch, heads, n_q, n_k), and a sentence where an axis had to be put in."""
    for k, (first, second) in enumerate(pairwise(arrays)):
        if first.shape != second.shape:
            fix = "pass layers of one shape at a time"
            got = f"{first.shape} at position {k} and {second.shape} after it"
            raise validate.refusal("all layers must have the same shape", got, fix)
    shape = arrays[0].shape
    if len(shape) == 4:
        return list(arrays), []
    if len(shape) == 2:
        said = f"Two axes, {shape}, in place of (batch, heads, T, T): read as one head of one item."
        return [each[None, None] for each in arrays], [said]
    items = mask is not None and mask.shape[0] == shape[0] > 1
    said = (
        f"Three axes, {shape}, in place of (batch, heads, T, T): either the heads are averaged already (pass "
        "average_attn_weights=False to nn.MultiheadAttention), or the batch axis was dropped (pass "
        "attentions[0], not attentions[0][0]). An average of heads sums to 1 too, so the numbers cannot tell. "
        f"Read as {'one averaged head per item, since attention_mask has as many' if items else 'heads of one item'}."
    )
    return [each[:, None] if items else each[None] for each in arrays], [said]


def _without_weights(n_layers: int) -> Attentions:
    """What is left to say where no layer has weights."""
    said = (
        f"{f'{n_layers} layers, and every one is None' if n_layers else 'No layer came'}: fused attention "
        f"(sdpa, flash) never has the weights, and no model returns them unasked. Fix: {EAGER}."
    )
    empty = np.zeros((n_layers, 0, 0, 0, 0), dtype=np.float32)
    return Attentions(empty, [said], ["Everything: there are no weights."], missing=list(range(n_layers)))


# What was told


def _keep(attention_mask: ArrayLike) -> Flags:
    """Which keys are tokens, (batch, n_k)."""
    if hasattr(attention_mask, "detach"):
        attention_mask = attention_mask.detach().cpu()
    keep = np.atleast_2d(validate.booleans("attention_mask", attention_mask))
    if keep.ndim != 2:
        fix = "pass what the tokenizer returned, 1 for a token and 0 for padding"
        raise validate.refusal("attention_mask must have shape (batch, n_k)", f"shape {keep.shape}", fix)
    return keep


def _fitting(keep: Flags | None, batch: int, n_k: int) -> Flags | None:
    if keep is not None and keep.shape != (batch, n_k):
        fix = "pass the mask that the model was called with, that of the encoder for cross attention"
        raise validate.refusal(f"attention_mask must have shape ({batch}, {n_k})", f"shape {keep.shape}", fix)
    return keep


def _ahead(n_q: int, n_k: int) -> Flags:
    """Which keys stand after the query; fewer queries than keys are taken for the last ones, as with a cache."""
    if n_q > n_k:
        fix = "cross attention is not causal, leave causal out"
        raise validate.refusal("causal=True needs a key for each query", f"{n_q} queries, {n_k} keys", fix)
    return ~patterns.causal(n_q, n_k, align="bottom-right")


def _allowed(keep: Flags | None, ahead: Flags | None, shape: tuple[int, ...]) -> Flags | None:
    """What was told, put together."""
    if keep is None and ahead is None:
        return None
    _, batch, _, n_q, n_k = shape
    allowed = np.ones((batch, n_q, n_k), dtype=bool)
    if keep is not None:
        allowed &= patterns.keys(keep)
    return allowed if ahead is None else allowed & ~ahead


def _labels(tokens: Any, batch: int, n_q: int, n_k: int) -> tuple[list[list[str]] | None, list[str]]:
    """Labels of each item, or a sentence that says why they do not fit."""
    if tokens is None:
        return None, []
    if isinstance(tokens, str):
        raise validate.refusal("tokens must be a list of labels", "a single text", "tokenize it first")
    tokens = tokens.tolist() if hasattr(tokens, "tolist") else list(tokens)
    each = tokens if tokens and all(isinstance(t, list | tuple) for t in tokens) else [tokens] * batch
    numbers = "Drawn with positions in place of labels."
    if n_q != n_k:
        fix = "use figures.plot_weights with query_tokens and key_tokens"
        return None, [f"tokens labels both sides, but {n_q} queries read {n_k} keys: {fix}. {numbers}"]
    if len(each) != batch:
        return None, [f"tokens holds {len(each)} lists for {batch} items: pass one for each. {numbers}"]
    for item, own in enumerate(each):
        if len(own) != n_k:
            fix = "special tokens count too: tokenizer.convert_ids_to_tokens(input_ids[item]) gives all"
            return None, [
                f"tokens has {len(own)} labels for {n_k} positions of item {item}: {fix}. {numbers}"
            ]
    return [[str(token) for token in own] for own in each], []


# What the numbers show


def _at(place: tuple[int, ...], batch: int) -> str:
    """Name a place: "layer 0, head 1, row 2"; the item only where there are several."""
    named = zip(AXES, place, strict=False)
    return ", ".join(f"{name} {k}" for name, k in named if name != "item" or batch > 1)


def _number(value: float) -> str:
    """Three digits, more where they would read as 1."""
    short = f"{value:.3g}"
    return short if short != "1" or value == 1 else f"{value:.8g}"


def _one(plural: str) -> str:
    return {"queries": "query"}.get(plural, plural.removesuffix("s"))


class _Look:
    """The checks, in order; a row that one of them explains is closed to those after it."""

    def __init__(self, weights: Floats, exact: float, missing: list[int]) -> None:
        self.W, self.exact, self.missing, self.said = weights, exact, missing, []
        self.n_rows = (len(weights) - len(missing)) * weights[0, ..., 0].size
        self.open = np.ones(weights.shape[:-1], dtype=bool)  # (layers, batch, heads, n_q)
        self.open[missing] = False
        with np.errstate(all="ignore"):  # what overflows or is not finite is reported, not warned of
            self.sums = weights.sum(axis=-1, dtype=np.float64)

    def find(self, keep: Flags | None, ahead: Flags | None) -> None:
        self._not_finite()
        self._swapped()
        dropped = self._dropout()
        self._scaled(dropped)
        self._scores(dropped)
        self._outside(dropped)
        self._empty(dropped.any())
        self._sums(dropped)
        keep = self._not_inverted(keep)
        padding = self._padded_queries(keep, ahead)
        if ahead is not None:
            means = "The model looks ahead there: it has no causal mask, or the mask is off by a position"
            self._forbidden(ahead, ~padding, "a later one, though causal=True", means)
        if keep is not None:
            means = (
                "The mask did not reach the model, or not that layer: pass attention_mask to the model too"
            )
            self._forbidden(
                ~patterns.keys(keep)[:, None], ~padding, "which attention_mask calls padding", means
            )

    def report(self, bad: Flags, size: Floats, what: Callable[[tuple[int, ...]], str], means: str) -> None:
        """One sentence for all bad rows: the place where `size` is largest, how many there are, what it means."""
        if bad.any():
            worst = np.unravel_index(np.where(bad, size, -np.inf).argmax(), bad.shape)
            place = tuple(int(k) for k in worst)
            where = _at(place, self.W.shape[1]).capitalize()
            self.said.append(f"{where}: {what(place)} ({bad.sum()} of {self.n_rows} rows). {means}.")

    @property
    def off(self) -> Flags:
        """Open rows that do not sum to 1."""
        return self.open & ~(np.abs(self.sums - 1) <= self.exact)

    def _not_finite(self) -> None:
        odd = np.isnan(self.W) | np.isposinf(self.W)
        bad = self.open & odd.any(axis=-1)
        whole = odd.all(axis=-1)
        for chosen, means in (
            (bad & whole, "A softmax over nothing but -inf gives that: this query has no key to read"),
            (bad & ~whole, "Something before the softmax is NaN or too large: look at Q and K"),
        ):
            self.report(
                chosen,
                chosen.astype(float),
                lambda row: f"key {odd[row].argmax()} is {self.W[row][odd[row].argmax()]}",
                means,
            )
        self.open &= ~bad

    def _swapped(self) -> None:
        """Whole layers that sum to 1 along another axis than the keys."""
        for axis, name in ((3, "the rows (axis 2)"), (2, "the heads (axis 1)"), (1, "the items (axis 0)")):
            if self.W.shape[axis] == 1:
                continue
            with np.errstate(all="ignore"):
                along = self.W.sum(axis=axis, dtype=np.float64)
            whole = (np.abs(along - 1) <= self.exact).reshape(len(self.W), -1).all(axis=1)
            layers = (whole & self.off.any(axis=(1, 2, 3)))[:, None, None, None]
            means = (
                f"Along {name} every sum is 1: keys are not the last axis, or the softmax ran over that one. "
                f"Of an array A of one layer, np.moveaxis(A, {axis - 1}, 3) puts it last. These layers are not "
                "checked further"
            )
            self.report(
                self.off & layers,
                np.abs(self.sums - 1),
                lambda row: f"the weights sum to {_number(self.sums[row])}, not 1",
                means,
            )
            self.open &= ~layers

    def _scaled(self, dropped: Flags) -> None:
        """Matrices whose rows all have the same sum, another than 1."""
        with np.errstate(all="ignore"):
            alike = np.abs(self.sums - self.sums[..., :1]) <= self.exact * np.abs(self.sums)
        positive = self.open & (self.W >= 0).all(axis=-1) & (self.sums > 0)
        bad = self.off & ~dropped & (alike & positive).all(axis=-1, keepdims=True) & (self.sums.shape[-1] > 1)
        self.report(
            bad,
            np.abs(self.sums - 1),
            lambda row: f"the weights sum to {_number(self.sums[row])}, and so does every row of that head",
            "They are scaled, or heads were added up: divide by that sum",
        )
        self.open &= ~bad

    def _dropout(self) -> Flags:
        """Which rows dropout explains: sums on both sides of 1, and zeros that other heads do not have."""
        # A mask is the same for all heads, dropout is not.
        holes = (self.W == 0) & (self.W > 0).any(axis=(0, 2), keepdims=True)
        off = self.off & (self.W >= 0).all(axis=-1)
        there = (off & holes.any(axis=-1)).any(axis=(1, 2, 3)) & (off & (self.sums > 1)).any(axis=(1, 2, 3))
        return off & there[:, None, None, None]

    def _scores(self, dropped: Flags) -> None:
        """Matrices of numbers that no softmax gives, in rows that do not sum to 1."""
        beyond = (self.W < 0) | (~dropped[..., None] & (self.exact < self.W - 1))
        most = self.off.sum(axis=-1, keepdims=True) * 2 > self.open.sum(axis=-1, keepdims=True)
        matrix = most & (self.off & beyond.any(axis=-1)).any(axis=-1, keepdims=True)
        bad = self.off & matrix

        def what(row: tuple[int, ...]) -> str:
            low, high = self.W[row].min(), self.W[row].max()
            return f"numbers from {_number(low)} to {_number(high)} that sum to {_number(self.sums[row])}"

        means = (
            "These look like scores, before the softmax: softmax(scores) along the last axis gives weights"
        )
        self.report(bad, np.abs(self.sums - 1), what, means)
        self.open &= ~matrix

    def _outside(self, dropped: Flags) -> None:
        """Single numbers that are no weights."""
        beyond = np.maximum(-self.W, self.W - 1 - self.exact)
        size = beyond.max(axis=-1)
        self.report(
            self.open & ~dropped & (size > 0),
            size,
            lambda row: f"key {beyond[row].argmax()} has {_number(self.W[row][beyond[row].argmax()])}",
            "A softmax gives numbers from 0 to 1: this was changed afterwards, or is something else",
        )

    def _empty(self, dropout: bool) -> None:
        bad = self.open & (self.W == 0).all(axis=-1)
        means = "A query with no key to read, all of them masked, gets such a row in some libraries"
        if dropout:
            means += "; here dropout may have taken its only weights"
        self.report(bad, bad.astype(float), lambda _: "every weight is 0, so the sum is 0", means)
        self.open &= ~bad

    def _sums(self, dropped: Flags) -> None:
        below = self.off & ~dropped & (self.sums < 1)
        for bad, means in (
            (
                self.off & dropped,
                "Dropout seems on: zeros that differ from head to head, the rest scaled up. "
                "Call model.eval() first",
            ),
            (
                below,
                "Part of the weight is missing: masked after the softmax, keys cut off (special tokens?), a sink "
                "outside the picture, or dropout (call model.eval() first)",
            ),
            (
                self.off & ~dropped & ~below,
                "Too much for one softmax: not divided by the sum, or dropout (call model.eval() first)",
            ),
        ):
            self.report(
                bad,
                np.abs(self.sums - 1),
                lambda row: f"the weights sum to {_number(self.sums[row])}, not 1",
                means,
            )

    def _forbidden(self, cells: Flags, rows: Flags, which: str, means: str) -> None:
        """Weight on cells that were told to have none; both broadcast over layers and heads."""
        amount = np.where(cells & rows[..., None], np.abs(self.W), 0)
        most = amount.max(axis=-1)
        self.report(
            self.open & (most > 0),
            most,
            lambda row: f"{_number(most[row])} goes to key {amount[row].argmax()}, {which}",
            means,
        )

    def _padded_queries(self, keep: Flags | None, ahead: Flags | None) -> Flags:
        """Which queries are padding, (batch, 1, n_q); what they read matters to nobody, but is said."""
        _, _, _, n_q, n_k = self.W.shape
        if keep is None or n_q != n_k:
            return np.zeros((1, 1, n_q), dtype=bool)
        padding = ~keep[:, None]
        forbidden = ~patterns.keys(keep)[:, None] | (False if ahead is None else ahead)
        means = (
            "Where nothing may be read, a mask of large negative numbers in place of -inf spreads the weight "
            "evenly. Leave the rows of padding out of what you conclude"
        )
        self._forbidden(forbidden, padding, "which it may not read; the query is padding itself", means)
        return padding

    def _not_inverted(self, keep: Flags | None) -> Flags | None:
        """The mask, unless it calls every key with a weight padding: then that is said, and nothing else of it."""
        if keep is None or (self.W[self._on(keep)] != 0).any() or not self.open.any():
            return keep
        everywhere = np.ones((1, 1, 1), dtype=bool)
        means = "No token gets any weight: attention_mask seems inverted, 1 is for a token, 0 for padding"
        self._forbidden(
            ~patterns.keys(keep)[:, None], everywhere, "which attention_mask calls padding", means
        )
        return None

    def _on(self, keep: Flags) -> Flags:
        """Cells of open rows on keys that `keep` keeps."""
        return self.open[..., None] & keep[:, None, None]


def _no_look_ahead_after_all(weights: Floats, causal: bool | None, missing: list[int]) -> list[str]:
    if causal is None or causal or not _lower(weights, missing):
        return []
    return [
        "All heads: no weight stands above the diagonal, though causal=False. A causal mask seems at work: pass "
        "causal=True, or look for the mask."
    ]


def _lower(weights: Floats, missing: list[int]) -> bool:
    """Whether every weight above the diagonal is 0, and there is one to look at."""
    n_q, n_k = weights.shape[-2:]
    if not 1 < n_q == n_k:
        return False
    above = ~patterns.causal(n_q)
    return not any(layer[..., above].any() for k, layer in enumerate(weights) if k not in missing)


# What they cannot


def _unknown(
    look: _Look, dtype: str, causal: bool | None, keep: Flags | None, allowed: Flags | None
) -> list[str]:
    """Sentences about what these weights leave open, the ones that hold for all weights first."""
    return [
        "What a key passes on: a weight multiplies a value and W_O, and neither is here. A bright cell on a value "
        "of length 0 moves nothing.",
        "What that does to the result: the residual stream carries the rest past each head, and later layers read "
        "the sum. Only an intervention measures it.",
        "The scores, their scale and temperature: a softmax forgets what is added to a whole row, and weights "
        "alone do not separate sqrt(d_k) from a temperature.",
        "Whether label i belongs to position i, and what a position still holds of its token after the first layer.",
        *_not_told(look, causal, keep),
        *_ambiguous_axes(look),
        *_ambiguous_numbers(look, dtype, allowed),
    ]


def _not_told(look: _Look, causal: bool | None, keep: Flags | None) -> list[str]:
    said = []
    if causal is None and look.W.shape[-2] == look.W.shape[-1] > 1:
        alike = _lower(look.W, look.missing)
        seen = "all weights above the diagonal are 0" if alike else "weights stand above the diagonal"
        said.append(
            f"Whether the model may look ahead: {seen}, but causal= was not given, so nothing was checked."
        )
    if keep is None:
        said.append("Which keys are padding: attention_mask= was not given, so nothing was checked.")
    return said


def _ambiguous_axes(look: _Look) -> list[str]:
    """Axes whose sizes, or sums, would let them be taken for each other."""
    _, batch, heads, n_q, n_k = look.W.shape
    said = []
    for alike, names in ((batch == heads > 1, "batch and heads"), (heads == n_q == n_k > 1, "heads and T")):
        if alike:
            said.append(f"Which axis is heads: {names} are both {heads}. Read as (batch, heads, T, T).")
    if heads == n_k != n_q:
        said.append(
            f"Which axis is heads: axis 1 is as long as the keys, {n_k}, and axis 2 is not, {n_q}. Of an array A of "
            "shape (batch, queries, heads, keys), np.moveaxis(A, 2, 1) is expected."
        )
    if heads == 1:
        said.append("Whether the one head is one, or several averaged: an average sums to 1 too.")
    if n_q != n_k:
        said.append(
            f"Which positions these are: {n_q} queries by {n_k} keys come from cross attention, from a cache (the "
            "last queries), or from a window, where key j is not position j."
        )
    with np.errstate(all="ignore"):
        columns = look.W.sum(axis=-2, dtype=np.float64)
    if n_q > 1 and (look.open.any() and (np.abs(columns - 1) <= look.exact)[look.open.any(axis=-1)].all()):
        said.append("Which axis is queries: columns sum to 1 as well as rows, so the sums do not tell.")
    return said


def _ambiguous_numbers(look: _Look, dtype: str, allowed: Flags | None) -> list[str]:
    said = []
    may = True if allowed is None else allowed[:, None]
    zeros = int(((look.W == 0) & look.open[..., None] & may).sum())
    if zeros:
        said.append(
            f"Whether a 0 is a blocked key or a weight too small for {dtype}: {zeros} are exactly 0 where nothing was "
            "told, and both look so."
        )
    if look.W.shape[-1] == 1:
        said.append("Anything about the scores: with one key the weight is 1 whatever its score.")
    if _eps(dtype) > 1e-4:
        said.append(
            f"What {dtype} rounded away: a row sum may be off by {_number(look.exact)}, and pictures print it as it is."
        )
    return said
