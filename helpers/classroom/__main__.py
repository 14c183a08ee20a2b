"""
The instructor's command line: ``python -m helpers.classroom COMMAND``.

Each command is a module beside this one that offers a `click.Command` under the name ``command``; it is imported
when it is called for. To add one, write the module and name it in `COMMANDS`::

    @click.command("release")
    @click.argument("notebooks", nargs=-1)
    def command(notebooks):
        \"\"\"First sentence: what `--help` of the whole line shows.\"\"\"
        from .key import build_key  # what takes long to import, here

A refusal that the instructor can mend is a ``click.ClickException`` whose text says expected, got and the fix.
"""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {  # as typed -> module in this package, in the order of a course
    "release": "release",
    "key": "key_command",
    "collect": "collect",
    "report": "report",
    "live": "live",
    "check": "check_command",
}


class _Lazy(click.Group):
    """A group that imports a command only when it is asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return import_module(f"helpers.classroom.{COMMANDS[name]}").command


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def cli() -> None:
    """For instructors: hand notebooks out, collect them, see what a class believes. Nothing leaves this computer."""


if __name__ == "__main__":
    cli(prog_name="python -m helpers.classroom")
