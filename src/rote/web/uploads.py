"""Files and texts that came through the browser, kept in the store under the hash of their content.

What a browser calls a file is never a path here: it is cleaned and used as the last part of a
path whose folder is a hash. A file is refused at once and not kept if it holds nothing, if it is
small only as long as it is packed, and if there is no room left; one that cannot be read as it is
may be kept until somebody says how. Of pasted texts the oldest go when there are too many: they
were pasted, so somebody has them.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rote.core import plugins
from rote.core.errors import InputError, OptionError, RoteError
from rote.core.files import read_regular, write_atomically
from rote.core.folder import refuse_links
from rote.web.database import make_private_folder

if TYPE_CHECKING:
    from rote.corpus import ReadOptions


MAX_UNPACKED, MAX_TOTAL = 8, 32
"""How many times the limit of one request a file may have when it is unpacked, and all uploads
together. One text has no more than the limit, as it would have if it came unpacked."""
MAX_EXPANSION, _ALWAYS = 100, 2**24
"""How many times its own size a file may have when it is unpacked, and how many bytes in any case:
text is packed to about a quarter, and what expands a thousandfold means harm."""
_FOLDER, _NEW = "uploads", ".new-"
_DIGITS, _SHOWN = 32, 8
_PIECE = 2**20
_LONGEST, _ENDING = 150, 40
"""Bytes of a name and of its endings."""
_TRIES = 20
_STALE = 3_600
"""Seconds after which a file that came only in part is nobody's any more."""


def list_uploads(store: Path) -> dict[str, Path]:
    """Key -> path of all that was uploaded, the newest first."""
    by_time = [
        (-status.st_mtime_ns, path.name, path)
        for path, status in _stored_files(store / _FOLDER)
        if not path.parent.name.startswith(_NEW)
    ]
    return {upload_key(path): path for _, _, path in sorted(by_time)}


def upload_key(path: Path) -> str:
    """The name of the file, and enough of its hash to tell it from others of that name."""
    return f"{path.name}~{path.parent.name[:_SHOWN]}"


class UploadRefused(InputError):
    """A file that no way of reading would make acceptable."""


