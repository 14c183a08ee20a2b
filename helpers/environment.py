"""What is installed, what is missing and how to get it: the one place that prints versions."""

from __future__ import annotations

import importlib.util
import platform
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

from markupsafe import Markup

PACKAGE = Path(__file__).resolve().parent
NEEDED = ("jupyterlab", "ipykernel", "ipywidgets", "numpy", "matplotlib", "nbval")
OPTIONAL = ("torch", "jax", "keras")
_KINDS = {"needed": NEEDED, "optional": OPTIONAL}
_HOW = {"needed": "`python start.py`", "optional": "`python start.py --frameworks`"}


@dataclass(frozen=True)
class Report:
    """Rows of a table and sentences below it, shown as HTML in a notebook and as text elsewhere.

    Attributes
    ----------
    rows : tuple of (str, str)
        What, and its version or place.
    remarks : tuple of str
        What is missing or odd, each with what to do; empty when all is well.
    """

    rows: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]

    def __str__(self) -> str:
        width = max(len(what) for what, _ in self.rows)
        return "\n".join([*(f"{what:{width}}  {value}" for what, value in self.rows), *self.remarks])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        left = Markup('style="text-align:left"')
        row = Markup('<tr><th scope="row" {}>{}</th><td {}>{}</td></tr>')
        table = Markup("").join(row.format(left, what, left, value) for what, value in self.rows)
        remarks = Markup("").join(Markup("<p>{}</p>").format(remark) for remark in self.remarks)
        return Markup("<table><caption>This environment</caption>{}</table>{}").format(table, remarks)


def report() -> Report:
    """
    Say what this kernel runs on, where the record is written, and what is missing.

    Returns
    -------
    Report
        Shown as a table when it ends a notebook cell; ``print`` gives the same as text.

    Examples
    --------
    >>> what = [what for what, _ in report().rows]
    >>> what[0], "helpers" in what, "record" in what
    ('Python', True, True)
    """
    from .predictions.record import record_path

    versions = {name: version(name) for name in (*NEEDED, *OPTIONAL)}
    rows = [("Python", f"{platform.python_version()} ({sys.executable})")]
    rows += [(name, found or "not installed") for name, found in versions.items()]
    rows += [("helpers", str(PACKAGE)), ("record", str(record_path()))]
    return Report(tuple(rows), (*_missing(versions), *_strangers()))


def version(name: str) -> str | None:
    """
    Return the version of an installed package without importing it.

    Parameters
    ----------
    name : str
        Name of the package, which is also the name to import it by.

    Returns
    -------
    str or None
        None where it is not installed.
    """
    if importlib.util.find_spec(name) is None:
        return None
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def other_helpers(path: Iterable[str] | None = None) -> list[Path]:
    """
    Find other modules or packages called ``helpers`` where Python looks for imports.

    Whichever stands first is the one that notebooks import.

    Parameters
    ----------
    path : iterable of str, optional
        Folders in order. Default: ``sys.path``.

    Returns
    -------
    list of Path
        Files or folders that are not this course's.
    """
    found = []
    for folder in sys.path if path is None else path:
        spec = PathFinder.find_spec("helpers", [folder or str(Path.cwd())])
        if spec is None:
            continue
        place = Path(spec.origin) if spec.origin else Path(next(iter(spec.submodule_search_locations)))
        place = place.parent if place.name == "__init__.py" else place
        if place.resolve() != PACKAGE and place not in found:
            found.append(place)
    return found


def _missing(versions: dict[str, str | None]) -> list[str]:
    """Name what is not installed, in one line a kind, with how to get it."""
    remarks = []
    for kind, names in _KINDS.items():
        absent = [name for name in names if versions[name] is None]
        if absent:
            how = f"{_HOW[kind]} in the course's folder gets {'them' if len(absent) > 1 else 'it'}"
            remarks.append(f"Not installed, {kind}: {', '.join(absent)}; {how}.")
    return remarks


def _strangers() -> list[str]:
    """Name what is, or may come to be, imported in place of the helpers that belong to these notebooks."""
    remarks = [
        f"Another helpers lies where Python looks for imports: {place}. Rename or move it if imports fail."
        for place in other_helpers()
    ]
    here = Path.cwd()
    course = next((folder for folder in (here, *here.parents) if (folder / "start.py").exists()), None)
    if course and (course / "helpers").resolve() != PACKAGE:
        remarks.append(
            f"These notebooks belong to {course}, but import helpers from {PACKAGE.parent}: "
            "start them with `python start.py` in their own folder."
        )
    return remarks


if __name__ == "__main__":
    print(report())
