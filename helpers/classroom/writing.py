"""Files that are written whole or not at all, and never over what somebody else wrote."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

GENERATOR = "attention-by-prediction classroom"  # in a meta tag of each page: by it a page of ours is known
HEAD = 4096  # bytes in which the tag stands


@contextmanager
def whole(path: Path, **how: str) -> Iterator[IO[str]]:
    """
    Open a text file that takes the place of ``path`` once all of it is written; a failure leaves what was there.

    Parameters
    ----------
    path : Path
    **how
        For `open`: ``encoding``, ``newline``.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        with open(part, "w", **how) as file:
            yield file
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text in UTF-8, whole or not at all."""
    with whole(path, encoding="utf-8", newline="\n") as file:
        file.write(text)


def is_ours(path: Path) -> bool:
    """Whether a page was written by this package."""
    with open(path, "rb") as file:
        return GENERATOR.encode() in file.read(HEAD)


def check_page(path: Path) -> None:
    """Refuse to write a page over a folder, or over a file that is no page of ours."""
    if path.is_dir():
        raise click.ClickException(f"{path} is a folder: name a file in it, as --to {path / 'page.html'}.")
    if path.is_file() and not is_ours(path):
        raise click.ClickException(
            f"{path} is there and was not written by this command: choose another name with --to, or move it away."
        )
    check_above(path)


def check_folder(folder: Path, sign: str | None = None) -> None:
    """
    Refuse a folder that cannot be written into, or that holds other things.

    Parameters
    ----------
    folder : Path
    sign : str, optional
        The file that says it is a folder of ours: what stands there may then be replaced. Without it any will do.
    """
    if folder.exists() and not folder.is_dir():
        raise click.ClickException(f"{folder} is a file, and a folder is written: name another with --to.")
    check_above(folder)
    if sign is None or not folder.is_dir() or not any(folder.iterdir()):
        return
    found = folder / sign
    if not found.is_file() or (found.suffix == ".html" and not is_ours(found)):
        raise click.ClickException(
            f"{folder} holds other things: name an empty folder, or a new one, with --to."
        )


def check_above(path: Path) -> None:
    """Refuse a place below a file."""
    for above in path.absolute().parents:
        if above.exists():
            if not above.is_dir():
                raise click.ClickException(
                    f"{above} is a file, so nothing can be put into it: choose another --to."
                )
            return
