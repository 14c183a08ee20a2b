"""Answer keys as an instructor gets them: notebooks and pages that need no network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers import questions
from helpers.classroom.key import build_key, key_page
from helpers.classroom.key_command import command
from helpers.classroom.release import NOTEBOOKS
from tests.support import Remote, chromium, optional


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    ran = CliRunner().invoke(command, ["01", "10", "--to", str(folder), "--numbers", "spring-1"])
    assert ran.exit_code == 0, ran.output
    return folder


def test_the_command_writes_a_notebook_and_a_page_each(made):
    names = {path.name for path in made.iterdir()}
    stems = ("01_one_row_by_hand", "10_check_your_understanding")
    assert names == {f"{stem}.{kind}" for stem in stems for kind in ("ipynb", "html")}
    assert "QUESTION_NUMBERS" not in os.environ


def test_a_page_asks_for_nothing_from_elsewhere(made):
    for path in made.glob("*.html"):
        looked = Remote()
        looked.feed(path.read_text(encoding="utf-8"))
        assert (looked.found, looked.scripts) == ([], 0), path.name


@pytest.mark.parametrize(
    "planted",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="https://cdn.example/x.css">',
        '<p style="background: url(https://cdn.example/x.png)">',
        '<style>@import "https://cdn.example/x.css";</style>',
    ],
)
def test_the_search_for_remote_references_finds_one(planted):
    looked = Remote()
    looked.feed(planted)
    assert looked.found


def test_a_browser_loads_the_page_and_nothing_else(made):
    playwright = optional("playwright.sync_api")
    path, asked = made / "01_one_row_by_hand.html", []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        text = page.inner_text("main")
        browser.close()
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    assert "Yes, your prediction and the run agree." in text
    assert "exps / exps.sum(axis=-1, keepdims=True)" in text, "the solution stands in it"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("01_one_row_by_hand", "With the course’s numbers."),
        ("10_check_your_understanding", "With the class’s own numbers, spring-1."),
    ],
)
def test_a_page_says_that_it_is_the_key_to_what_and_with_which_numbers(made, name, said):
    text = (made / f"{name}.html").read_text(encoding="utf-8")
    heading = f"Answer key: {name[:2]} {questions.titles()[name]}"
    assert f"<title>{heading}</title>" in text
    assert f">{heading}</h1>" in text and said in text
    body = text.partition("<body")[2]
    assert body.index(heading) < body.index(said) < body.index("jp-Cell")


def test_a_page_is_the_same_byte_for_byte_when_written_again(made, tmp_path):
    copy = tmp_path / "01_one_row_by_hand.ipynb"
    copy.write_bytes((made / copy.name).read_bytes())
    assert key_page(copy).read_bytes() == (made / "01_one_row_by_hand.html").read_bytes()


def test_the_key_is_to_the_numbers_of_the_class(made, tmp_path):
    name = "10_check_your_understanding"
    plain = build_key(NOTEBOOKS / f"{name}.ipynb", tmp_path / "plain.ipynb").read_text(encoding="utf-8")
    text = (made / f"{name}.ipynb").read_text(encoding="utf-8")
    base = questions.get("10-output")
    own, usual = (
        "The query is <code>{q}<".format(**inputs) for inputs in (base.renew("spring-1").inputs, base.inputs)
    )
    assert own != usual
    assert own in text and usual not in text
    assert usual in plain and own not in plain


def test_a_notebook_that_is_not_there_is_said(tmp_path):
    ran = CliRunner().invoke(command, ["77", "--to", str(tmp_path / "keys")])
    assert ran.exit_code == 1
    assert "There is no notebook 77" in ran.output
    assert not (tmp_path / "keys").exists()
