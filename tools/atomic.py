"""Writes a file so that a run which is killed leaves no half of one."""

import os


def write(path, text):
    """Write `text` to `path`, unless it lies there already.

    It is written beside the file and takes its place at once: whenever a run is
    killed, there is the old text or the new one.

    path     a pathlib.Path; its folder is made if need be
    returns  True if it was written
    """
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)  # of a run that was killed
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
    return True
