"""Pasted texts, kept in the store under the hash of what they hold, so that a link leads back.

The oldest go when there are too many: they were pasted, so somebody has them.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from rote.core.errors import InputError, OptionError
from rote.core.files import write_atomically
from rote.web.store.database import own_folder

LONGEST = 200_000
"""Characters of a text that is traced while one waits."""
MOST_KEPT = 1_000
_FOLDER = "traced"
_ID = re.compile(r"[0-9a-f]{32}")


def keep(store: Path, text: str) -> str:
    """Keep a text and give its id."""
    if not text.strip():
        raise OptionError("there is no text: paste one")
    if len(text) > LONGEST:
        raise OptionError(
            f"the text has {len(text):,} characters, and at most {LONGEST:,} are traced here: "
            "paste a part, or use `rote trace` on the command line, which has no limit"
        )
    folder = own_folder(store / _FOLDER)
    data = text.encode("utf-8", "surrogatepass")
    identity = blake2b(data, digest_size=16).hexdigest()
    path = folder / f"{identity}.txt"
    if path.exists():
        os.utime(path)
    else:
        write_atomically(path, data)
        _forget(folder)
    return identity


def kept(store: Path, identity: str) -> str:
    """The text of an id."""
    gone = InputError(
        "this text is not kept here",
        remedy="Texts are kept in the store of the app where they were pasted, the newest "
        f"{MOST_KEPT:,} of them: paste it again",
    )
    # An id that is none of ours could be a path.
    if not _ID.fullmatch(identity):
        raise gone
    try:
        data = (store / _FOLDER / f"{identity}.txt").read_bytes()
    except OSError:
        raise gone from None
    return data.decode("utf-8", "surrogatepass")


def _forget(folder: Path) -> None:
    found = sorted(folder.glob("*.txt"), key=_changed)
    for path in found[: max(0, len(found) - MOST_KEPT)]:
        with suppress(OSError):
            path.unlink()


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
