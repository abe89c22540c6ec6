"""The gallery: what each command shows of the bundled texts, as pages with figures.

`make docs` makes it (docs/build_site.py), and nothing of it is kept in git. The commands run in one
folder, in two processes; a command may read what another one writes, and waits for it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import click
from click.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = "example:answers --by source --reference plain"
MARK = "bible:asv --where book=Mark"
MODEL = "training/open-model/bible"
BOOKS = '--where "book=Ruth|Jonah|Esther|Joel|Amos|Titus"'
MOST_LINES = 70
"""Of what a command prints."""

GALLERY: dict[str, tuple[str, ...]] = {
    "Words": (
        f"rote diversity {ANSWERS}",
        f"rote lexical {ANSWERS}",
        f"rote compression {ANSWERS} --codecs gzip,xz,zstd",
        f"rote self-repetition {ANSWERS}",
        f"rote homogenization {ANSWERS}",
        f"rote keyness {ANSWERS}",
    ),
    "Grammar": (
        "rote show example:answers --layers lemma,pos,dep --limit 1",
        f"rote templates {ANSWERS} -n 4",
        f"rote syntactic {ANSWERS}",
        f"rote keyness {ANSWERS} --of patterns",
        'rote style bible:kjv --where "book=Ruth|Mark|Romans" --by book --reference Mark',
    ),
    "Meaning": (
        "rote index build bible:kjv --where testament=new -o KJV --layers lower,pos,lemma",
        "rote generate prefix:bible:asv --words 12 --limit 10 --samples 5 --max-tokens 30"
        " --model index:KJV --temperature 0.4,0.7,1 -o sampled.jsonl",
        f"rote semantic {ANSWERS}",
        f"rote precision-recall {ANSWERS}",
        f"rote sameness bible:kjv bible:asv {BOOKS} --by source --scores rouge_l,runs,cosine",
        "rote distinct sampled.jsonl --by temperature --reference 0.4",
    ),
    "Counting": (
        "rote index info KJV",
        "rote index originals KJV",
        'rote count KJV "in the beginning" "came to pass"',
        'rote search KJV \'[pos="JJ"] [lower="man|woman"]\' --limit 8',
        "rote top KJV -n 4 -k 10",
    ),
    "Originality": (
        f"rote originality {MARK} --corpus KJV",
        f"rote trace {MARK} --corpus KJV --limit 3",
        f"rote novelty {MARK} --corpus KJV",
        f"rote contamination {MARK} --corpus KJV",
    ),
    "Generation": (
        "rote generate start:8 --samples 2 --max-tokens 60 --model index:KJV"
        " --temperature 0.4,0.7,1,1.3 -o made.jsonl",
        "rote generate prefix:bible:asv --words 30 --reference-words 40 --max-tokens 45 --limit 24"
        f" --model {MODEL} -o written.jsonl",
        f"rote perplexity example:answers --by source --reference plain --model {MODEL}",
        "rote score written.jsonl --scores rouge,cosine",
        "rote score written.jsonl --scores fragments --document-field reference",
        "rote score written.jsonl --scores entities --document-field prompt",
        "rote overlap written.jsonl --train bible:kjv --min-samples 6",
    ),
    "Results": (
        "rote diversity made.jsonl --by model,temperature --no-matched -o made.json -q",
        "rote factors made.json --over temperature",
        f"rote diversity bible:kjv {BOOKS} --by book --sample 4 --no-matched -o books.json -q",
        "rote correlate books.json",
        "rote table made.json",
    ),
    "Benchmarks": (
        f"rote evaluate items.jsonl --model {MODEL} -o answers.jsonl",
        "rote popularity answers.jsonl --corpus KJV -n 3",
        "rote perturb items.jsonl --variant exact --corpus KJV -n 3",
        f"rote memorization answers.jsonl --model {MODEL} --corpus KJV -n 3",
        f"rote memorization bible:kjv --where book=Ruth --layer pos --model {MODEL}"
        " --prefix 20 --suffix 20",
    ),
    "Curation": (
        "rote train pseudo-summaries bible:kjv --where testament=new -o pairs.jsonl",
        "rote limit pairs.jsonl --max 2,4 --random --seeds 2 -o limited",
        "rote dedup bible:kjv bible:asv --where book=Mark --length 20 -o clean",
        "rote decontaminate bible:kjv --where testament=new --test-items written.jsonl"
        " --benchmark texts -o uncontaminated",
        "rote train reina pairs.jsonl -o retrieved.jsonl",
    ),
    "Report": (f"rote report {ANSWERS} -o report.html",),
}
HALVES = (
    ("Meaning", "Counting", "Originality", "Generation", "Benchmarks"),
    ("Words", "Grammar", "Report", "Results", "Curation"),
)
"""Groups that one process runs, in this order; each takes about as long."""
Shown = tuple[str, str, str, list[Path]]
NOT_SHOWN = {
    "annotate": "writes a store; `show` shows what is in it",
    "demo": "its parts are here",
    "judge": "a page for people",
    "serve": "waits for a browser",
}


def items() -> str:
    """The test items of the gallery: those that a page on a paper shows."""
    page = (ROOT / "docs" / "papers" / "ruzzetti-2026.md").read_text(encoding="utf-8")
    return re.findall(r'^```json title="items.jsonl"\n(.*?)^```$', page, re.M | re.S)[0]


def run(folder: Path) -> list[Shown]:
    """Run every command in a folder, in two processes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "training").symlink_to(ROOT / "training")
    (folder / "items.jsonl").write_text(items(), encoding="utf-8")
    with ProcessPoolExecutor(len(HALVES)) as pool:
        shown = [one for half in pool.map(partial(run_half, folder), HALVES) for one in half]
    return sorted(shown, key=lambda one: list(GALLERY).index(one[0]))


