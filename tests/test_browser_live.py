"""Live figures as a learner meets them: a real JupyterLab, a real Chromium, by mouse, by keyboard, and on paper."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from tests.lab import Notebook, browser, jupyterlab
from tests.support import chromium, optional

SECONDS = 20_000
FIGURES = {
    "row": "explore.row([1, 0], [[1, 0], [0, 1]], [[100, 0], [0, 20]])",
    "scale": "explore.scale()",
    "masks": "explore.masks()",
    "temperature": "explore.temperature([[1, 0, 2, 0], [0, 1, 0, 1], [1, 2, 1, 3], [2, 0, 1, 1]], query=2)",
    "heads": "explore.heads([[[4, 0], [4, 0]], [[0, 4], [0, 4]], [[4, 0], [0, 4]]])",
    "tiles": "explore.tiles()",
    "growth": "explore.growth(memory=2**34)",
}
FAILING = """
from helpers.explore import Frame, LiveFigure
from helpers.explore.controls import Number

def draw(n):
    if n == 2:
        raise ValueError("no row is left")
    return Frame({"row": figures.bars(["a"], {"v": [n]})}, f"It is {n}.")

LiveFigure("Fails at 2", "Move it past 2.", {"n": Number("n", 1, 1, 9)}, draw)
"""
COUNT = """
from ipywidgets.widgets.widget import _instances
print("open:", len(_instances))
"""
WAITING = """
from helpers import predict
show(explore.masks(), after="04-padding")
"""


def written(path: Path, cells: dict[str, str]) -> Path:
    setup = "from helpers import explore, figures, show"
    cell = nbformat.v4.new_code_cell
    notebook = nbformat.v4.new_notebook(
        cells=[cell(setup, id="setup"), *(cell(s.strip(), id=f"cell-{name}") for name, s in cells.items())]
    )
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)
    return path


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    executable = chromium()
    optional("playwright")
    folder = tmp_path_factory.mktemp("my_notebooks")
    written(folder / "live.ipynb", FIGURES)
    written(folder / "odd.ipynb", {"failing": FAILING, "count": COUNT, "waiting": WAITING})
    foreign: list[str] = []
    with (
        jupyterlab(folder, tmp_path_factory.mktemp("home")) as address,
        browser(executable, tmp_path_factory.mktemp("profile") / "chromium") as page,
    ):
        own = (address, address.replace("http", "ws"), "data:", "blob:")
        page.on("request", lambda request: request.url.startswith(own) or foreign.append(request.url))
        yield SimpleNamespace(page=page, address=address, folder=folder, foreign=foreign)


@pytest.fixture(scope="module")
def live(lab: SimpleNamespace) -> Notebook:
    """The notebook of all figures, run."""
    notebook = Notebook(lab.page, lab.address, "live.ipynb")
    notebook.run_all()
    lab.page.locator(".abh-live").nth(len(FIGURES) - 1).wait_for(timeout=SECONDS)
    return notebook


def status(figure) -> str:
    return figure.get_by_role("status").inner_text()


def test_keys_on_a_slider_move_the_picture_the_sentence_and_the_number(live: Notebook) -> None:
    figure = live.cell("cell-temperature").locator(".abh-live")
    before, picture = status(figure), figure.locator("svg").first.inner_html()
    figure.locator(".noUi-handle").focus()
    for _ in range(5):
        live.page.keyboard.press("ArrowRight")
    box = figure.get_by_label("temperature", exact=True)
    live.page.wait_for_function("box => Number(box.value) > 1.1", arg=box.element_handle(), timeout=SECONDS)
    assert f"At temperature {float(box.input_value()):.3g} " in status(figure) != before
    assert figure.locator("svg").first.inner_html() != picture
    assert live.page.evaluate("() => document.activeElement.classList.contains('noUi-handle')")


def test_a_burst_of_keys_ends_on_the_last_value(live: Notebook) -> None:
    figure = live.cell("cell-temperature").locator(".abh-live")
    box = figure.get_by_label("temperature", exact=True)
    box.fill("1")
    box.press("Enter")
    figure.get_by_text("At temperature 1 under").wait_for(timeout=SECONDS)
    live.page.wait_for_timeout(300)  # the handle follows a number that was typed
    handle = figure.locator(".noUi-handle")
    for _ in range(20):
        handle.press("ArrowLeft")
    last = f"At temperature {2 ** (-20 * 0.05):.3g} under"
    figure.get_by_text(last).wait_for(timeout=SECONDS)
    live.page.wait_for_timeout(300)
    assert last in status(figure)


def test_a_number_typed_between_two_steps_stays(live: Notebook) -> None:
    figure = live.cell("cell-temperature").locator(".abh-live")
    box = figure.get_by_label("temperature", exact=True)
    box.fill("3.1")
    box.press("Enter")
    figure.get_by_text("At temperature 3.1 under").wait_for(timeout=SECONDS)
    live.page.wait_for_timeout(300)
    assert (box.input_value(), "At temperature 3.1 " in status(figure)) == ("3.1", True)


def test_cells_are_clicked_and_say_their_state(live: Notebook) -> None:
    figure = live.cell("cell-masks").locator(".abh-live")
    figure.get_by_label("causal", exact=True).check()
    figure.get_by_text("No query reads a later key.").wait_for(timeout=SECONDS)
    cell = figure.locator("button[title='query 0, key 5']")
    assert cell.inner_text() == "no"
    cell.focus()
    live.page.keyboard.press("Space")
    figure.get_by_text("A later key is read by query 0.").wait_for(timeout=SECONDS)
    assert cell.inner_text() == "yes" and figure.get_by_label("by hand", exact=True).is_checked()


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_no_figure_breaks_an_accessibility_rule_of_ours(live: Notebook, theme: str) -> None:
    """The handle of a slider has no name: ipywidgets gives it none. The box beside it has one, and does the same."""
    live.page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    live.page.wait_for_timeout(300)
    axe = optional("axe_playwright_python.sync_playwright").Axe()
    report = axe.run(live.page, context=".jp-OutputArea-output").response
    assert len(report["passes"]) > 8
    ours = [
        f"{rule['id']}: {node['html'][:160]}"
        for rule in report["violations"]
        for node in rule["nodes"]
        if not (rule["id"] == "aria-input-field-name" and "noUi-handle" in node["html"])
    ]
    assert ours == []
    for slider in live.page.locator(".abh-live .noUi-handle:visible").all():
        beside = slider.locator("xpath=ancestor::*[contains(@class,'widget-hbox')][1]").locator("input")
        assert beside.first.evaluate("box => box.labels[0].textContent.length") > 0


def test_the_page_shows_the_live_figure_or_the_still_one(live: Notebook) -> None:
    cell = live.cell("cell-temperature")
    assert cell.locator(".abh-live").is_visible() and not cell.locator(".abh-still").is_visible()


@pytest.mark.parametrize("width", [560, 1280])
def test_nothing_sticks_out(live: Notebook, width: int) -> None:
    live.command("application:toggle-left-area")
    live.page.set_viewport_size({"width": width, "height": 900})
    live.page.wait_for_timeout(300)
    out = live.page.evaluate(
        """() => [...document.querySelectorAll('.abh-live')].filter(box => {
            const right = box.closest('.jp-OutputArea-output').getBoundingClientRect().right + 1;
            return [...box.querySelectorAll('svg, button, input, p')].some(part => {
                const scrolls = part.closest('[role=group]');
                return part.offsetParent !== null && !scrolls && part.getBoundingClientRect().right > right;
            });
        }).map(box => box.querySelector('.abh-goal').textContent)"""
    )
    live.page.set_viewport_size({"width": 1280, "height": 900})
    live.command("application:toggle-left-area")
    assert out == []


def test_a_failure_is_said_on_the_figure_and_running_again_leaves_no_widgets(lab: SimpleNamespace) -> None:
    page = lab.page
    notebook = Notebook(page, lab.address, "odd.ipynb")
    notebook.run_all()
    figure = notebook.cell("cell-failing").locator(".abh-live")
    figure.wait_for(timeout=SECONDS)
    figure.locator(".noUi-handle").press("ArrowRight")
    figure.get_by_role("alert").wait_for(timeout=SECONDS)
    assert "ValueError: no row is left" in figure.get_by_role("alert").inner_text()
    figure.locator(".noUi-handle").press("ArrowRight")
    figure.get_by_text("It is 3.").wait_for(timeout=SECONDS)
    assert figure.get_by_role("alert").count() == 0

    def count() -> str:
        notebook.run("cell-count")
        shown = notebook.cell("cell-count").locator(".jp-OutputArea-output", has_text="open:")
        shown.wait_for(timeout=SECONDS)
        return shown.inner_text()

    first = count()
    for _ in range(3):
        notebook.run("cell-failing")
    assert count() == first


def test_a_figure_that_waits_appears_with_the_commit(lab: SimpleNamespace) -> None:
    notebook = Notebook(lab.page, lab.address, "odd.ipynb")
    notebook.run_all()
    cell = notebook.cell("cell-waiting")
    cell.get_by_text("This appears once you have committed").wait_for(timeout=SECONDS)
    assert cell.locator(".jp-OutputArea-output svg").count() == 0 and cell.locator(".abh-live").count() == 0
    lab.page.evaluate(
        """async () => {
            const panel = window.jupyterapp.shell.currentWidget;
            const kernel = panel.sessionContext.session.kernel;
            const answer = '[[1,0,0,0],[1,1,0,0],[1,1,0,0],[1,1,0,0]]';
            await kernel.requestExecute({code: `predict("04-padding", ${answer}, because="both", sure=2)`}).done;
        }"""
    )
    figure = cell.locator(".abh-live")
    figure.wait_for(timeout=SECONDS)
    figure.get_by_label("window", exact=True).check()
    figure.get_by_text("11 of 36 cells are allowed.").wait_for(timeout=SECONDS)


def test_the_saved_file_keeps_a_still_face_that_needs_no_kernel(lab: SimpleNamespace, tmp_path: Path) -> None:
    page = lab.page
    notebook = Notebook(page, lab.address, "live.ipynb")
    notebook.run_all()
    page.locator(".abh-live").nth(len(FIGURES) - 1).wait_for(timeout=SECONDS)
    notebook.save()
    page.wait_for_timeout(500)
    saved = json.loads((lab.folder / "live.ipynb").read_text(encoding="utf-8"))
    assert "widgets" not in saved["metadata"]
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    notebook.open()
    for name in FIGURES:
        cell = notebook.cell(f"cell-{name}")
        cell.locator(".abh-still svg").first.wait_for(timeout=SECONDS)
        assert cell.locator(".abh-live").count() == 0
        assert cell.get_by_text("Goal", exact=False).count() == 0 or cell.locator(".abh-still").is_visible()
    exported_and_printed(lab, tmp_path)


def exported_and_printed(lab: SimpleNamespace, tmp_path: Path) -> None:
    """As HTML by nbconvert, and from there on paper: a picture and a sentence for each, nothing dead beside it."""
    from nbconvert import HTMLExporter

    html, _ = HTMLExporter().from_filename(str(lab.folder / "live.ipynb"))
    page_file = tmp_path / "live.html"
    page_file.write_text(html, encoding="utf-8")
    paper = lab.page.context.new_page()
    paper.route(
        "**/*",
        lambda route: (
            route.continue_() if route.request.url.startswith(("file:", "data:")) else route.abort()
        ),
    )
    paper.goto(page_file.as_uri())
    assert paper.locator(".abh-still svg:visible").count() >= len(FIGURES)
    assert "At temperature 1 under the causal pattern, query 2 gives" in paper.locator("body").inner_text()
    printed = tmp_path / "live.pdf"
    paper.pdf(path=str(printed))
    assert printed.stat().st_size > 20_000
    paper.close()


def test_nothing_is_asked_of_another_host(lab: SimpleNamespace) -> None:
    assert lab.foreign == []
