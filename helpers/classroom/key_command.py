"""The command that writes answer keys, as notebooks and as pages."""

from __future__ import annotations

import click


@click.command("key")
@click.argument("notebooks", nargs=-1)
@click.option("--to", default="keys", show_default=True, help="Folder to write into.")
@click.option("--numbers", help="The class's own numbers, by the name they were released with.")
def command(notebooks: tuple[str, ...], to: str, numbers: str | None) -> None:
    """Write the executed answer key of NOTEBOOKS (01 04 or 01,04, or none for all), each as a notebook and a page."""
    from pathlib import Path

    from .key import build_key, key_page
    from .release import check_numbers, chosen
    from .writing import check_folder

    try:
        paths = chosen(notebooks)
        if numbers:
            check_numbers(numbers)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    folder = Path(to)
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with click.progressbar(paths, item_show_func=lambda path: path.name if path else "") as shown:
        for path in shown:
            key_page(build_key(path, folder / path.name, numbers=numbers), numbers)
    click.echo(f"Written to {folder}: {', '.join(path.stem for path in paths)}, each as .ipynb and .html.")
