"""The public surface is what it says, and nothing heavy comes with it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rote
from rote.core import distribution

PUBLIC = [
    "BackOff",
    "Corpus",
    "Document",
    "Index",
    "InputError",
    "Layer",
    "MissingExtra",
    "OptionError",
    "ReadOptions",
    "Result",
    "RoteError",
    "Settings",
    "Signature",
    "UnknownName",
    "__version__",
    "annotate",
    "compression",
    "contamination",
    "correlate",
    "count",
    "decontaminate",
    "dedup",
    "demo",
    "distinct",
    "diversity",
    "evaluate",
    "factors",
    "generate",
    "homogenization",
    "index",
    "index_add",
    "index_add_layer",
    "index_info",
    "index_merge",
    "index_originals",
    "index_remove",
    "index_replace",
    "index_verify",
    "judge_agreement",
    "judge_model",
    "judge_page",
    "keyness",
    "lexical",
    "limit",
    "memorization",
    "novelty",
    "open_corpus",
    "open_index",
    "originality",
    "overlap",
    "perplexity",
    "perturb",
    "popularity",
    "precision_recall",
    "report",
    "sameness",
    "score",
    "search",
    "self_repetition",
    "semantic",
    "serve",
    "show",
    "style",
    "syntactic",
    "table",
    "templates",
    "top",
    "trace",
    "train_calibrate",
    "train_finetune",
    "train_intervene",
    "train_pseudo_summaries",
    "train_reina",
    "train_study",
]


ROOT = Path(__file__).resolve().parent.parent
WRITTEN = {".py", ".md", ".toml", ".html", ".js", ".cff", ""}


def written() -> Iterator[tuple[Path, str]]:
    """Every text file of the project."""
    for folder in ("src", "docs", "tests", "benchmarks", "training", ".ci", "."):
        paths = (ROOT / folder).glob("*") if folder == "." else (ROOT / folder).rglob("*")
        for path in paths:
            if path.is_file() and path.suffix in WRITTEN and path != Path(__file__).resolve():
                yield path, path.read_text(encoding="utf-8")


def test_nobody_is_told_to_install_what_the_index_does_not_have() -> None:
    """`rote` on the package index is a memoization library, and `rote-text` is not there yet."""
    named = re.compile(r"""(pip|uv|pipx)\s+(install|add)\s+(-\S+\s+)*['"]?rote\b|rote(-text)?\[""")
    places = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path, text in written()
        for line in text.splitlines()
        # `(rote[\w.]*)` is part of a pattern, and `rote[` in a message would be an extra.
        if named.search(line.replace("(rote[", ""))
    ]
    assert places == []
    assert distribution.version() == rote.__version__


