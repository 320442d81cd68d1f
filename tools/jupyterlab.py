"""JupyterLab's configuration for `make lab`: a student's folder, no network."""

from pathlib import Path

c = get_config()  # noqa: F821

c.ServerApp.root_dir = str(Path.cwd())
c.ServerApp.allow_root = True  # in a container everyone is root
c.NotebookNotary.data_dir = str(Path.cwd() / ".trusted")  # as tools/work.py
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
