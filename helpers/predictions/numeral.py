"""Reads one number as people really type it, keeps the digits typed, and compares at these digits."""

from __future__ import annotations

import ast
import math
import operator
import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

LONGEST = 200  # characters in one number: more is pasted by mistake
DEMANDED = 6  # significant digits compared at most: beyond them stands the noise of float32


class Unreadable(ValueError):
    """What was typed cannot be read; the message is for the learner."""


class NotANumber(Unreadable):
    """What was typed is not one finite number."""


class AmbiguousNumber(NotANumber):
    """What was typed can be read as two different numbers."""


@dataclass(frozen=True)
class Typed:
    """
    A number as somebody typed it.

    Attributes
    ----------
    text : str
        As typed, without spaces around it. Reading it again gives the same Typed.
    value : float
        What it says.
    slack : float
        Half a unit of the last digit typed: how far away a number may be that rounds to these digits.
    cut : bool
        Whether a number that is cut off to these digits, instead of rounded, fits as well.
    other : Typed or None
        A second honest reading of the same text, as 4 MB can mean 4,000,000 or 4,194,304.
    """

    text: str
    value: float
    slack: float
    cut: bool = False
    other: Typed | None = None

    def fits(self, truth: float) -> bool:
        """
        Tell whether `truth` is what was typed, at the digits typed.

        - With decimals, `truth` may round to the digits typed or be cut off to them: 0.66 and 0.67 both fit
          2/3. The digits of 67% are those of 0.67.
        - Nothing is cut off to zero: 0.0 says "nothing", and fits up to 0.05 only.
        - A whole number fits what rounds to it: 7 fits 6.7, and 6 does not.
        - But 0, 1 and -1 count as 0.0, 1.0 and -1.0: "nothing" and "all of it" do not round 1/3 and 2/3.
        - With a power of ten or a unit, all this holds for the number in front: 1.05e6 and 1e6 fit 1,048,576,
          and 1.1e6 does not.
        - An expression (2/3, sqrt(2), 2^20) counts as typed to two decimals, or to two digits where it is
          smaller than 0.1.
        - Behind a decimal point, more than six significant digits are never demanded.

        Parameters
        ----------
        truth : float
            A number that was computed. What is not finite fits nothing.

        Returns
        -------
        bool

        Examples
        --------
        >>> [read_number(text).fits(2 / 3) for text in ("0.67", "0.66", "0.7", "67%", "2/3", "0.68", "1")]
        [True, True, True, True, True, False, False]
        """
        truth = float(truth)
        if not math.isfinite(truth):
            return False
        noise = min(1e-9 * abs(truth), self.slack / 1000)
        further = truth - self.value if self.value > 0 else self.value - truth  # away from zero
        return (
            abs(further) <= self.slack + noise
            or (self.cut and self.value != 0 and 0 <= further < 2 * self.slack - noise)
            or (self.other is not None and self.other.fits(truth))
        )


def read_number(typed: Any, *, integers: bool = False, unit: str | None = None) -> Typed:
    """
    Read one finite number.

    Parameters
    ----------
    typed : str, int, float, NumPy scalar, or one of these in a list or array of its own
        Digits with a decimal point or comma, grouped digits, a percentage, a power of ten, a fraction, or an
        expression of numbers, + - * / ^, sqrt, exp, ln, log2, log10, pi and e. A float counts with the digits
        Python prints for it, so 0.67 has two.
    integers : bool
        Whether the answer is a whole number by nature, so that 1,024 can only mean 1024.
    unit : {"bytes"}, optional
        Read B, kB, MB, GB, TB (also where 1024-fold units are meant) and KiB, MiB, GiB, TiB behind it.

    Returns
    -------
    Typed

    Raises
    ------
    AmbiguousNumber
        If it can be read as two numbers, as 1,024 can.
    NotANumber
        If it is empty, no number, more than one number, or not finite.

    Examples
    --------
    >>> read_number("0,67").value, read_number("4 MiB", unit="bytes").value, read_number("1/√4").value
    (0.67, 4194304.0, 0.5)
    >>> read_number("1,024")
    Traceback (most recent call last):
    helpers.predictions.numeral.AmbiguousNumber: “1,024” can be 1024 or 1.024: write 1024 or 1.024.
    """
    if unit not in (None, "bytes"):
        raise ValueError(f'unit: expected None or "bytes", got {unit!r}')
    return _read(_as_text(typed), integers, unit)