def run_half(folder: Path, groups: Sequence[str]) -> list[Shown]:
    """Run the commands of some groups: each its group, itself, what it prints, its figures."""
    from rote.cli.main import rote
    from rote.report import screen, svg

    screen.FILE_WIDTH = 120
    svg.render_png = lambda spec: b""  # pages show SVG; a picture takes as long again
    os.chdir(folder)
    shown = []
    for group in groups:
        for number, line in enumerate(GALLERY[group]):
            words = shlex.split(line)[1:]
            wait_for_files(words)
            figures = Path("figures") / f"{group.lower()}-{number}"
            if takes(words[0], "figures") and "-o" not in words:
                words += ["--figures", str(figures)]
            if takes(words[0], "jobs"):
                words += ["--jobs", "1"]  # starting another process takes longer than the work
            found = CliRunner().invoke(rote, words)
            if found.exit_code != 0:
                raise SystemExit(f"{line}\n{found.output}\n{found.exception}")
            drawn = sorted(figures.glob("*.svg"), key=lambda path: (path.stem == "curve", path))
            shown.append((group, line, found.stdout, drawn))
    return shown


def wait_for_files(words: Sequence[str], *, seconds: int = 1200) -> None:
    """Wait for files that commands of the other half write; they appear when they are complete."""
    every = [shlex.split(line) for lines in GALLERY.values() for line in lines]
    written = {line[line.index("-o") + 1] for line in every if "-o" in line}
    own = words[words.index("-o") + 1] if "-o" in words else None
    needed = {word.removeprefix("index:") for word in words} & (written - {own})
    end = time.monotonic() + seconds
    while missing := [name for name in needed if not Path(name).exists()]:
        if time.monotonic() > end:
            raise SystemExit(f"{shlex.join(words)}: no {missing[0]} after {seconds} s")
        time.sleep(0.1)


def takes(name: str, option: str) -> bool:
    """Whether a command has an option."""
    from rote.cli.main import rote

    command = rote.get_command(click.Context(rote), name)
    assert command is not None
    return any(parameter.name == option for parameter in command.params)


def pages(folder: Path) -> Iterator[tuple[str, str]]:
    """The gallery as Markdown: an overview with a figure of each command, a page for each group."""
    groups: dict[str, list[str]] = {}
    front: list[str] = []
    for group, line, printed, figures in run(folder):
        words = shlex.split(line)[1:]
        name = " ".join(words[: 2 if words[0] == "index" else 1])
        parts = groups.setdefault(group, [f"# {group}"])
        anchor = f"{name.replace(' ', '-')}-{len(parts)}"
        parts.append(f"## {name} {{ #{anchor} }}\n\n```sh\n{line}\n```")
        parts += [f"![{figure.stem} of {name}]({figure.as_posix()})" for figure in figures]
        rows = [row for row in printed.rstrip().splitlines() if not row.startswith("measure:")]
        if rows:
            rows = rows[:MOST_LINES] + ["…"] * (len(rows) > MOST_LINES)
            text = "\n".join(f"    {row}".rstrip() for row in ["```text", *rows, "```"])
            parts.append(f'??? example "What it prints"\n\n{text}')
        if figures:
            first = figures[0].as_posix()
            front.append(f"[![]({first}) {name}]({group.lower()}.md#{anchor})")
    yield (
        "gallery/index.md",
        "# Gallery\n\nEvery command on the texts that come with rote. Click a figure for its "
        "command, all of its figures and what it prints.\n\n"
        '<div class="gallery" markdown>\n\n' + "\n".join(front) + "\n\n</div>\n\n"
        "Pages, also of commands without a figure: "
        + ", ".join(f"[{group.lower()}]({group.lower()}.md)" for group in groups)
        + ".\n",
    )
    for group, parts in groups.items():
        yield f"gallery/{group.lower()}.md", "\n\n".join(parts) + "\n"
