"""Removing parts of an index without halves."""

from __future__ import annotations

import shutil
from pathlib import Path

REMOVED = ".removed"


def remove(folder: Path) -> None:
    """Remove a folder if it is there, in a way that never leaves half of it under its name.

    Files are not touched: the index keeps none where its folders are, so they are somebody's.
    """
    if folder.is_symlink() or not folder.is_dir():
        return
    doomed = folder.with_name(folder.name + REMOVED)
    shutil.rmtree(doomed, ignore_errors=True)
    folder.rename(doomed)
    shutil.rmtree(doomed)
