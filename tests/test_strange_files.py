"""Every file that a command may be given, as something else than it should be: an error that names
it, and never a traceback.

A contract over all commands: what a new option reads is tried here by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rote.core.errors import RoteError
from tests.cli.calls import World, commands, make_once
from tests.kit import invoke

STRANGE = {
    "bytes.csv": bytes(range(256)) * 4,
    "bytes.json": bytes(range(128, 256)) * 4,
    "nul.csv": b"name,author\na\0b,c\n",
    "wide.csv": b'name,author,source,rating\n"' + b"x" * 200_000 + b'",b,c,1\n',
    "deep.json": b"[" * 50_000,
    "empty.jsonl": b"",
    "records.jsonl": b'{"id": "1", "text": 3}\n[]\nnull\n',
}
WRITTEN = ("output", "write", "figure", "figures", "save_deciles", "write", "log")
"""Options that name what is written."""
NOT_READ = {"serve", "demo"}
"""Commands that read no file, or do not end."""


def files_of(name: str) -> Iterator[str]:
    """The flags of a command that name a file to be read; \"\" is what it works on."""
    yield ""
    for one in commands()[name].params:
        shown = getattr(one, "metavar", None) or ""
        if one.name in WRITTEN or one.param_type_name != "option":
            continue
        if one.name == "join" and name != "lexical":  # it is read alike by all
            continue
        if any(part in shown for part in ("FILE", "IDX", "TRAIN", "ITEMS", "INPUT")):
            yield max(one.opts, key=len)


READ = [(name, flag) for name in commands() if name not in NOT_READ for flag in files_of(name)]
TRIED = 3
"""Of the strange files so many for each option, others for the next: all are read in few places."""


def call(name: str, world: World, folder: Path) -> list[str]:
    """A call that works, as far as it is of use here."""
    out, model = str(folder / "out"), world.model
    own = {
        "annotate": [world.texts, "-o", out],
        "show": [world.texts],
        "report": [world.texts, "--by", "source", "--measures", "lexical", "-o", f"{out}.html"],
        "index build": [world.texts, "-o", out],
        "index merge": [world.index],
        "index add": [world.index, world.texts],
        "index replace": [world.index, world.texts],
        "index remove": [world.index, "none such"],
        "train calibrate": [world.texts, "--model", "none", "-o", out],
        "train finetune": [world.texts, "--model", "none", "-o", out],
        "train intervene": [world.texts, "--model", "none", "-o", out],
        "train study": [world.texts, "--model", "none", "-o", out],
        "dedup": [world.texts, "-o", out],
        "generate": [world.texts, "--model", model, "--max-tokens", "2", "-o", f"{out}.jsonl"],
        "judge page": [world.texts, "-o", f"{out}.html"],
        "limit": [world.texts, "--max", "4", "-o", out],
        "train pseudo-summaries": [world.texts, "-o", f"{out}.jsonl"],
        "train reina": [world.texts, "-o", f"{out}.jsonl"],
    }
    if name.startswith("index ") and name not in own:
        return [*name.split(), world.index]
    if name in own:
        return [*name.split(), *own[name]]
    words = world.call(name)
    return [*words, "-o", out] if name == "decontaminate" else words


@pytest.mark.parametrize(("place", "name", "flag"), [(n, *one) for n, one in enumerate(READ)])
def test_a_strange_file_is_an_error_that_says_so(
    place: int,
    name: str,
    flag: str,
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_once(monkeypatch)
    files = list(STRANGE)
    for number in range(TRIED):
        file = files[(TRIED * place + number) % len(files)]
        (tmp_path / file).write_bytes(STRANGE[file])
        given = call(name, world, tmp_path / str(number))
        (tmp_path / str(number)).mkdir()
        if flag:
            given += [flag, str(tmp_path / file)]
        else:
            given[len(name.split())] = str(tmp_path / file)
        found = invoke(*given)
        known = (type(None), RoteError, SystemExit)
        assert isinstance(found.exception, known), (given, repr(found.exception))
        assert found.exit_code in (0, 2) or isinstance(found.exception, RoteError), given
