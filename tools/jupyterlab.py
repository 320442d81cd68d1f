"""JupyterLab's configuration for `make lab`: a student's folder, no network."""

from pathlib import Path

c = get_config()  # noqa: F821

c.ServerApp.root_dir = str(Path.cwd())
c.ServerApp.allow_root = True  # in a container everyone is root
TRUSTED = Path.cwd() / ".trusted"  # as tools/work.py
TRUSTED.mkdir(exist_ok=True)  # without it no notebook opens
c.NotebookNotary.data_dir = str(TRUSTED)
# No question about news, and no panel for teachers.
LAB = Path(__file__).resolve().parent / "lab"
c.LabApp.app_settings_dir = str(LAB)
# Our style sheet. Notebook 7, which nbgrader brings, would serve its own there.
c.LabApp.custom_css = True
c.ServerApp.tornado_settings = {"static_custom_path": [str(LAB / "custom")]}
c.ServerApp.jpserver_extensions = {"notebook": False}
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
