"""A learner at a real JupyterLab in a real browser: nothing told before a commit, everything kept after."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from helpers import questions
from helpers.misconceptions import CATALOGUE
from helpers.predictions import answers
from tests.lab import ROOT, Notebook, browser, jupyterlab
from tests.support import chromium, optional

NAME = "01_one_row_by_hand.ipynb"
SECONDS = 20_000


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """JupyterLab on a working copy, with a page whose foreign requests and errors are written down."""
    executable = chromium()
    optional("playwright")
    folder = tmp_path_factory.mktemp("my_notebooks")
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        shutil.copy(path, folder / path.name)
    foreign: list[str] = []
    with (
        jupyterlab(folder, tmp_path_factory.mktemp("home")) as address,
        browser(executable, tmp_path_factory.mktemp("profile") / "chromium") as page,
    ):
        own = (address, address.replace("http", "ws"), "data:", "blob:")
        page.on("request", lambda request: request.url.startswith(own) or foreign.append(request.url))
        yield SimpleNamespace(page=page, address=address, folder=folder, foreign=foreign)


def told(notebook_file: Path, question_id: str) -> list[str]:
    """Which of a question's secrets stand in a saved notebook: explanation, model reason, verdicts."""
    saved = json.dumps(json.loads(notebook_file.read_text(encoding="utf-8")), ensure_ascii=False)
    question = questions.get(question_id)
    secrets = [question.say(question.explanation), question.say(question.because)]
    secrets += [CATALOGUE[name].verdict for name in question.wrong]
    return [secret for secret in secrets if secret and secret[:60] in saved]


def wrong_way(question: questions.Question) -> tuple[str, list]:
    """A misconception this row question sees, and what a learner who holds it types."""
    name, value = next(iter(question.wrong.items()))
    return name, answers.as_typed(question, value)


def fill(card, values: list) -> None:
    boxes = card.locator("input[type=text]")
    for at, value in enumerate(values):
        boxes.nth(at).fill(str(value))
    boxes.nth(len(values)).fill("so it seems to me")


def tab_to(page, selector: str) -> None:
    """Press Tab until the focus is on such an element."""
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} is not reached by Tab")


