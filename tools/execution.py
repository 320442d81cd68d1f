"""Runs a notebook and keeps of its outputs what any machine would give."""

import os

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tools.text import METADATA


class CellFailed(Exception):
    """A cell raised and is not tagged `raises-exception`."""


# As `python -m ipykernel_launcher`, but for what it asks the system first.
KERNEL = """
import sys
del sys.path[0]
from shardlab.authoring.parents import end_with_parent
end_with_parent({parent})
from ipykernel import kernelapp
kernelapp.launch_new_instance()
"""


class Kernels(AsyncKernelManager):
    """Starts a kernel that ends with this process, however this one ends.

    ipykernel looks once a second whether its parent is still there; where it
    had ended before the first look, the kernel stays: it takes whoever has
    taken it in for its parent.
    """

    def format_kernel_cmd(self, extra_arguments=None):
        """The words of the command, as the manager of all kernels asks."""
        words = super().format_kernel_cmd(extra_arguments)
        at = words.index("-m")  # the module follows, and then its arguments
        code = KERNEL.format(parent=os.getpid())
        return [*words[:at], "-c", code, *words[at + 2 :]]


def run(notebook, folder, timeout=600):
    """Execute `notebook` in place, as in the folder `folder`.

    timeout  seconds for one cell
    raises   CellFailed with the cell's last traceback line
    """
    folder.mkdir(parents=True, exist_ok=True)
    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        kernel_manager_class=Kernels,
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--IPKernelApp.log_level=40"],
        resources={"metadata": {"path": str(folder)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        raise CellFailed(
            f"{error.ename}: {error.evalue}\nin the cell\n{last_run(notebook)}"
        ) from None
    for key in ("kernelspec", "language_info"):
        notebook.metadata[key] = nbformat.from_dict(METADATA[key])
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [portable(output) for output in cell.outputs]


def last_run(notebook):
    """The source of the cell at which an execution stopped."""
    ran = [c for c in notebook.cells if c.get("execution_count")]
    return ran[-1].source if ran else ""


def portable(output):
    """One output without what differs between machines.

    Of a traceback, whose frames name files of this machine, the last line
    stays.
    """
    if output.output_type == "error":
        line = f"{output.ename}: {output.evalue}".rstrip(": ")
        output.traceback = [line]
    return output
