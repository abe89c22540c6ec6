"""A set of templates that was given: those of one source, or of a file, for all sources alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rote.core.errors import InputError, OptionError
from rote.core.layer import Layer

if TYPE_CHECKING:
    from rote.measure._templates.windows import Chosen, Windows


def read_templates(name: str, n: int) -> list[tuple[str, ...]]:
    """Templates from a file: a JSON result of `rote templates`, or one template per line."""
    path = Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise OptionError(
            f"--templates-from {name}: there is no source and no file of that name"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", file=name) from None
    found = _from_json(text, name) if text.lstrip().startswith("{") else text.splitlines()
    templates = list(dict.fromkeys(tuple(line.split()) for line in found if line.strip()))
    for number, template in enumerate(templates, 1):
        if len(template) != n:
            raise InputError(
                f"'{' '.join(template)}' has {len(template)} items, not {n}",
                file=name,
                line=number,
                remedy=f"Set -n {len(template)} if all of them are that long",
            )
    if not templates:
        raise InputError("no template in it", file=name, remedy="One per line, items by spaces")
    return templates


def numbers_of(templates: list[tuple[str, ...]], layer: Layer, windows: Windows) -> Chosen:
    """The numbers of those templates that stand anywhere in the texts."""
    known = {item: number for number, item in enumerate(layer.vocabulary)}
    found: list[int] = []
    for template in templates:
        wanted = [known.get(item, -1) for item in template]
        candidates = np.arange(len(windows.first))
        for offset, item in enumerate(wanted):
            candidates = candidates[layer.ids[windows.first[candidates] + offset] == item]
        found += candidates.tolist()
    return np.array(found, np.int64)


def signed_set(name: str) -> str:
    """What the signature says of a given set: a source's name, or what is in the file."""
    path = Path(name)
    return blake2b(path.read_bytes(), digest_size=6).hexdigest() if path.is_file() else name


def signed_corpora(corpora: Sequence[str]) -> tuple[str, ...]:
    """What the signature says of corpora: their names, and which documents they hold."""
    from rote.index.folders.manifest import read_manifest

    named = [entry.rpartition("=") for entry in corpora]
    return tuple(
        f"{name or Path(path).name}={read_manifest(Path(path)).fingerprint[:12]}"
        for name, _, path in named
    )


def _from_json(text: str, name: str) -> list[str]:
    try:
        held = json.loads(text)
        return [row["template"] for row in held["tables"]["templates"]]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"this is no JSON result of `rote templates` ({error})",
            file=name,
            remedy="Write one with `rote templates ... --json`, or give one template per line",
        ) from None
