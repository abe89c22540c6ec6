"""Files of texts: what their records hold and how they are read; and those that came through the
browser, in the store under the hash of their content.

What a browser calls a file is never a path here: it is cleaned and used as the last part of a
path whose folder is a hash. A file is refused at once and not kept if it holds nothing, if it is
small only as long as it is packed, and if there is no room left.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from rote.annotate.store import Store, is_store, open_store
from rote.core import plugins
from rote.core.distribution import version
from rote.core.errors import InputError, OptionError, RoteError
from rote.core.files import read_regular, write_atomically
from rote.core.locked_folder import refuse_links
from rote.corpus import (
    COMPRESSIONS,
    Batch,
    Corpus,
    DuplicateIds,
    Problems,
    ReadOptions,
    open_corpus,
    raw_pieces,
)
from rote.corpus.items import read_records
from rote.web.database import make_private_folder

Reader: TypeAlias = "Callable[[Path], Iterator[Batch]]"
"""Gives the texts of a file, as somebody reads it."""

_MAX_RECORDS, _MAX_CHARACTERS = 2_000, 5_000_000
"""Records, or characters of them, that are looked at."""
ALL_RECORDS = 10**12
FEW_VALUES, _MAX_VALUES = 12, 100
"""Values of a field that most probably names sources; and up to which one can be chosen."""
_RECORDS_SHOWN = 10
_LONG, _SHORT = 400, 60
_MAX_PROBLEMS = 20
_MAX_HASHED = 64 * 2**20
"""Bytes up to which a file is known by its content; beyond, by name, size and time."""


@dataclass(frozen=True, slots=True)
class FilePreview:
    """Of the first records alone: a large file is not read for this."""

    records: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = ()
    """Ids, beginnings and other fields of the first texts."""
    fields: tuple[str, ...] = ()
    values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The values of fields that may tell sources apart: not those with very many."""
    problem: str = ""
    looked_at: int = 0
    """Texts that were looked at."""
    skipped: tuple[str, ...] = ()
    """What is wrong with the first records that were left out."""
    left_out: int = 0

    @property
    def texts(self) -> list[tuple[str, str]]:
        return [(id, text) for id, text, _ in self.records]

    def of(self, field: str) -> tuple[str, ...]:
        return dict(self.values).get(field, ())


def preview_file(
    path: Path, read: ReadOptions | None = None, most: int = _MAX_RECORDS
) -> FilePreview:
    """The first texts, at most so many; of a file that cannot be read, the problem."""
    try:
        return _preview(path, fingerprint(path), read, most)
    except (RoteError, OSError) as error:
        return FilePreview(problem=name_form_fields(error, path))


def find_unreadable(files: Mapping[str, Path], takes: str = "texts") -> dict[str, str]:
    """Which of these files cannot be read, and why: as texts, or as test items."""
    problems = {key: preview_file(path).problem for key, path in files.items()}
    wrong = {key: problem for key, problem in problems.items() if problem}
    if takes == "items":
        return {key: problem for key, problem in wrong.items() if not _holds_items(files[key])}
    return wrong


def first_readable(files: Mapping[str, Path]) -> tuple[str, ...]:
    """The file that a form begins with; none where none can be read."""
    return tuple(islice((key for key, path in files.items() if not preview_file(path).problem), 1))


def _holds_items(path: Path) -> bool:
    try:
        return next(iter(read_records(path)), None) is not None
    except (RoteError, OSError):
        return False


def list_sources(paths: Sequence[Path], by: Sequence[str] = ()) -> dict[str, list[str]]:
    """The sources to choose from, by the fields named, else by file and fields of few values."""
    looks = [look for path in paths if not (look := preview_file(path)).problem]
    values_by_field: dict[str, dict[str, None]] = {}
    if not by and len(looks) > 1:
        try:
            parts = open_corpus(list(paths)).parts
            values_by_field["files"] = dict.fromkeys(part.origin.label for part in parts)
        except (RoteError, OSError):
            pass  # the page says what is wrong with each
    for look in looks:
        for name, values in look.values:
            if name in by or (not by and len(values) <= FEW_VALUES):
                values_by_field.setdefault(name, {}).update(dict.fromkeys(values))
    return {name: sorted(values) for name, values in values_by_field.items()}


def list_fields(path: Path, read: ReadOptions) -> list[str]:
    """The fields of the first records as the file has them, whichever of them holds the text."""
    names: dict[str, None] = {}
    try:
        # One is named, so that none is guessed.
        shards = open_corpus([path], replace(read, text_field="text", id_field=None)).shards()
        for shard in islice(shards, 1):
            for _, record in islice(shard.records(), _MAX_RECORDS):
                names |= dict.fromkeys(map(str, record)) if isinstance(record, dict) else {}
    except (RoteError, OSError):
        return []  # a glimpse of the file says what is wrong
    return list(names)


_FLAGS = {
    "--on-error skip": "Skip bad records",
    "--text-field": "Field with the text",
    "--id-field": "Field with the id",
    "--plain": "Plain text: one text per",
    "--by": "Fields to group by",
}
_SERVING = "host|port|token|store|jobs|at-once|upload-limit|model"
"""Flags of `rote serve` itself: no form has them."""
_FLAG = re.compile(rf"`[^`]*`|{'|'.join(_FLAGS)}|--(?!(?:{_SERVING})\b)[a-z][a-z-]+")


