"""What one kernel remembers: the record, what stands on the page, and what is redrawn when a commit comes."""

from __future__ import annotations

import os
import tomllib
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from .record import Record, record_path

Bundle = dict[str, Any]
Render = Callable[[], "tuple[Bundle, Mapping[str, Any]]"]
WATCHED = 50  # slots kept per question; older ones have left the page


class Slot:
    """One output on the page that can be replaced later, in the saved notebook as well."""

    def __init__(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        self._id = uuid.uuid4().hex
        self._send(bundle, metadata, update=False)

    def update(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        self._send(bundle, metadata, update=True)

    def clear(self) -> None:
        self.update({"text/html": "", "text/plain": ""})

    def _send(self, bundle: Bundle, metadata: Mapping[str, Any] | None, update: bool) -> None:
        from IPython.core.interactiveshell import InteractiveShell
        from IPython.display import display

        if InteractiveShell.initialized():
            display(bundle, raw=True, metadata=dict(metadata or {}), display_id=self._id, update=update)
        elif bundle["text/plain"]:
            print(bundle["text/plain"])  # a plain script: no page, so the text alternative is the output


class Session:
    """The record and the slots that depend on it."""

    def __init__(self) -> None:
        self.path = record_path()
        self.record = Record(self.path)
        self._watching: dict[str, list[tuple[Slot, Render]]] = {}
        self._mind_button: Slot | None = None

    def watch(self, question_id: str, render: Render) -> Slot:
        """Show what ``render`` gives now, and again after each commit of the question (``"*"``: of any)."""
        slot = Slot(*render())
        watching = self._watching.setdefault(question_id, [])
        watching.append((slot, render))
        del watching[:-WATCHED]
        return slot

    def committed(self, question_id: str) -> None:
        """Redraw everything that waited for this commit."""
        for name in (question_id, "*"):
            for slot, render in self._watching.get(name, ()):
                slot.update(*render())

    def keep_one_button(self, slot: Slot) -> None:
        """Only the newest committed card carries a button: a saved page has no dead ones above it."""
        if self._mind_button not in (None, slot):
            self._mind_button.clear()
        self._mind_button = slot

    @property
    def explanations_held(self) -> bool:
        """Whether the class opens explanations later: ``EXPLANATIONS=held``, or so in ``class_settings.toml``.

        A settings file that cannot be read as TOML holds them: a slip in it must not open what was to be held.
        """
        if "EXPLANATIONS" in os.environ:
            return os.environ["EXPLANATIONS"] == "held"
        try:
            settings = (self.path.parent / "class_settings.toml").read_text(encoding="utf-8-sig")
            return tomllib.loads(settings).get("explanations") == "held"
        except OSError:
            return False
        except ValueError:
            return True


_current: Session | None = None


def session() -> Session:
    """The session of this kernel; a new one if the record now lies elsewhere."""
    global _current
    if _current is None or _current.path != record_path():
        _current = Session()
    return _current