def test_a_learner_predicts_runs_restarts_and_comes_back(lab: SimpleNamespace) -> None:
    page, saved = lab.page, lab.folder / NAME
    notebook = Notebook(page, lab.address, NAME)
    notebook.run_all()
    notebook.save()
    rows = [question for question in questions.of_notebook("01_one_row_by_hand") if question.kind == "row"]
    first, second = rows[0], rows[1]
    choice = next(
        question for question in questions.of_notebook("01_one_row_by_hand") if question.kind == "choice"
    )
    for question in (first, second, choice):
        assert told(saved, question.id) == []
    assert page.locator(".abh-verdict").count() == 0

    # by mouse, wrongly: the misconception is named
    misconception, typed = wrong_way(first)
    card = notebook.cell(cell_of(saved, first.id))
    fill(card, typed)
    card.get_by_text("sure", exact=True).click()
    card.get_by_role("button", name="Commit", exact=True).click()
    verdict = page.get_by_text(CATALOGUE[misconception].verdict).first
    verdict.wait_for(timeout=SECONDS)

    # by mouse, rightly
    card = notebook.cell(cell_of(saved, second.id))
    fill(card, answers.as_typed(second, second.truth))
    card.get_by_text("fairly sure", exact=True).click()
    card.get_by_role("button", name="Commit", exact=True).click()
    page.get_by_text("Yes, your prediction and the run agree.").first.wait_for(timeout=SECONDS)

    # by keyboard alone: the focus stays on the button, which now opens the form again
    card = notebook.cell(cell_of(saved, choice.id))
    card.locator("input[type=radio]").first.focus()
    page.keyboard.press("Space")
    tab_to(page, "input[type=text]")
    page.keyboard.type("by keyboard")
    tab_to(page, "input[type=radio]")
    page.keyboard.press("Space")
    tab_to(page, "button")
    page.keyboard.press("Enter")
    card.get_by_text("committed, a guess").wait_for(timeout=SECONDS)
    page.wait_for_function("() => document.activeElement.textContent === 'Change my mind'", timeout=SECONDS)

    record = [
        json.loads(line)
        for line in (lab.folder / "my_predictions.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [line["question"] for line in record] == [first.id, second.id, choice.id]
    assert record[0]["answer"] == [str(value) for value in typed]
    assert record[0]["sure"] == 3

    notebook.save()
    assert_revealed(saved, first, misconception)

    notebook.restart_kernel()
    assert verdict.is_visible()
    page.reload()
    notebook.open()
    page.get_by_text(CATALOGUE[misconception].verdict).first.wait_for(timeout=SECONDS)
    notebook.run_all()  # a new kernel reads the record: everything stands as before
    page.get_by_text(CATALOGUE[misconception].verdict).first.wait_for(timeout=SECONDS)
    assert len((lab.folder / "my_predictions.jsonl").read_text(encoding="utf-8").splitlines()) == len(record)


def cell_of(notebook_file: Path, question_id: str) -> str:
    """Id of the cell that asks a question."""
    notebook = nbformat.read(notebook_file, as_version=4)
    return next(cell.id for cell in notebook.cells if f'predict("{question_id}"' in cell.source)


def assert_revealed(saved: Path, question: questions.Question, misconception: str) -> None:
    """The saved notebook alone is a complete submission, readable without widgets."""
    notebook = nbformat.read(saved, as_version=4)
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = [
        output
        for output in outputs
        if CATALOGUE[misconception].verdict in output.get("data", {}).get("text/html", "")
    ]
    assert shown, "the comparison is not in the saved file"
    assert "<table" in shown[0].data["text/html"]
    assert "widget" not in " ".join(shown[0].data)
    assert [line["question"] for line in shown[0].metadata["predictions"]] == [question.id]
    assert "widgets" not in notebook.metadata


def test_the_same_file_untrusted_still_shows_the_comparison(lab: SimpleNamespace) -> None:
    """A file that this JupyterLab has not signed loses scripts, styles and pictures; the table stays."""
    stranger = lab.folder / "from_a_student.ipynb"
    handed_in = nbformat.read(lab.folder / NAME, as_version=4)
    handed_in.cells.append(nbformat.v4.new_markdown_cell("My work."))
    nbformat.write(handed_in, stranger)
    notebook = Notebook(lab.page, lab.address, stranger.name)
    trusted = lab.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.widgets.some(c => c.model.trusted)"
    )
    assert not trusted
    shown = notebook.page.locator(".jp-OutputArea-output table:visible", has_text="run")
    shown.nth(2).wait_for(timeout=SECONDS)  # three were committed
    assert notebook.page.locator(".jp-OutputArea-output svg:visible").count() == 0


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb")))
def test_no_output_of_ours_breaks_an_accessibility_rule(name: str, theme: str, lab: SimpleNamespace) -> None:
    """Cards, forms, comparisons (of what was committed before) and figures, as JupyterLab shows them."""
    notebook = Notebook(lab.page, lab.address, name)
    lab.page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    notebook.run_all()
    lab.page.locator(".abh-form button").first.wait_for(timeout=SECONDS)
    axe = optional("axe_playwright_python.sync_playwright").Axe()
    report = axe.run(lab.page, context=".jp-OutputArea-output").response
    assert len(report["passes"]) > 5  # it did look
    found = report["violations"]
    ours = [
        f"{rule['id']} ({rule['help']}): {node['html'][:160]}" for rule in found for node in rule["nodes"]
    ]
    assert ours == []


def test_nothing_is_asked_of_another_host(lab: SimpleNamespace) -> None:
    assert lab.foreign == []