@lru_cache(maxsize=4096)
def _read(text: str, integers: bool, unit: str | None) -> Typed:
    """Read one text; an answer is held against the run and every wrong program, each time as it was typed."""
    return _Reader(text, integers, unit).read()


def plain(text: str) -> str:
    """Return the same text in ASCII signs and digits, wherever a keyboard or a copied page brought others."""
    signs = []
    for sign in text.translate(_PLAIN):
        if "！" <= sign <= "～":  # the wide forms that Asian keyboards type
            sign = chr(ord(sign) - ord("！") + ord("!"))
        elif sign.isdecimal():
            sign = str(unicodedata.decimal(sign))
        elif sign.isspace() and sign not in "\n\t":
            sign = " "
        signs.append(sign)
    return "".join(signs).strip()


def unwrapped(text: str) -> str:
    """Return a text without the brackets, quotes or call around all of it: `np.array([1, 2])` is 1, 2."""
    text = text.strip()
    call = re.fullmatch(
        r"(?:\w+\.)*(?:array|asarray|tensor|list|tuple)\((.*)\)", text, re.DOTALL | re.IGNORECASE
    )
    if call:
        text = re.sub(r",\s*(?:dtype|device|requires_grad|grad_fn)\s*=.*$", "", call[1], flags=re.DOTALL)
    while text[:1] + text[-1:] in _BRACKETS and _belong_together(text):
        text = text[1:-1].strip()
    return text


_PLAIN = {
    **dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")),  # invisible: dropped
    **dict.fromkeys(map(ord, "‐‑‒–—―−﹣"), "-"),
    **dict.fromkeys(map(ord, "·⋅∙•×✕✖∗⨯"), "*"),
    **dict.fromkeys(map(ord, "÷∕⁄"), "/"),
    **dict.fromkeys(map(ord, "’‘ʼ`´˙٬"), "'"),
    **dict.fromkeys(map(ord, "≈≃≅≊∼"), "~"),
    **str.maketrans({"、": ",", "٫": ".", "。": ".", "٪": "%", "π": "pi", "…": "..."}),
}
_BRACKETS = ("()", "[]", "{}", '""', "''", "“”", "$$")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")

_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_WORDS = {word: str(value) for value, word in enumerate(_WORDS)}
_WORDS |= {"half": "1/2", "third": "1/3", "quarter": "1/4", "two thirds": "2/3", "three quarters": "3/4"}
_WORDS |= {f"{one} {part}": _WORDS[part] for one in ("a", "one") for part in ("half", "third", "quarter")}

_DIGITS = (
    r"(?:\d(?:[\d.,'_]*\d)?(?:[.,](?!\s))?|[.,]\d[\d_]*)"  # with decimal sign and groups, not yet looked into
)
_LITERAL = re.compile(
    rf"(?P<sign>[+-]?)\s*(?P<digits>\d{{1,3}}(?: \d{{3}})+(?:[.,]\d*)?|{_DIGITS})"
    r"(?:e(?P<e>[+-]?\d+)|\s*[*x]\s*10\s*(?:\^|\*\*)\s*\(?\s*(?P<ten>[+-]?\d+)\s*\)?)?"
)
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>{_DIGITS}(?:e[+-]?\d+)?)|(?P<name>[a-z_]\w*)|(?P<sign>\*\*|[-+*/^()]))"
)
_RANGE = re.compile(rf"({_DIGITS})\s*-\s*({_DIGITS})")
_UNIT = re.compile(
    r"(?<=[\d.)\s])\s*(?:(?P<short>[kmgt]i?)b?|(?P<long>(?:kilo|mega|giga|tera|kibi|mebi|gibi|tebi)?)-?bytes?|b)$"
)
_FUNCTIONS = {"sqrt": math.sqrt, "exp": math.exp, "ln": math.log, "log2": math.log2, "log10": math.log10}
_NAMES = {"pi": math.pi, "e": math.e}
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


