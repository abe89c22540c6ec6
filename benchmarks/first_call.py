"""The wait for compiled kernels: every command with an empty kernel cache, and with a full one.

    python benchmarks/first_call.py                  all commands, one table
    python benchmarks/first_call.py lexical trace    some of them
    python benchmarks/first_call.py --slowest        and the kernels that take longest
    python benchmarks/first_call.py --sums           compiling alone: each kernel once, added up
    python benchmarks/first_call.py --record         writes src/rote/run/kernels.json, all or some

Each command runs twice in a process of its own on the bundled texts, first with a cache folder that
is empty, then with the one that the first run filled. The difference is what compiling costs, in
seconds of the clock and of the processors, helpers and workers included. Load on the machine shows
in the seconds of the clock first. --sums runs no command: one process compiles every kernel of the
lists once, and a command's are added up; two quiet cores wait for half of that, and for the command
itself. --record writes which kernels every command calls: it is due when
a kernel is new, has gone, or takes other types.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

_RECORD = "ROTE_FIRST_CALL"
_HERE = Path(__file__).resolve().parent
_MODEL = _HERE.parent / "training" / "open-model" / "bible"
_SLOWEST = 6

Pair = tuple[str, str]
"""A kernel and, as JSON, the types of its arguments."""


@dataclass(frozen=True)
class Called:
    wall: float
    processor: float
    notes: list[dict[str, Any]]
    """The kernels that were compiled or loaded: name, types, seconds, and whether compiled."""


def record() -> None:
    """Write each kernel that this process compiles or loads to a file of its own."""
    from rote.core import kernels
    from rote.run import _ahead

    out = Path(os.environ[_RECORD]) / f"{time.time():.6f}-{os.getpid()}.jsonl"
    compile_kernel = kernels._Kernel.compile
    lock = threading.Lock()

    def compile(kernel: Any, types: Any) -> Any:
        begun, missed = time.thread_time(), sum(kernel._cache_misses.values())
        made = compile_kernel(kernel, types)
        line = {
            "kernel": f"{kernel.py_func.__module__}.{kernel.py_func.__name__}",
            "types": _ahead.written_types(types),
            "seconds": time.thread_time() - begun,
            "compiled": sum(kernel._cache_misses.values()) > missed,
        }
        with lock, out.open("a") as file:
            file.write(json.dumps(line) + "\n")
        return made

    kernels._Kernel.compile = compile
    _ahead.HELP = f"import sys; sys.path.append({str(_HERE)!r}); import first_call; {_ahead.HELP}"


def call(words: Sequence[str], cache: Path | None, here: Path, *, alone: bool = False) -> Called:
    """Run one command, with nothing kept but what is compiled (None: where it always is); `alone`
    on one core, which leaves no room for other processes."""
    with tempfile.TemporaryDirectory() as noted, tempfile.TemporaryDirectory() as kept:
        from rote.core.cache import folder

        kernels = str(cache or os.environ.get("NUMBA_CACHE_DIR") or folder() / "kernels")
        own = {"ROTE_CACHE": kept, _RECORD: noted, "NUMBA_CACHE_DIR": kernels}
        one = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if alone else []
        begun = time.perf_counter()
        process = subprocess.Popen(
            [*one, sys.executable, __file__, *words],
            env={**os.environ, **own},
            cwd=here,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        if status:
            raise SystemExit(f"rote {' '.join(words)}\n{said.decode()}")
        lines = [line for file in sorted(Path(noted).iterdir()) for line in file.open()]
    return Called(wall, usage.ru_utime + usage.ru_stime, [json.loads(line) for line in lines])


def calls(here: Path) -> dict[str, list[str]]:
    """Data in a folder, and a call of every command that may compile something."""
    from rote.corpus import open_corpus

    texts = [
        {"id": one.id, "text": one.text, **one.meta} for one in open_corpus(["example:answers"])
    ]
    plain = {text["doc_id"]: text["text"] for text in texts if text["source"] == "plain"}
    for text in texts:
        text |= {"reference": plain[text["doc_id"]], "document": plain[text["doc_id"]]}
    items = []
    for n, text in enumerate(texts * 2):
        words = str(text["text"]).split()
        ends = [" ".join(words[place : place + 3]) for place in (6, 12)]
        goal = " ".join(words[n // len(texts) :][:6])
        item = {"id": str(n), "goal": goal, "sol1": ends[0], "sol2": ends[1], "label": 0}
        items.append({**item, "acc": n % 2, "member": n % 2})
    for name, lines in (("texts", texts), ("items", items)):
        (here / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    model = f"numpy:{_MODEL}"
    by = ["texts.jsonl", "--by", "source", "--reference", "plain"]
    measures = (
        "lexical diversity templates compression semantic syntactic homogenization "
        "self-repetition score precision-recall style keyness sameness"
    )
    return {
        **{name: [name, *by] for name in measures.split()},
        "keyness (patterns)": ["keyness", *by, "--of", "patterns"],
        "distinct": ["distinct", "texts.jsonl"],
        "train reina": ["train", "reina", "texts.jsonl", "-o", "retrieved.jsonl"],
        "novelty": ["novelty", *by, "--corpus", "IDX"],
        "originality": ["originality", *by, "--corpus", "IDX"],
        "contamination": ["contamination", *by, "--corpus", "IDX"],
        "overlap": ["overlap", *by, "--train", "bible:kjv"],
        "perplexity": ["perplexity", *by, "--model", model],
        "report": ["report", *by, "-o", "report.html"],
        "demo": ["demo"],
        "annotate": ["annotate", "texts.jsonl", "-o", "store"],
        "show": ["show", "texts.jsonl"],
        "index build": ["index", "build", "bible:kjv", "-o", "built"],
        "index build (compact)": ["index", "build", "texts.jsonl", "-o", "built", "--compact"],
        "index remove": ["index", "remove", "IDX", "Genesis 1 (KJV)"],
        "index replace": ["index", "replace", "IDX", "texts.jsonl"],
        "show (document)": ["show", "IDX", "--id", "Genesis 1 (KJV)"],
        "index add": ["index", "add", "IDX", "texts.jsonl"],
        "index merge": ["index", "merge", "IDX"],
        "index add-layer": ["index", "add-layer", "IDX", "upos"],
        "index info": ["index", "info", "IDX"],
        "index verify": ["index", "verify", "IDX"],
        "index originals": ["index", "originals", "IDX"],
        "count": ["count", "IDX", "in the beginning"],
        "search": ["search", "IDX", "in the beginning"],
        "search (query)": ["search", "IDX", '[pos="JJ"]{1,2} [lemma="man"]'],
        "search (compact)": ["search", "SMALL", '[pos="JJ"]{1,2}'],
        "count (compact)": ["count", "SMALL", "in the beginning"],
        "trace (compact)": ["trace", "texts.jsonl", "--corpus", "SMALL"],
        "originality (compact)": ["originality", *by, "--corpus", "SMALL"],
        "top": ["top", "IDX", "--layer", "pos", "-n", "6"],
        "trace": ["trace", "texts.jsonl", "--corpus", "IDX"],
        "generate": ["generate", "start:2", "--model", "index:IDX", "-o", "made.jsonl"],
        "evaluate": ["evaluate", "items.jsonl", "--model", model],
        "popularity": ["popularity", "items.jsonl", "--corpus", "IDX", "-n", "2"],
        "memorization": [
            *("memorization", "items.jsonl", "--model", model, "--member", "member"),
            *("--corpus", "IDX", "-n", "2"),
        ],
        "memorization (style)": [
            *("memorization", "texts.jsonl", "--model", model, "--corpus", "IDX"),
            *("--layer", "pos", "--prefix", "10", "--suffix", "10"),
        ],
        "perturb": ["perturb", "items.jsonl", "--write", "changed.jsonl", "--corpus", "IDX"],
        "dedup": ["dedup", "texts.jsonl", "-o", "dedup"],
        "decontaminate": [
            "decontaminate",
            "texts.jsonl",
            "--corpus",
            "items.jsonl",
            "-o",
            "clean",
        ],
        "limit": ["limit", "texts.jsonl", "--max", "2,5", "--field", "text", "-o", "limited"],
        "train pseudo-summaries": ["train", "pseudo-summaries", "texts.jsonl", "-o", "pairs.jsonl"],
    }


def fresh(here: Path) -> None:
    """The index as it was, and nothing of an earlier run."""
    for name in ("IDX", "built", "store", "limited", "dedup", "clean", "rote-demo"):
        shutil.rmtree(here / name, ignore_errors=True)
    for name in ("report.html", "made.jsonl", "changed.jsonl", "pairs.jsonl", "retrieved.jsonl"):
        (here / name).unlink(missing_ok=True)
    shutil.copytree(here / "index", here / "IDX")


def measure(asked: Mapping[str, Sequence[str]], here: Path, slowest: bool) -> None:
    heads = "command, first call in wall s, in processor s, later in wall s, compiling, kernels"
    print(f"load {os.getloadavg()[0]:.1f}\n| {heads.replace(', ', ' | ')} |\n{'|---' * 6}|")
    for name, words in asked.items():
        with tempfile.TemporaryDirectory() as cache:
            fresh(here)
            cold = call(words, Path(cache), here)
            fresh(here)
            warm = call(words, Path(cache), here)
        made = [note for note in cold.notes if note["compiled"]]
        print(
            f"| {name} | {cold.wall:.1f} | {cold.processor:.1f} | {warm.wall:.1f} "
            f"| {cold.processor - warm.processor:.1f} | {len(made)} |",
            flush=True,
        )
        for note in sorted(made, key=lambda note: -note["seconds"])[: _SLOWEST * slowest]:
            print(f"    {note['seconds']:6.1f}  {note['kernel']}", flush=True)


def add_up(asked: Iterable[str]) -> None:
    """Compile every kernel once, in this process, and say what those of each command take."""
    from rote.run._ahead import Listed, kernels_of, read_types, types_of

    took: dict[Listed, float] = {}
    print("| command | compiling, processor s | the longest | kernels |\n|---|---|---|---|")
    for name in asked:
        listed = kernels_of(name)
        for one in listed:
            if one not in took:
                begun = time.thread_time()
                kernel = getattr(import_module(one[0]), one[1])
                kernel.compile(read_types(types_of(one)))
                took[one] = time.thread_time() - begun
        seconds = [took[one] for one in listed]
        said = f"{sum(seconds):.1f} | {max(seconds, default=0):.1f} | {len(seconds)}"
        print(f"| {name} | {said} |", flush=True)


def list_of(name: str) -> str:
    """The list of a call: its command's; of the compact form its own, for a package that is built
    with all kernels, since most who call the command have no use for them."""
    return name if name.endswith("(compact)") else name.partition(" (")[0]


def record_lists(asked: Mapping[str, Sequence[str]], here: Path) -> None:
    """Write which kernels each command calls, in that order; commands that are not asked for stay
    as they are."""
    from rote.run._ahead import LISTS, kernels_of, types_of

    used: dict[str, dict[Pair, None]] = {}  # what a set would hold, in order
    for name in json.loads(LISTS.read_text(encoding="utf-8"))["commands"]:
        kept = ((f"{one[0]}.{one[1]}", json.dumps(types_of(one))) for one in kernels_of(name))
        used[name] = dict.fromkeys(kept)
    for name in asked:
        used[list_of(name)] = {}
    for name, words in asked.items():
        print(name, flush=True)
        fresh(here)
        notes = call(words, None, here, alone=True).notes
        own = ((note["kernel"], json.dumps(note["types"])) for note in notes)
        used[list_of(name)].update(dict.fromkeys(own))
        LISTS.write_text(written(used), encoding="utf-8")


def written(used: Mapping[str, Iterable[Pair]]) -> str:
    """The lists as JSON, one line for each kernel and for each command."""
    types: dict[str, list[str]] = {}
    commands: dict[str, list[str]] = {}
    for name, pairs in sorted(used.items()):
        for kernel, held in pairs:
            known = types.setdefault(kernel, [])
            if held not in known:
                known.append(held)
            number = known.index(held)
            commands.setdefault(name, []).append(f"{kernel} {number}" if number else kernel)
    rows = {
        "commands": [f'  "{name}": {json.dumps(held)}' for name, held in commands.items()],
        "kernels": [f'  "{name}": [{", ".join(held)}]' for name, held in sorted(types.items())],
    }
    parts = (f' "{part}": {{\n' + ",\n".join(held) + "\n }" for part, held in rows.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    plain = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("names", nargs="*", metavar="COMMAND")
    parser.add_argument("--slowest", action="store_true", help="name the slowest kernels")
    parser.add_argument("--sums", action="store_true", help="compile, and run no command")
    parser.add_argument("--record", action="store_true", help="write the lists of kernels")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        asked = calls(here)
        if unknown := set(options.names) - set(asked):
            parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(asked)}")
        if options.sums:
            os.environ["NUMBA_CACHE_DIR"] = folder
            add_up(options.names or [name for name in asked if " (" not in name])
            return
        layers = ("--layers", "lower,pos,lemma")
        call(["index", "build", "bible:kjv", "-o", "index", *layers], None, here)
        call(["index", "build", "bible:kjv", "-o", "SMALL", *layers, "--compact"], None, here)
        chosen = {name: asked[name] for name in options.names or asked}
        if options.record:
            record_lists(chosen, here)
        else:
            measure(chosen, here, options.slowest)


if _RECORD in os.environ:
    record()
    if __name__ == "__main__":
        from rote.cli.main import main as rote

        rote()
elif __name__ == "__main__":
    main()
