"""A real JupyterLab on a copy of the notebooks, driven by a real Chromium."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},  # every cell stays in the page
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}
KERNEL_IDLE = """() => {
    const panel = window.jupyterapp?.shell.currentWidget;
    return panel?.sessionContext?.session?.kernel?.status === 'idle';
}"""
ALL_RAN_OR_FAILED = """() => {
    const panel = window.jupyterapp.shell.currentWidget;
    const cells = panel.content.widgets.filter(c => c.model.type === 'code' && c.model.sharedModel.getSource().trim());
    const errors = cells.flatMap(c => c.model.sharedModel.getOutputs()).filter(o => o.output_type === 'error');
    if (errors.length) return errors[0].ename + ': ' + errors[0].evalue;
    if (panel.sessionContext.session?.kernel?.status !== 'idle') return false;
    return cells.every(c => c.model.executionCount !== null && c.model.executionState !== 'running') && 'all ran';
}"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def jupyterlab(folder: Path, home: Path, theme: str = "JupyterLab Light") -> Iterator[str]:
    """Serve ``folder`` with configuration of its own in ``home``; yields the base address."""
    settings = home / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    overrides = {**SETTINGS, "@jupyterlab/apputils-extension:themes": {"theme": theme}}
    (settings / "overrides.json").write_text(json.dumps(overrides), encoding="utf-8")
    places = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
        "JUPYTERLAB_SETTINGS_DIR": "user",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    env = {**os.environ, **{name: str(home / place) for name, place in places.items()}, "HOME": str(home)}
    env.pop("PREDICTIONS_FILE", None)  # the record lies beside the notebooks, as a learner's does
    env.pop("MPLBACKEND", None)
    address = f"http://127.0.0.1:{_free_port()}"
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={address.rpartition(':')[2]}",
        f"--ServerApp.root_dir={folder}",
        "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=True",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
        f"--LabApp.app_settings_dir={settings}",
        "--ServerApp.terminals_enabled=False",
    ]
    log = home / "lab.log"
    with log.open("w", encoding="utf-8") as stream:
        server = subprocess.Popen(command, env=env, stdout=stream, stderr=stream)
    try:
        _wait_for(server, address, log)
        yield address
    finally:
        server.terminate()
        server.wait(30)


def _wait_for(server: subprocess.Popen, address: str, log: Path) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{address}/api/status", timeout=2).close()
            return
        except OSError:
            if server.poll() is not None:
                raise RuntimeError(log.read_text(encoding="utf-8")[-3000:]) from None
            time.sleep(0.1)
    raise RuntimeError(
        f"JupyterLab did not answer within a minute:\n{log.read_text(encoding='utf-8')[-3000:]}"
    )


@contextmanager
def browser(executable: str, profile: Path, **context: Any) -> Iterator[Any]:
    """Yield a page of a headless Chromium whose profile is thrown away."""
    from playwright.sync_api import sync_playwright

    options = {"viewport": {"width": 1280, "height": 900}, **context}
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch_persistent_context(
            str(profile), executable_path=executable, headless=True, args=FLAGS, **options
        )
        try:
            yield opened.pages[0] if opened.pages else opened.new_page()
        finally:
            opened.close()
    shutil.rmtree(profile, ignore_errors=True)


class Notebook:
    """One notebook open in JupyterLab."""

    def __init__(self, page: Any, address: str, path: str) -> None:
        self.page, self.path, self.address = page, path, address
        self.open()

    def open(self) -> None:
        self.page.goto(f"{self.address}/lab/tree/{self.path}?reset")
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Notebook .jp-Cell", timeout=90_000)
        self.page.wait_for_function(KERNEL_IDLE, timeout=90_000)

    def command(self, name: str) -> None:
        self.page.evaluate("name => window.jupyterapp.commands.execute(name)", name)

    def run_all(self) -> None:
        self.command("notebook:run-all-cells")
        outcome = self.page.wait_for_function(ALL_RAN_OR_FAILED, timeout=180_000).json_value()
        assert outcome == "all ran", f"{self.path}: {outcome}"

    def save(self) -> None:
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.save()")

    def restart_kernel(self) -> None:
        self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
        )
        self.page.wait_for_function(KERNEL_IDLE, timeout=90_000)

    def cell(self, cell_id: str) -> Any:
        """The cell with this id, as a locator."""
        at = self.page.evaluate(
            "id => window.jupyterapp.shell.currentWidget.content.widgets.findIndex(c => c.model.id === id)",
            cell_id,
        )
        if at < 0:
            raise ValueError(f"{self.path} has no cell {cell_id!r}.")
        return self.page.locator(f".jp-Notebook .jp-Cell[data-windowed-list-index='{at}']")

    def run(self, cell_id: str) -> None:
        """Run one cell and wait for the kernel."""
        self.page.evaluate(
            """async id => {
                const panel = window.jupyterapp.shell.currentWidget;
                panel.content.activeCellIndex = panel.content.widgets.findIndex(c => c.model.id === id);
                await window.jupyterapp.commands.execute('notebook:run-cell');
            }""",
            cell_id,
        )
        self.page.wait_for_function(KERNEL_IDLE, timeout=90_000)
