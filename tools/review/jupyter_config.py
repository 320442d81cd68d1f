"""JupyterLab's configuration for `make review`: formgrader, no network."""

from pathlib import Path

c = get_config()  # noqa: F821

# nbgrader wants the course below what the server shows.
c.ServerApp.root_dir = str(Path.cwd().parents[1])
c.ServerApp.default_url = "/formgrader"
c.ServerApp.allow_root = True  # in a container everyone is root
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
