"""What nbgrader does besides for these notebooks: it keeps committed predictions, and grades outside the kernel.

nbgrader runs a submission's checks in the submission's own kernel, where its code can have replaced whatever it
likes, and believes the number that comes out. The points here are worked out in nbgrader's own process instead.
"""

from __future__ import annotations

import ast
import os
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

from nbclient.exceptions import DeadKernelError
from nbconvert.preprocessors import ClearMetadataPreprocessor, Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_output
from traitlets import Bool
from traitlets.log import get_logger

from .. import questions
from ..predictions.record import Record
from .handed_in import Unreadable
from .nbgrader_assignment import STUB
from .points import completion, share
from .runner import check_apart
from .submissions import read_notebook

RECORD = "my_predictions.jsonl"
MOST_LINES = 2_000
CELL_SECONDS = 60


def configure(config: Any) -> None:
    """
    Set up nbgrader for these notebooks.

    Parameters
    ----------
    config : traitlets.config.Config
        What ``get_config()`` gives in ``nbgrader_config.py``.
    """
    theirs = import_module("nbgrader.preprocessors")  # here: who has no nbgrader can import this module

    config.ClearSolutions.code_stub = {"python": STUB}
    formgrader = Path(import_module("nbgrader.server_extensions.formgrader").__file__).parent
    config.HTMLExporter.template_name = "offline"  # of feedback: theirs, without what it loads from elsewhere
    config.HTMLExporter.extra_template_basedirs = [
        str(Path(__file__).parent / "templates" / "nbgrader"),
        str(formgrader / "templates"),
    ]
    config.OverwriteCells.add_missing_cells = True  # a deleted one would be left to be graded by hand
    config.Autograde.pre_convert_hook = by_released_names
    config.ExecuteToTheEnd.timeout = CELL_SECONDS
    config.Autograde.sanitize_preprocessors = [
        KeepPredictions,
        theirs.ClearOutput,
        FirstOfCopies,
        theirs.OverwriteKernelspec,
        theirs.OverwriteCells,
        theirs.CheckCellMetadata,
    ]
    config.Autograde.autograde_preprocessors = [
        RestorePredictions,
        _to_the_end(theirs.Execute),
        GradeApart,
        theirs.IgnorePattern,
        ClearMetadataPreprocessor,
        theirs.LimitOutput,
        theirs.SaveAutoGrades,
        theirs.AssignLatePenalties,
        theirs.CheckCellMetadata,
    ]


def by_released_names(notebooks: list[str], **_: Any) -> None:
    """
    Before autograding: copies a notebook that was renamed to the name it was released under, which nbgrader goes by.

    Which it is, its cells tell. A file under the released name stays; of several renamed the last saved counts.

    Parameters
    ----------
    notebooks : list of str
        Paths of what one student submitted; changed in place to what is to be graded.
    """
    for path in sorted(map(Path, notebooks), key=os.path.getmtime, reverse=True):
        name = None if path.stem in questions.titles() else _which(path)
        if name is None:
            continue
        notebooks.remove(str(path))
        released = path.with_name(f"{name}.ipynb")
        if not released.exists():
            shutil.copyfile(path, released)
            notebooks.append(str(released))
            get_logger().warning("%s: taken for %s, by its cells.", path, released.name)


def _which(path: Path) -> str | None:
    try:
        return read_notebook(path.read_bytes()).notebook
    except (Unreadable, OSError):
        return None


class _Ours(Preprocessor):
    """On, unless switched off, as nbgrader's own are."""

    enabled = Bool(True).tag(config=True)


class KeepPredictions(_Ours):
    """Before outputs are cleared: keeps the committed lines that stand in them, in the notebook's metadata."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        outputs = [output for cell in nb.cells for output in cell.get("outputs", ())]
        found = [output.get("metadata", {}).get("predictions") for output in outputs]
        lines = [line for lines in found if isinstance(lines, list) for line in lines]
        nb.metadata["predictions"] = lines[:MOST_LINES]
        return nb, resources


class FirstOfCopies(_Ours):
    """Where a graded cell was copied, the first counts. nbgrader's own way with copies stops at what it leaves."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        seen: dict[str, int] = {}
        for number, cell in enumerate(nb.cells, 1):
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name is not None and seen.setdefault(name, number) != number:
                where = resources["nbgrader"]
                self.log.warning(
                    "%s of %s: cell %d is a copy of cell %d (%s), which counts.",
                    *(where["notebook"], where["student"], number, seen[name], name),
                )
                del cell.metadata["nbgrader"]
        return nb, resources


class RestorePredictions(_Ours):
    """Before a submission runs: puts the kept lines into a record beside it, so that its cards are as committed."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        place = _place(resources)
        record = Record(place)
        known = record.lines()
        for line in nb.metadata.pop("predictions", []):
            line = dict(line) if isinstance(line, dict) else {}
            if line not in known:
                try:
                    record.append(line)
                except (ValueError, TypeError, KeyError):
                    continue  # not a line of a record
                known.append(line)
        os.environ["PREDICTIONS_FILE"] = str(place)  # for the kernel that Execute starts
        return nb, resources


def _to_the_end(execute: type[Preprocessor]) -> type[Preprocessor]:
    """Make of nbgrader's Execute one after which a submission that kills its kernel is graded all the same."""

    class ExecuteToTheEnd(execute):
        def preprocess(self, nb: NotebookNode, resources: Any, km: Any = None) -> tuple[NotebookNode, Any]:
            try:
                return super().preprocess(nb, resources, km)
            except DeadKernelError as error:
                self.log.warning("%s: %s", resources["nbgrader"]["notebook"], error)
                return nb, resources

    return ExecuteToTheEnd


class GradeApart(_Ours):
    """After a submission has run: replaces what its graded cells gave by points that its code cannot reach."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        cells = [cell for cell in nb.cells if cell.cell_type == "code"]
        graded = [
            (cell, _asked(cell.source)) for cell in cells if cell.metadata.get("nbgrader", {}).get("grade")
        ]
        functions = {what: name for _, (call, what, name) in graded if call == "earned"}
        results = check_apart([cell.source for cell in cells], functions) if functions else {}
        for cell, (call, what, _) in graded:
            points = float(cell.metadata.nbgrader["points"])
            if call == "earned":
                given, said = share(results[what].score, points), f"{what}: {results[what].headline}\n"
            elif call == "committed":
                given, said = completion(what, Record(_place(resources)).lines(), points), ""
            else:
                continue  # a cell that the instructor added
            cell.outputs = [new_output("execute_result", {"text/plain": str(given)}, execution_count=1)]
            if said:
                cell.outputs.append(new_output("stream", name="stdout", text=said))
        return nb, resources


def _place(resources: Any) -> Path:
    return Path(resources["metadata"]["path"]).absolute() / RECORD


def _asked(source: str) -> tuple[str, str, str]:
    """Which function a graded cell calls, on what: ("earned", exercise, name) or ("committed", notebook, "")."""
    try:
        body = ast.parse(source).body
    except SyntaxError:  # a graded cell of the instructor's, in words of IPython
        return "", "", ""
    match body[-1] if body else None:
        case ast.Expr(ast.Call(ast.Name("earned"), [ast.Constant(str(what)), ast.Name(name), *_])):
            return "earned", what, name
        case ast.Expr(ast.Call(ast.Name("committed"), [ast.Constant(str(what)), *_])):
            return "committed", what, ""
    return "", "", ""
