"""How fast a live figure follows its slider, against the usual ways: ``python -m tests.benchmarks.live_figures``.

The same heatmap with a row of bars, 8 by 8 with numbers in the cells and 64 by 64, in a real JupyterLab and Chromium.
A way that is not installed (``pip install ipympl plotly anywidget``) is left out and named.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import nbformat

from tests.lab import Notebook, browser, jupyterlab
from tests.support import chromium

SIZES = (8, 64)
BURST = 20
PAUSE = 33  # ms between the presses of a burst: what a key that is held down sends
NEEDS = {"ipympl": ["ipympl"], "plotly FigureWidget": ["plotly", "anywidget"]}

DATA = """
import time
import numpy as np
import ipywidgets as widgets
from helpers.attention import softmax

n = {n}
scores = np.random.default_rng(0).normal(size=(n, n))
took = []

def weights_at(place):
    return softmax(scores / 2.0 ** (place / 200))

def timed(function):
    def run(*args, **kwargs):
        start = time.perf_counter()
        function(*args, **kwargs)
        took.append(1000 * (time.perf_counter() - start))
    return run
"""
FLOOR = """
slider, label = widgets.IntSlider(value=0, min=0, max=1000), widgets.Label("0")
slider.observe(timed(lambda change: setattr(label, "value", str(change["new"]))), "value")
box = widgets.VBox([slider, label])
box.add_class("way")
label.add_class("seen")
box
"""
OURS = """
from helpers import figures
from helpers.explore import Frame, LiveFigure
from helpers.explore.controls import Number

keys = [f"key {j}" for j in range(n)]

def draw(place):
    A = weights_at(place)
    bars = figures.bars(keys, {"weight": A[-1]})
    return Frame({"weights": figures.weights(A), "last row": bars}, f"At {place} the last row gives {A[-1].max():.2f}.")

figure = LiveFigure("Benchmark", "Move the slider.", {"place": Number("place", 0, 0, 1000)}, draw)
figure.redraw = timed(figure.redraw)
figure
"""
MATPLOTLIB = """
import matplotlib.pyplot as plt

def drawn(A):
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    shown = left.imshow(A, vmin=0, vmax=1, cmap="Blues")
    written = n if n < 16 else 0  # numbers in the cells where there is room
    texts = [left.text(j, i, f"{A[i, j]:.2f}", ha="center", va="center") for i in range(written) for j in range(n)]
    return fig, shown, texts, right.barh(range(n), A[-1])
"""
INTERACT = (
    MATPLOTLIB
    + """
def show(place):
    drawn(weights_at(place))
    plt.show()

control = widgets.interactive(timed(show), place=widgets.IntSlider(value=0, min=0, max=1000))
control.add_class("way")
control.out.add_class("seen")
control
"""
)
IPYMPL = (
    "%matplotlib widget\n"
    + MATPLOTLIB
    + """
plt.ioff()
fig, shown, texts, patches = drawn(weights_at(0))

def move(change):
    A = weights_at(change["new"])
    shown.set_data(A)
    for text, value in zip(texts, A.ravel()):
        text.set_text(f"{value:.2f}")
    for patch, value in zip(patches, A[-1]):
        patch.set_width(value)
    fig.canvas.draw()

slider = widgets.IntSlider(value=0, min=0, max=1000)
slider.observe(timed(move), "value")
fig.canvas.add_class("seen")
box = widgets.VBox([slider, fig.canvas])
box.add_class("way")
box
"""
)
PLOTLY = """
import plotly.graph_objects as go
from plotly.subplots import make_subplots

A = weights_at(0)
fig = go.FigureWidget(make_subplots(rows=1, cols=2))
fig.add_trace(go.Heatmap(z=A, zmin=0, zmax=1, texttemplate="%{z:.2f}" if n < 16 else None), row=1, col=1)
fig.add_trace(go.Bar(x=A[-1], orientation="h"), row=1, col=2)

def move(change):
    A = weights_at(change["new"])
    with fig.batch_update():
        fig.data[0].z = A
        fig.data[1].x = A[-1]