class _Reader:
    """One text on its way to a Typed; the steps share how it is shown and what is known about it."""

    def __init__(self, text: str, integers: bool, unit: str | None) -> None:
        self.text = " ".join(text.split())
        self.shown = f"“{self.text}”" if len(self.text) <= 40 else f"“{self.text[:39]}…”"
        self.integers = integers
        self.unit = unit

    def read(self) -> Typed:
        if len(self.text) > LONGEST:
            raise NotANumber(f"{self.shown} is longer than a number can be: type the number only.")
        text, scales = self._core(), [Decimal(1)]
        if text.endswith("%"):
            text, scales = text[:-1].rstrip(), [Decimal("0.01")]
        elif self.unit and (found := _UNIT.search(text)):
            text, scales = text[: found.start()].rstrip(), _byte_scales(found["short"] or found["long"])
        self.integers |= self.unit == "bytes" and scales == [1]
        text = _WORDS.get(text, text)
        first, *others = [reading for scale in scales for reading in self._readings(text, scale)]
        for other in others:
            first = Typed(first.text, first.value, first.slack, first.cut, other)
        return first

    def _core(self) -> str:
        """The text without what people put around a number, in small letters and plain signs."""
        text = unwrapped(_spelled_out(plain(self.text)).lower())
        text = re.sub(r"^(?:about|approximately|approx\.?|around|roughly|nearly|circa|ca\.?)\s+", "", text)
        text = re.sub(r"^[a-z_][\w\[\], ]*[=:~]+\s*", "", text)  # "key 0: 0.67", "w[0] = 0.67"
        text = unwrapped(re.sub(r"^[~=]+\s*", "", text))
        text = re.sub(r"^([+-]?)\s*10\s*(\^|\*\*)", r"\1 1*10\2", text)  # as 1e6, not as an expression
        text = re.sub(r"\s*(?:percent|per cent)$", "%", text).strip()
        text = re.sub(r"(?<=[\w)%])(?:\s*[.,;?]|\.\.+)$", "", text)  # the end of a sentence; 0.666...
        if not text:
            raise NotANumber(
                "Nothing is typed yet: type a number, such as 0.25, or say that you don't know yet."
            )
        if re.search(r"∞|\b(?:inf|infinity|infty|nan)\b", text):
            raise NotANumber(
                f"{self.shown} is not a finite number: type the finite number you expect, in digits."
            )
        return text

    def _readings(self, text: str, scale: Decimal) -> list[Typed]:
        found = _LITERAL.fullmatch(text)
        if not found:
            value = self._finite(self._evaluate(text) * float(scale))
            return [Typed(self.text, value + 0.0, min(0.005, abs(value) / 20) or 0.005)]
        power = int(found["e"] or found["ten"] or 0)
        if abs(power) > 300:
            raise NotANumber(f"{self.shown} is too large or too small to compute with.")
        sign = -1 if found["sign"] == "-" else 1
        scale *= Decimal(1).scaleb(power)
        return [self._literal(sign * number, scale) for number in self._numbers(found["digits"])]

    def _literal(self, number: Decimal, scale: Decimal) -> Typed:
        """A Decimal keeps the digits typed: its exponent is the place of the last one."""
        value = number * scale
        exponent = number.as_tuple().exponent
        place = Decimal(1).scaleb(exponent) * scale
        cut = exponent < 0 or scale < 1
        if cut and value:
            place = max(place, min(Decimal(1).scaleb(value.adjusted() + 1 - DEMANDED), Decimal(1)))
        elif not cut and abs(number) <= 1:
            place /= 10
        return Typed(self.text, self._finite(float(value)) + 0.0, float(place / 2), cut)  # -0.0 + 0.0 is 0.0

    def _numbers(self, digits: str) -> list[Decimal]:
        """What digits with commas, points and groups stand for: two numbers where both can be meant."""
        digits = re.sub(r"(?<=\d)_(?=\d)", "", digits)
        if re.fullmatch(r"\d{1,3}([ '])\d{3}(?:\1\d{3})*(?:[.,]\d*)?", digits):
            return [Decimal(re.sub("[ ']", "", digits).replace(",", "."))]
        commas, points = digits.count(","), digits.count(".")
        if commas and points:
            group, point = ",." if digits.rfind(",") < digits.rfind(".") else ".,"
            whole, _, decimals = digits.rpartition(point)
            if _is_grouped(whole, group):
                return [Decimal(f"{whole.replace(group, '')}.{decimals}")]
        elif commas + points > 1:
            if _is_grouped(digits, "," if commas else "."):
                return [Decimal(re.sub("[,.]", "", digits))]
        elif re.fullmatch(r"\d*[.,]?\d+|\d+[.,]", digits):
            number, joined = Decimal(digits.replace(",", ".")), Decimal(re.sub("[,.]", "", digits))
            if not re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", digits):
                return [number]
            if points:
                return [number, joined] if self.integers else [number]
            if self.integers:
                return [joined]
            raise AmbiguousNumber(f"{self.shown} can be {joined} or {number}: write {joined} or {number}.")
        raise self._unreadable()

    def _evaluate(self, text: str) -> float:
        if re.search(r"[<>≤≥≠±=~]|\+/?-\s*[\d.]", text):
            raise self._not_one()
        mixed = re.fullmatch(r"([+-]?)\s*(\d+) (\d+/\d+)", text)  # 1 1/2, 1½
        text = f"{mixed[1]}({mixed[2]}+{mixed[3]})" if mixed else text
        limits = _RANGE.fullmatch(text)
        if limits and self._numbers(limits[1])[0] < self._numbers(limits[2])[0]:
            raise NotANumber(f"{self.shown} looks like a range: type the one number you expect.")
        try:
            return _value(ast.parse(self._python(text), mode="eval").body)
        except (SyntaxError, TypeError, RecursionError, MemoryError):
            raise self._unreadable() from None
        except ZeroDivisionError:
            raise NotANumber(f"{self.shown} divides by zero: type a finite number.") from None
        except OverflowError:
            raise self._too_large() from None
        except ArithmeticError:
            raise NotANumber(f"{self.shown} has no real value: check the root or logarithm.") from None

    def _python(self, text: str) -> str:
        """Translate to Python, token by token, so that nothing else can get in: 2√3 is 2 * sqrt(3)."""
        text = re.sub(r"\b(?:np|numpy|math|torch|jnp)\.", "", text).replace("√", " sqrt")
        text = re.sub(r"(?<=\d)\s*(?<!^0)x\s*(?=\d)", "*", text)  # 4 x 1024, but not 0x10
        text = re.sub(rf"\b(sqrt|exp|ln)\s*({_DIGITS}|pi\b)", r"\1(\2)", text)
        tokens, at, closed = [], 0, False
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if not found:
                raise self._not_one() if closed and text[at:].lstrip()[0] in ",;" else self._unreadable()
            at, name = found.end(), found["name"]
            if name and name not in _FUNCTIONS and name not in _NAMES:
                raise self._unknown(name)
            if found["number"]:
                if closed and tokens[-1] != ")":
                    raise self._not_one()
                digits, _, power = found["number"].partition("e")
                token = f"{self._numbers(digits)[0]:f}" + (power and f"e{power}")
            else:
                token = name or found["sign"].replace("^", "**")
            if closed and (name or found["number"] or token == "("):
                tokens.append("*")
            tokens.append(token)
            closed = bool(found["number"]) or name in _NAMES or token == ")"
        return " ".join(tokens)

    def _finite(self, value: float) -> float:
        if not math.isfinite(value):
            raise self._too_large()
        return value

    def _too_large(self) -> NotANumber:
        return NotANumber(f"{self.shown} is too large to compute with: type a smaller number.")

    def _not_one(self) -> NotANumber:
        return NotANumber(f"{self.shown} is more than one number: type the one number you expect.")

    def _unknown(self, name: str) -> NotANumber:
        if name == "log":
            return NotANumber(f"{self.shown}: log has several bases; write ln(…), log2(…) or log10(…).")
        if not re.search(r"\d", self.text):
            return self._unreadable()
        name = re.search(re.escape(name), self.text, re.IGNORECASE) or [name]  # in the capitals typed
        return NotANumber(f"{self.shown} holds “{name[0]}”: write one number, in digits, without it.")

    def _unreadable(self) -> NotANumber:
        return NotANumber(
            f"{self.shown} is not read as a number: type digits, such as 0.25 or -3. "
            "Fractions (1/4), percentages (25%), powers (2^10), sqrt(3), exp(0.5) and pi are read as well."
        )