def test_every_extra_that_is_named_exists() -> None:
    """Of the extras that messages and pages name, each can be installed from a checkout."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    _, _, extras = project.partition("[project.optional-dependencies]")
    known = re.findall(r"^([\w-]+) = \[", extras.partition("\n[")[0], re.M)
    command = re.compile(re.escape(distribution.install_command("EXTRA")).replace("EXTRA", "(.+?)"))
    named = {
        extra: path
        for path, text in written()
        if ROOT / "tests" not in path.parents and path.name != "distribution.py"
        for extras in [
            *command.findall(text),
            *re.findall(r'MissingExtra\(\s*"[^"]+", "(.+?)"', text),
        ]
        for extra in extras.split(",")
    }
    assert {"demo", "web", "spacy", "lm"} <= named.keys()
    assert {extra: path for extra, path in named.items() if extra not in known} == {}


def test_the_licences_of_all_that_the_wheel_holds_are_named() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (expression,) = re.findall(r'^license = "(.+?)"', project, re.M)
    (files,) = re.findall(r"^license-files = \[(.+?)\]", project, re.M | re.S)
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    texts = [path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("LICENSE*")]
    assert set(re.findall(r'"(.+?)"', files)) == {"LICENSE", "NOTICE", *texts}
    code = {".py", ".pyi", ".html", ".css", ".js", ".json", ".svg", ".typed", ".pyc", ".txt"}
    built = ROOT / "src" / "rote" / "compiled"
    held = [
        path for path in (ROOT / "src").rglob("*") if path.is_file() and path.suffix not in code
    ]
    held = [path for path in held if built not in path.parents]
    assert held
    assert [
        path for path in held if not re.search(rf"{path.name}|{path.parent.name}/$", notice, re.M)
    ] == []
    said = {"Apache-2.0": "Apache-2.0", "Attribution-ShareAlike 4.0": "CC-BY-SA-4.0"}
    said |= {name: name for name in re.findall(r"LicenseRef-[\w.-]+", notice)}
    assert expression.split(" AND ") == [said[words] for words in said if words in notice]
    # A licence that a file of the wheel may have and that is not known here.
    assert not re.search(r"GPL|MPL|BSD|CC BY-NC|NonCommercial", notice)


def test_papers_are_named_by_their_authors() -> None:
    ours = re.compile(r"\bpapers? [A-E]\b|\bpaper[-_][a-e]\b", re.I)
    places = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path, text in written()
        for found in ours.finditer(text)
    ]
    assert [place for place in places if not place.startswith("CHANGELOG")] == []


def test_the_public_names_are_frozen() -> None:
    assert rote.__all__ == dir(rote) == PUBLIC
    assert all(getattr(rote, name) is not None for name in PUBLIC)


def test_importing_rote_imports_nothing_heavy() -> None:
    code = "import sys, rote; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_wrong_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="lexcal"):
        _ = rote.lexcal  # type: ignore[attr-defined]


def test_a_measure_is_a_function_of_texts(tmp_path: Path) -> None:
    texts = ["one two three four", "one two five six"]
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts))
    from_list = rote.lexical(texts)
    from_file = rote.lexical(path, plain="line")
    assert from_list.by_source["texts"].values == pytest.approx(
        from_file.by_source["texts"].values, nan_ok=True
    )


def test_an_index_is_built_and_opened(tmp_path: Path) -> None:
    index = rote.index(["the old man", "an old man"], output=tmp_path / "IDX", layers=("lower",))
    assert index.count("old man") == 2
    assert rote.open_index(tmp_path / "IDX").documents("the") == {"texts:1": 1}
    assert rote.index(["the old man", "an old man"]).count("old man") == 2
    with pytest.raises(rote.OptionError, match="is an index"):
        rote.index(tmp_path / "IDX", output=tmp_path / "other")
    with pytest.raises(rote.OptionError, match="did you mean `layers`"):
        rote.index(["a"], output=tmp_path / "other", layer=("lower",))


@pytest.mark.parametrize("by", [5, ("source", 5), None])
def test_fields_that_are_no_names_are_refused(by: object) -> None:
    with pytest.raises(rote.OptionError, match="by names fields"):
        rote.lexical(["one two"], by=by)


def test_a_list_of_numbers_may_be_a_string_or_a_number(tmp_path: Path) -> None:
    texts = ["one two three four", "one two three four", "five six seven eight"]
    for most in ("1", 1, (1,)):
        made = rote.limit(texts, max=most, seeds=1, output=tmp_path / str(type(most).__name__))
        assert [one["texts"] for one in made.about["manifest"]["subsets"]] == [2]
    assert "Subsets" in made.table()
    assert made.to_polars("subsets").height == 1
    with pytest.raises(rote.OptionError, match="max must be a whole number"):
        rote.limit(texts, max="two", output=tmp_path / "other")


@pytest.mark.parametrize("name", ["novelty", "contamination", "originality", "trace"])
def test_a_corpus_is_a_name_a_path_or_an_opened_index(name: str, tmp_path: Path) -> None:
    path = tmp_path / "IDX"
    rote.index(["They left by the back gate as it rained."], output=path, layers=("lower", "pos"))
    texts = ["We left by the back gate as it rained, she said.", "No."]
    more = {"min_words": 3, "min_bits": 1} if name == "trace" else {"matched": False}
    found = [
        getattr(rote, name)(texts, corpus=against, **more)
        for against in (str(path), path, rote.open_index(path))
    ]
    assert found[0].to_dict() == found[1].to_dict() == found[2].to_dict()
    made = rote.index(["They left by the back gate as it rained."])
    if name == "trace":
        assert rote.trace(texts, corpus=made, **more).tables["spans"]
