"""Figures in a browser: no accessibility violation in any theme, colours as computed, nothing cut off."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from helpers import figures
from helpers.figures import palette
from tests.support import chromium, optional

CAUSAL = np.tril(np.ones((4, 4), dtype=bool))
TOKENS = ["the", "cat", "the", "<b>sat</b>"]
WEIGHTS = CAUSAL / CAUSAL.sum(axis=1, keepdims=True)
LARGE = np.random.default_rng(0).dirichlet(np.ones(20), size=20)
EMPTY = CAUSAL & (np.arange(4) != 0)

SHOWN = {
    "weights": figures.weights(WEIGHTS, CAUSAL, tokens=TOKENS),
    "large weights": figures.weights(LARGE),
    "empty row": figures.weights(np.where(EMPTY, 0.2, 0), EMPTY, tokens=["antidisestablishmentarianism"] * 4),
    "scores": figures.scores([[1, -np.inf], [-2.5, 4]]),
    "matrix": figures.matrix([[1, 2, np.nan], [3, 4, 5]], axes=("position i", "feature")),
    "pattern": figures.pattern(CAUSAL, np.eye(4, dtype=bool) | (np.arange(4) == 3)),
    "bars": figures.bars(["key 0", "key 1"], {"you": [0.73, None], "run": [0.67, 0.33]}),
    "many bars": figures.bars(
        [f"key {k} of a long row" for k in range(16)], {"run": LARGE[0, :16], "you": LARGE[1, :16]}
    ),
    "standing bars": figures.bars([f"key {k}" for k in range(64)], {"weight": LARGE[:4, :16].ravel()}),
    "plane": figures.plane(
        {"value": [[10, 0], [0, 20], [5, -5]], "output": [[4, 6]]}, limits=(-20, 20), hull="value"
    ),
    "histogram": figures.histogram(LARGE.ravel(), name="score", limits=(-1, 1)),
    "sizes": figures.sizes([256, 512, 1024], {"all scores": [2**18, 2**20, 2**22]}, at=512, memory=2**21),
    "tile": figures.tile(np.eye(4), ~CAUSAL, np.eye(4, dtype=bool), range(2, 4), range(0, 2)),
    "table": figures.table(
        [[0.73, 0.27]] * 2, rows=["you", "run"], columns=["key 0", "key 1"], caption="weights"
    ),
    "wide table": figures.table([range(30)], rows=["you"], columns=range(30)),
    "page weights": figures.plot_weights(WEIGHTS, CAUSAL, tokens=TOKENS, title="One head"),
    "page scores": figures.plot_scores(LARGE),
    "page bars": figures.plot_bars(TOKENS, {"you": [0.1, 0.2, 0.3, 0.4]}),
    "array": np.eye(3),
    "text": "a < b",
}
LIGHT = "background:#fff;color:rgba(0,0,0,.87);--jp-content-font-color1:rgba(0,0,0,.87)"
DARK = "background:#111;color:#fff;--jp-content-font-color1:#fff"
THEMES = {
    "light": (LIGHT, {"color_scheme": "light"}),
    "dark": (DARK, {"color_scheme": "dark"}),
    "forced light": (LIGHT, {"color_scheme": "light", "forced_colors": "active"}),
    "forced dark": (DARK, {"color_scheme": "dark", "forced_colors": "active"}),
}


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = optional("playwright.sync_api")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


def opened(browser, names, theme: str, width: int = 900, scale: int = 1):
    """A page with pictures, as an output area shows them, every table unfolded."""
    style, media = THEMES[theme]
    page = browser.new_page(viewport={"width": width, "height": 700}, device_scale_factor=scale, **media)
    body = "".join(f"<section>{figures.bundle(SHOWN[name])['text/html']}</section>" for name in names)
    page.set_content(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Pictures</title><body style="margin:0">'
        f'<main style="padding:8px;font:14px sans-serif;{style}"><h1>Pictures</h1>{body}</main>'
    )
    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    return page


def violations(page) -> list[str]:
    found = optional("axe_playwright_python.sync_playwright").Axe().run(page).response["violations"]
    return [f"{rule['id']}: {node['html'][:120]}" for rule in found for node in rule["nodes"]]


@pytest.mark.parametrize(("theme", "width"), [("light", 320), *((theme, 900) for theme in THEMES)])
def test_no_accessibility_violation(browser, theme, width):
    page = opened(browser, SHOWN, theme, width)
    assert violations(page) == []
    page.close()


def test_violations_would_be_found(browser):
    page = opened(browser, ["weights"], "light", 320)
    page.evaluate("document.querySelector('svg').removeAttribute('aria-label')")
    page.evaluate("document.querySelector('summary').style.color = '#ccc'")
    assert sorted(found.split(":")[0] for found in violations(page)) == ["color-contrast", "svg-img-alt"]
    page.close()


def test_pictures_are_images_with_a_name_and_tables_have_headers(browser):
    page = opened(browser, SHOWN, "light")
    for name in ("weights", "scores", "pattern", "bars"):
        assert page.get_by_role("img", name=SHOWN[name].text, exact=True).count() == 1
    assert page.get_by_role("img", name=figures.describe(SHOWN["page weights"]), exact=True).count() == 1
    assert page.get_by_role("rowheader", name="query 3 · <b>sat</b>").count() == 2
    page.close()


@pytest.mark.parametrize("width", [320, 900])
def test_page_never_scrolls_sideways(browser, width):
    """320 px is what a page of 1280 has at 400% zoom."""
    page = opened(browser, SHOWN, "light", width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_text_stays_inside_the_picture_and_legible(browser):
    page = opened(browser, [n for n in SHOWN if hasattr(SHOWN[n], "svg")], "light", 320)
    outside = page.evaluate(
        """() => [...document.querySelectorAll('svg[role=img]')].flatMap(svg => {
            const frame = svg.getBoundingClientRect();
            return [...svg.querySelectorAll('text')].filter(text => {
                const box = text.getBoundingClientRect();
                return box.width && (box.left < frame.left - 1 || box.right > frame.right + 1
                    || box.top < frame.top - 1 || box.bottom > frame.bottom + 1 || box.height < 8);
            }).map(text => text.textContent);
        })"""
    )
    assert outside == []
    page.close()


@pytest.mark.parametrize("theme", THEMES)
def test_cells_have_the_colour_of_their_number_in_the_browser(browser, theme):
    page = opened(browser, ["weights", "large weights"], theme)
    for k, values in enumerate((WEIGHTS, LARGE)):
        svg = page.locator("svg[role=img]").nth(k)
        shot = np.asarray(Image.open(io.BytesIO(svg.screenshot())).convert("RGB")).astype(int)
        x, y, w, h = (float(v) for v in svg.evaluate(CELLS))
        for i, j in np.argwhere(np.tril(values) > 0)[::7]:
            # Off the middle, where a number may stand.
            seen = shot[int(y + (i + 0.15) * h / len(values) + 1), int(x + (j + 0.15) * w / len(values) + 1)]
            assert np.abs(seen - palette.colours(values[i, j])).max() <= 2, (i, j)
    page.close()


CELLS = """svg => {
    const frame = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll('image, rect')].map(cell => cell.getBoundingClientRect());
    const larger = (one, other) => (one.width * one.height >= other.width * other.height ? one : other);
    const grid = boxes.reduce(larger);
    return [grid.x - frame.x, grid.y - frame.y, grid.width, grid.height];
}"""


@pytest.mark.parametrize("theme", THEMES)
def test_numbers_and_labels_keep_their_ink(browser, theme):
    page = opened(browser, ["weights"], theme)
    ink = "text => getComputedStyle(text).fill.match(/[0-9]+/g).slice(0, 3).map(Number)"
    for value in ("0.33", "1"):
        number = page.locator("svg g text", has_text=value).first.evaluate(ink)
        expected = palette.ink_on(palette.colour(1 / 3 if value == "0.33" else 1.0))
        assert number == list(palette.rgb(expected))
    label = page.locator("svg text", has_text="cat").first.evaluate(ink)
    assert label == ([255] * 3 if "dark" in theme else [0] * 3)
    page.close()