def _value(node: ast.AST) -> float:
    """Compute in floats, where no power grows beyond bounds; what is not arithmetic is a TypeError."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case ast.UnaryOp(op=sign, operand=operand):
            return _OPERATORS[type(sign)](_value(operand))
        case ast.BinOp(left=left, op=sign, right=right):
            result = _OPERATORS[type(sign)](_value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=[argument]) if name in _FUNCTIONS:
            try:
                result = _FUNCTIONS[name](_value(argument))
            except ValueError:  # math domain error
                raise ArithmeticError from None
        case _:
            raise TypeError("not arithmetic")
    if isinstance(result, complex):
        raise ArithmeticError
    return result


def _spelled_out(text: str) -> str:
    """½ becomes 1/2, and 10⁶ becomes 10^(6)."""
    signs = []
    for sign in text:
        spelled = unicodedata.normalize("NFKC", sign).replace("⁄", "/")
        signs.append(f" {spelled}" if "/" in spelled and spelled != sign else sign)
    return re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+", lambda run: f"^({run[0].translate(_RAISED)})", "".join(signs))


def _belong_together(text: str) -> bool:
    """Whether the first and the last sign are one pair: not so in (1)+(2)."""
    left, right = text[0], text[-1]
    if left == right:
        return len(text) > 1 and left not in text[1:-1]
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == left) - (sign == right)
        if depth == 0:
            return at == len(text) - 1
    return False


def _is_grouped(digits: str, group: str) -> bool:
    """Three digits behind the last sign; two behind the others, as in 10,48,576, are written too."""
    sign = re.escape(group)
    return re.fullmatch(rf"\d{{1,3}}(?:{sign}\d{{2,3}})*{sign}\d{{3}}", digits) is not None


def _byte_scales(name: str | None) -> list[Decimal]:
    """MiB is exact. MB is 1000² bytes, and many write it for 1024²: both are read."""
    if not name:
        return [Decimal(1)]
    power = "kmgt".index(name[0]) + 1
    binary = Decimal(1024**power)
    return [binary] if name.endswith("i") else [Decimal(1000**power), binary]


def _as_text(typed: Any) -> str:
    """The digits that Python or NumPy print for a number; text as it is."""
    if isinstance(typed, (list, tuple)) and len(typed) == 1:
        typed = typed[0]
    if hasattr(typed, "shape") and not isinstance(typed, np.generic) and math.prod(typed.shape) == 1:
        # A float32 of NumPy prints digits of its own; .item() would add those of the wider type.
        typed = typed.ravel()[0] if isinstance(typed, np.ndarray) else typed.item()
    if typed is None:
        raise NotANumber("Nothing is typed yet: type a number, such as 0.25, or say that you don't know yet.")
    if isinstance(typed, (bool, np.bool_)):
        raise NotANumber(f"{typed} is no number: type it in digits, 1 or 0.")
    if isinstance(typed, int) and abs(typed) >= 10**LONGEST:
        raise NotANumber("This number is too large to compute with: type a smaller one.")
    if isinstance(typed, (str, int, float, np.integer, np.floating, Decimal, Fraction)):
        return str(typed)
    shown = " ".join(repr(typed).split())
    raise NotANumber(f"Expected one number, got {shown[:60]}: type it in digits, such as 0.25.")