def name_form_fields(error: object, path: Path | None = None) -> str:
    """What is wrong, by the names that forms have for flags; `commands` in quotes stay."""
    message = str(error)
    if path is not None:
        message = message.replace(str(path), path.name)
    return _FLAG.sub(_field_label, message.replace("(--jobs, ", "("))


def _field_label(match: re.Match[str]) -> str:
    flag, words = match[0], match[0][2:].replace("-", " ").capitalize()
    return flag if flag.startswith("`") else f"“{_FLAGS.get(flag) or words}”"


def read_batches(path: Path, read: ReadOptions | None = None) -> Iterator[Batch]:
    """Texts with the file that they occur in: an id is unique within its file only."""
    return corpus_batches(open_store(path) if is_store(path) else open_corpus([path], read))


def corpus_batches(texts: Corpus | Store) -> Iterator[Batch]:
    if isinstance(texts, Corpus):
        return (shard.read() for shard in texts.shards())
    return (batch for batch, _ in texts.pieces())


def file_name(file: str, files: Mapping[str, Path | str]) -> str:
    """What a file is called here: by the key of what was given, never by its path alone."""
    for key, path in files.items():
        if file == str(path):
            return key
        if file.startswith(f"{path}{os.sep}"):
            return f"{key}/{file[len(str(path)) + 1 :]}"
    return Path(file).name


@lru_cache(maxsize=256)
def _preview(path: Path, version: str, read: ReadOptions | None, most: int) -> FilePreview:
    values_by_field: dict[str, dict[str, None]] = {}
    first: list[tuple[str, str, tuple[tuple[str, str], ...]]] = []
    problems, ids = Problems(), DuplicateIds(read.on_error if read else "stop")
    position, remaining = 0, _MAX_CHARACTERS
    for batch in read_batches(path, read):
        checked = ids.check(batch)
        problems.add(checked.problems)
        for document in islice(checked.documents, most - position):
            position += 1
            remaining -= len(document.text)
            if len(first) < _RECORDS_SHOWN:
                others = [(n, v) for n, v in document.meta.items() if v is not None]
                fields = tuple((name, _one_line(value, _SHORT)) for name, value in others)
                first.append((document.id, _one_line(document.text, _LONG), fields))
            for name, value in document.meta.items():
                values = values_by_field.setdefault(name, {})
                if len(values) <= _MAX_VALUES and isinstance(value, (str, int, float)):
                    values[str(value)] = None
            if remaining < 0 and most <= _MAX_RECORDS:
                break
        if position >= most or (remaining < 0 and most <= _MAX_RECORDS):
            break
    if not position:
        raise InputError("the file contains no readable text", file=path.name)
    few = tuple((n, tuple(v)) for n, v in values_by_field.items() if 1 < len(v) <= _MAX_VALUES)
    messages = tuple(name_form_fields(problem, path) for problem in list(problems)[:_MAX_PROBLEMS])
    names = tuple(values_by_field)
    return FilePreview(tuple(first), names, few, "", position, messages, len(problems))


def _one_line(value: Any, most: int) -> str:
    line = " ".join(str(value)[: 2 * most].split())
    return line if len(line) <= most else line[:most] + "…"


def fingerprint(path: Path) -> str:
    """Of a file, a folder, or a name such as `bible:kjv`."""
    if path.is_file():
        stamp, small = _file_stamp(path), path.stat().st_size <= _MAX_HASHED
        return _content_hash(path, stamp) if small else hash_parts(str(path), stamp)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and file.name != "lock")
        return hash_parts(*(f"{file.relative_to(path)} {_file_stamp(file)}" for file in files))
    return hash_parts(str(path), version())


def hash_parts(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def _file_stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


@lru_cache(maxsize=256)
def _content_hash(path: Path, stamp: str) -> str:
    return blake2b(path.read_bytes(), digest_size=10).hexdigest()


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
    """Keep a file of at most `limit` bytes, `unread` also one that cannot be read; its key."""
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
                    full = f"no space: all uploads together may take {MAX_TOTAL * limit:,} bytes"
                    remedy = "Remove some that are not needed any more"
                    raise UploadRefused(full, file=name, remedy=remedy)
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
        for inside in folder.iterdir():
            with suppress(OSError):
                for path in () if inside.is_symlink() else inside.iterdir():
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
    if not path.stat().st_size:
        raise UploadRefused("the file is empty", file=name, remedy="Upload another")
    try:
        check_unpacked(path, limit)
        has_text = False
        for document in open_corpus([path]):
            has_text = True
            if len(document.text) > limit:
                raise UploadRefused(
                    f"the text '{document.id}' has {len(document.text):,} characters; the limit "
                    f"is {limit:,}",
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
        large = f"the file has {packed:,} bytes, and more than {most:,} when it is unpacked"
        remedy = "Give it to `rote serve` at its start"
        raise UploadRefused(large, file=str(path), remedy=remedy)


def _unpacked_size(path: Path, most: int, read: ReadOptions | None) -> int:
    """The bytes of an unpacked file, counted up to `most`; tables are packed inside."""
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
    gone = InputError(
        "this text is not stored here",
        remedy=f"Texts are stored by the app where they were pasted, the newest {MAX_STORED:,} of "
        "them: paste it again",
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
    pasted = []
    for path in folder.glob("*.txt"):
        with suppress(OSError):  # another request may have removed it
            pasted += [(path.stat().st_mtime, path)] if _ID.fullmatch(path.stem) else []
    for _, path in sorted(pasted)[: max(0, len(pasted) - MAX_STORED)]:
        path.unlink(missing_ok=True)
