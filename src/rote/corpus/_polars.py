"""Reading with polars: what it cannot read is one exception, and nothing is printed.

On some damaged files polars panics. Rust then writes a backtrace to standard error before anyone
can catch it, and what is raised is no `Exception`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile

_ONE_AT_A_TIME = threading.Lock()


class Unreadable(Exception):
    """Why a file could not be read, in a line."""


@contextmanager
def reading() -> Iterator[None]:
    """Whatever goes wrong inside is `Unreadable`."""
    import polars as pl

    with _ONE_AT_A_TIME, TemporaryFile() as heard:
        try:
            with _standard_error_to(heard.fileno()):
                yield
        except pl.exceptions.PanicException:
            # What a panic says is about polars' own code.
            raise Unreadable("its parts do not fit each other") from None
        except (pl.exceptions.PolarsError, OSError) as error:
            raise Unreadable(str(error).split("\n", 1)[0]) from None
        # Others may have written meanwhile: warnings, the progress of another thread.
        heard.seek(0)
        if data := heard.read():
            os.write(2, data)


@contextmanager
def _standard_error_to(file: int) -> Iterator[None]:
    sys.stderr.flush()
    try:
        kept = os.dup(2)
    except OSError:  # a process without standard error prints nothing anyway
        yield
        return
    os.dup2(file, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