slider = widgets.IntSlider(value=0, min=0, max=1000)
slider.observe(timed(move), "value")
seen = widgets.Box([fig])
seen.add_class("seen")
box = widgets.VBox([slider, seen])
box.add_class("way")
box
"""
WAYS = {
    "slider to label (the floor)": FLOOR,
    "this course": OURS,
    "interact, inline figure": INTERACT,
    "ipympl": IPYMPL,
    "plotly FigureWidget": PLOTLY,
}

# Presses keys on the slider, and tells when the last change that a learner sees was painted, two frames included.
# A canvas changes without the document changing, so that drawing on one counts as a change too.
WATCH = """() => {
    const way = document.querySelector('.way, .abh-live');
    const handle = way.querySelector('.noUi-handle');
    const seen = [...way.querySelectorAll('.seen, .abh-picture')];
    let heard = () => {};
    const frames = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    const watching = {subtree: true, childList: true, characterData: true, attributes: true};
    for (const place of seen) {
        new MutationObserver(() => heard()).observe(place, watching);
        place.addEventListener('load', () => heard(), true);  // an image that has been decoded
    }
    for (const name of ['drawImage', 'putImageData']) {
        const draw = CanvasRenderingContext2D.prototype[name];
        CanvasRenderingContext2D.prototype[name] = function (...given) { heard(); return draw.apply(this, given); };
    }
    const press = () => handle.dispatchEvent(new KeyboardEvent('keydown', {
        key: 'ArrowRight', code: 'ArrowRight', keyCode: 39, bubbles: true, cancelable: true}));
    window.pressAndWait = async (count, pause, quiet) => {
        for (let k = 1; k < count; k++) { press(); await new Promise(next => setTimeout(next, pause)); }
        let last = null, timer, finish;
        const silent = new Promise(done => { finish = done; });
        const wait = time => { clearTimeout(timer); timer = setTimeout(finish, time); };
        heard = async () => { wait(quiet); await frames(); last = performance.now(); };
        wait(5000);
        const start = performance.now();
        press();
        await silent;
        await frames();
        heard = () => {};
        return last === null ? null : last - start;
    };
}"""
PRESS = "([count, pause, quiet]) => window.pressAndWait(count, pause, quiet)"


def notebook_of(way: str, n: int) -> nbformat.NotebookNode:
    """One notebook that shows one way at one size."""
    cell = nbformat.v4.new_code_cell
    notebook = nbformat.v4.new_notebook(
        cells=[
            cell(DATA.format(n=n), id="data"),
            cell(WAYS[way].strip(), id="way"),
            cell("import json; print(json.dumps(took[-400:])); took.clear()", id="took"),
        ]
    )
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook


def measure(opened: Notebook, moves: int, bursts: int) -> dict[str, list[float]]:
    """Times in ms: of a frame in the kernel, from key to picture, from the last key of a burst to the last picture."""
    page = opened.page
    opened.run_all()
    page.wait_for_selector(".way .noUi-handle, .abh-live .noUi-handle", timeout=30_000)
    page.wait_for_timeout(1500)
    page.evaluate(WATCH)
    page.evaluate(PRESS, [1, 0, 800])  # the first is warm-up
    opened.run("took")
    single = [page.evaluate(PRESS, [1, 0, 600]) for _ in range(moves)]
    opened.run("took")
    kernel = _printed(opened)
    burst = [page.evaluate(PRESS, [BURST, PAUSE, 2500]) for _ in range(bursts)]
    unseen = [name for name, times in (("moves", single), ("bursts", burst)) if None in times]
    if unseen:
        raise RuntimeError(f"{opened.path}: {unseen} changed nothing that is seen")
    return {"kernel": kernel, "single": single, "burst": burst}


def _printed(opened: Notebook) -> list[float]:
    output = opened.cell("took").locator(".jp-OutputArea-output", has_text="[").last
    output.wait_for()
    return json.loads(output.inner_text())


def rows(moves: int, bursts: int, ways: list[str]) -> Iterator[tuple[int, str, dict[str, list[float]]]]:
    """Measure every way at every size in one JupyterLab and one browser; the floor comes first and last."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = folder / "work"
        work.mkdir()
        with (
            jupyterlab(work, folder / "home") as address,
            browser(chromium(), folder / "profile") as page,
        ):
            for n in SIZES:
                for k, way in enumerate([*ways, ways[0]]):
                    path = f"way_{n}_{k}.ipynb"
                    nbformat.write(notebook_of(way, n), work / path)
                    opened = Notebook(page, address, path)
                    yield n, way, measure(opened, moves, bursts)
                    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")


def _summary(times: list[float]) -> str:
    ordered = sorted(times)
    tail = ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]
    return f"{statistics.median(ordered):8.1f} {tail:8.1f}"


def main() -> None:
    """Print the table, row by row as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moves", type=int, default=40, help="single moves a way (default 40)")
    parser.add_argument("--bursts", type=int, default=6, help=f"bursts of {BURST} keys a way (default 6)")
    options = parser.parse_args()
    absent = {way: [name for name in names if find_spec(name) is None] for way, names in NEEDS.items()}
    for way, names in absent.items():
        if names:
            print(f"{way} is left out: {', '.join(names)} not installed here.")
    ways = [way for way in WAYS if not absent.get(way)]
    print("ms, median and 95th percentile; ratio: key to picture against the floor of the same size")
    columns = f"{'kernel, a frame':>17} {'key to picture':>17} {'ratio':>6} {'last of a burst':>17}"
    print(f"{'size':>7}  {'way':28} {columns}")
    floor: dict[int, float] = {}
    for n, way, times in rows(options.moves, options.bursts, ways):
        median = statistics.median(times["single"])
        floor.setdefault(n, median)
        cells = [_summary(times[name]) for name in ("kernel", "single", "burst")]
        print(
            f"{n:>3} x {n:<2}  {way:28} {cells[0]} {cells[1]} {median / floor[n]:6.2f} {cells[2]}", flush=True
        )


if __name__ == "__main__":
    main()
