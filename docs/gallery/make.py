"""The gallery: what each command shows of the bundled texts, as pages with figures.

`make docs` makes it (docs/build_site.py), and nothing of it is kept in git. The commands run one
after the other in one folder; a later one may read what an earlier one wrote.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
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
NOT_SHOWN = {
    "annotate": "writes a store; `show` shows what is in it",
    "demo": "its parts are here",
    "judge": "a page for people",
    "serve": "waits for a browser",
}


def run(folder: Path) -> Iterator[tuple[str, str, str, list[Path]]]:
    """Run every command in a folder: its group, the command, what it prints, its figures."""
    from rote.cli.main import rote
    from rote.report.tables import screen

    screen.WIDTH = 120
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "training").symlink_to(ROOT / "training")
    guide = (ROOT / "docs" / "guides" / "ruzzetti-2026.md").read_text(encoding="utf-8")
    items = re.findall(r'^```json title="items.jsonl"\n(.*?)^```$', guide, re.M | re.S)[0]
    (folder / "items.jsonl").write_text(items, encoding="utf-8")
    os.chdir(folder)
    for group, lines in GALLERY.items():
        for number, line in enumerate(lines):
            words = shlex.split(line)[1:]
            figures = Path("figures") / f"{group.lower()}-{number}"
            if draws(words[0]) and "-o" not in words:
                words += ["--figures", str(figures)]
            found = CliRunner().invoke(rote, words)
            if found.exit_code != 0:
                sys.exit(f"{line}\n{found.output}\n{found.exception}")
            drawn = sorted(figures.glob("*.svg"), key=lambda path: (path.stem == "curve", path))
            yield group, line, found.stdout, drawn


def draws(name: str) -> bool:
    """Whether a command takes --figures."""
    from rote.cli.main import rote

    command = rote.get_command(click.Context(rote), name)
    assert command is not None
    return any(parameter.name == "figures" for parameter in command.params)


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
        "# Gallery\n\nWhat each command shows of the texts that come with rote. Click a figure for "
        "the command, all of its figures, and what it prints.\n\n"
        '<div class="gallery" markdown>\n\n' + "\n".join(front) + "\n\n</div>\n\n"
        "Commands without a figure are on the same pages: "
        + ", ".join(f"[{group.lower()}]({group.lower()}.md)" for group in groups)
        + ".\n",
    )
    for group, parts in groups.items():
        yield f"gallery/{group.lower()}.md", "\n\n".join(parts) + "\n"