def store_upload(
    store: Path, name: str, content: BinaryIO, limit: int, *, unread: bool = False
) -> str:
    """Keep a file, and give its key; the same content under the same name is kept once.

    `limit`: bytes of one request. `unread`: also if it cannot be read as it is.
    """
    clean_name = _clean_name(name)
    folder = make_private_folder(store / _FOLDER)
    room = MAX_TOTAL * limit - sum(status.st_size for _, status in _stored_files(folder))
    temporary = Path(tempfile.mkdtemp(prefix=_NEW, dir=folder))
    try:
        digest = blake2b(digest_size=_DIGITS // 2)
        with (temporary / clean_name).open("wb") as file:
            while piece := content.read(_PIECE):
                digest.update(piece)
                file.write(piece)
                room -= len(piece)
                if room < 0:
                    raise UploadRefused(
                        f"no room: all uploads together may take {MAX_TOTAL * limit:,} bytes",
                        file=name,
                        remedy="Remove some that are not needed any more",
                    )
        _check_upload(temporary / clean_name, name, limit, unread)
        target = folder / digest.hexdigest() / clean_name
        refuse_links((target.parent,))
        _move_file(temporary / clean_name, target)
        return upload_key(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_upload(store: Path, key: str) -> bool:
    """Forget an uploaded file; whether there was one."""
    path = list_uploads(store).get(key)
    if path is None:
        return False
    path.unlink(missing_ok=True)
    with suppress(OSError):  # another file of the same content lies there
        path.parent.rmdir()
    return True


def remove_partial(store: Path) -> None:
    """Remove what came only in part, because the app was killed meanwhile."""
    for path in (store / _FOLDER).glob(f"{_NEW}*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _STALE:
                shutil.rmtree(path, ignore_errors=True)


def _stored_files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """All files in folders of this one; others may be coming and going meanwhile."""
    with suppress(OSError):
        for name_of_folder in os.listdir(folder):
            with suppress(OSError):
                for name in (
                    ()
                    if os.path.islink(folder / name_of_folder)
                    else os.listdir(folder / name_of_folder)
                ):
                    path = folder / name_of_folder / name
                    with suppress(OSError):
                        yield path, path.stat()


def _move_file(path: Path, target: Path) -> None:
    for _ in range(_TRIES):
        # Whoever removes the last file of a folder removes it, maybe between any two of these.
        with suppress(FileExistsError):
            target.parent.mkdir(mode=0o700)
        with suppress(FileNotFoundError):
            os.replace(path, target)
            return
    raise InputError("the file is being removed", file=path.name, remedy="Upload it again")


def _clean_name(name: str) -> str:
    """The last part of what the browser says, of plain characters; the endings stay."""
    last = re.split(r"[/\\]", name)[-1]
    plain = re.sub(r"[^\w.-]+", "-", last).lstrip(".-")
    if not plain:
        raise InputError(
            "the file has no name", file=name or "upload", remedy="Rename it and upload it again"
        )
    stem, dot, endings = plain.partition(".")
    # File systems count bytes, and a letter may have four.
    first, last = stem.encode()[:_LONGEST], endings.encode()[-_ENDING:]
    return first.decode("utf-8", "ignore") + dot + last.decode("utf-8", "ignore")


def _check_upload(path: Path, name: str, limit: int, unread: bool) -> None:
    """Read all of it, so that what is wrong is said here and not in the middle of work."""
    from rote.corpus import open_corpus
    from rote.web.files import name_form_fields

    if not path.stat().st_size:
        raise UploadRefused("the file is empty", file=name, remedy="Upload another")
    try:
        check_unpacked(path, limit)
        has_text = False
        for document in open_corpus([path]):
            has_text = True
            if len(document.text) > limit:
                raise UploadRefused(
                    f"the text '{document.id}' has {len(document.text):,} characters, and one text "
                    f"may have {limit:,}",
                    remedy="Cut it into parts, give it to `rote serve` at its start, or raise "
                    "--upload-limit",
                )
        if not has_text:
            raise InputError("the file holds no text", remedy="Upload another")
    except RoteError as error:
        if unread and not isinstance(error, UploadRefused):
            return
        # The file lies in a folder that the user never heard of.
        raise UploadRefused(name_form_fields(str(error).replace(str(path), name))) from None


def check_unpacked(path: Path, limit: int, read: ReadOptions | None = None) -> None:
    """Refuse a file whose texts, read so, would be too much."""
    packed = path.stat().st_size
    most = min(MAX_UNPACKED * limit, max(MAX_EXPANSION * packed, _ALWAYS))
    if _unpacked_size(path, most, read) > most:
        raise UploadRefused(
            f"the file has {packed:,} bytes, and more than {most:,} when it is unpacked",
            file=str(path),
            remedy="Give it to `rote serve` at its start",
        )


def _unpacked_size(path: Path, most: int, read: ReadOptions | None) -> int:
    """The bytes of a file when it is unpacked, piece by piece, keeping nothing; beyond `most`, not
    all of them are counted. Tables are packed inside, and their rows may share texts."""
    from rote.corpus import COMPRESSIONS, open_corpus, raw_pieces

    size, compression = 0, COMPRESSIONS.get(path.suffix.lower(), "")
    with suppress(InputError):  # damage: whoever reads it says so, or reads what is before it
        for piece, _ in raw_pieces(path, compression, str(path)) if compression else ():
            size += len(piece)
            if size > most:
                return size
    corpus = open_corpus([path], read)  # what it unpacks is there as long as it is
    for part in corpus.parts:
        if count := getattr(plugins.load("corpus", part.reader), "unpacked", None):
            size = max(size, count(part, most))
    return size


MAX_TEXT = 200_000
"""Characters of a text that is traced while one waits."""
MAX_STORED = 1_000
_PASTED = "traced"
_ID = re.compile(r"[0-9a-f]{32}")


def store_text(store: Path, text: str) -> str:
    """Keep a text and give its id."""
    if not text.strip():
        raise OptionError("there is no text: paste one")
    if len(text) > MAX_TEXT:
        raise OptionError(
            f"the text has {len(text):,} characters, and at most {MAX_TEXT:,} are traced here: "
            "paste a part, or use `rote trace` on the command line, which has no limit"
        )
    folder = make_private_folder(store / _PASTED)
    data = text.encode("utf-8", "surrogatepass")
    identity = blake2b(data, digest_size=16).hexdigest()
    path = folder / f"{identity}.txt"
    if path.exists():
        os.utime(path)
    else:
        write_atomically(path, data)
        _remove_oldest(folder)
    return identity


def read_text(store: Path, identity: str) -> str:
    """The text of an id."""
    gone = InputError(
        "this text is not kept here",
        remedy="Texts are kept in the store of the app where they were pasted, the newest "
        f"{MAX_STORED:,} of them: paste it again",
    )
    # An id that is none of ours could be a path.
    if not _ID.fullmatch(identity):
        raise gone
    try:
        data = read_regular(store / _PASTED / f"{identity}.txt")
    except OSError:
        raise gone from None
    return data.decode("utf-8", "surrogatepass")


def _remove_oldest(folder: Path) -> None:
    pasted = (path for path in folder.glob("*.txt") if _ID.fullmatch(path.stem))
    oldest_first = sorted(pasted, key=_change_time)
    for path in oldest_first[: max(0, len(oldest_first) - MAX_STORED)]:
        with suppress(OSError):
            path.unlink()


def _change_time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
