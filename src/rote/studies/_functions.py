"""Every command as a function: `rote.lexical(texts, by="source")`, `rote.search(index, "tea")`.

The keywords are the fields of the command's options; the shell's flags are the same fields under
the same names. Signature and docstring are made from the record, or from the function that stands
beside the command; `stub` writes them down for type checkers and editors. What is said in the
words of the shell, in help texts and errors, is said here in those of Python.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
import shlex
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import cache
from inspect import Parameter
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from rote.core import plugins
from rote.core.errors import InputError, MissingExtra, RoteError, check_options_known
from rote.core.metric import Metric, at_a_glance
from rote.core.progress import Silent
from rote.core.record import LINES, Study
from rote.core.registry import find, functions, module_of, words_of
from rote.run._ahead import compile_ahead
from rote.studies._driver import default_of, kinds, options_of, run

_INPUTS = {
    "texts": ("texts", "Input"),
    "items": ("inputs", "Input"),
    "results": ("results", "Any"),
    "index": ("index", "Any"),
    "prompts": ("prompts", "str | Sequence[str]"),
}
"""What a function calls what it takes, and the type of that."""
_SHELL_ONLY = ("json", "quiet")
"""Fields that say how the shell prints."""


@dataclass(frozen=True, slots=True)
class Described:
    """A command as Python calls it."""

    name: str
    shell: str
    help: str
    inputs: Sequence[Parameter]
    kinds: Mapping[str, type]
    """The options that its keywords make, by the parameter of `work` that takes them."""
    without: Sequence[str]
    returns: str
    work: Callable[..., Any]

    @property
    def keywords(self) -> dict[str, tuple[Field[Any], str]]:
        """By name the field, and what may be given for it."""
        found = keywords(list(self.kinds.values()), self.without)
        return {field.name: (field, hint) for field, hint in found}


@cache
def describe(name: str) -> Described:
    """The function of this name."""
    room, member = functions()[name]
    if not room.startswith("cli."):
        record = find(member)
        given, hint = _takes(record)
        shared = {str(number): kind for number, kind in enumerate(kinds(record))}
        left_out = record.without
        inputs = [Parameter(given, Parameter.POSITIONAL_ONLY, annotation=hint)]
        words = " ".join(words_of(member))
        work = functools.partial(run, member)
        return Described(name, words, documented(record), inputs, shared, left_out, "Result", work)
    module = plugins.load(room, member)
    work, flags = getattr(module, name), {one.name for one in module.command.params}
    signature = inspect.signature(work)
    held = {one: vars(module).get(p.annotation) for one, p in signature.parameters.items()}
    options = {one: kind for one, kind in held.items() if is_dataclass(kind)}
    every = [field.name for kind in options.values() for field in fields(kind)]
    inputs = [
        p if p.kind is Parameter.VAR_POSITIONAL else p.replace(kind=Parameter.POSITIONAL_ONLY)
        for one, p in signature.parameters.items()
        if one not in options and one != "reporter"
    ]
    words = f"index {member}" if room == "cli.index" else member
    left_out = [one for one in every if one not in flags or one in _SHELL_ONLY]
    help = module.command.help or ""
    returns = str(signature.return_annotation)
    return Described(name, words, help, inputs, options, left_out, returns, work)  # type: ignore[arg-type]


@cache
def function(name: str) -> Callable[..., Any]:
    """The function of a command, by the name that Python has for it."""
    described = describe(name)
    texts = {place for place, one in enumerate(described.inputs) if one.annotation == "Input"}

    def call(*inputs: Any, **given: Any) -> Any:
        signature.bind(*inputs)
        check_options_known(given, described.keywords)
        inputs = tuple(not_a_text(x) if n in texts else x for n, x in enumerate(inputs))
        if isinstance(described.work, functools.partial):
            return described.work(*inputs, given)
        compile_ahead(Silent(), described.shell)
        options = options_of(list(described.kinds.values()), given)
        more = {one: options[kind] for one, kind in described.kinds.items()}
        if "reporter" in inspect.signature(described.work).parameters:
            more["reporter"] = Silent()
        return described.work(*inputs, **more)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "rote"
    call.__doc__ = documentation(name)
    parameters = [
        Parameter(one, Parameter.KEYWORD_ONLY, default=default_of(field), annotation=hint)
        for one, (field, hint) in described.keywords.items()
    ]
    signature = inspect.Signature(
        [*described.inputs, *parameters], return_annotation=described.returns
    )
    call.__signature__ = signature  # type: ignore[attr-defined]
    return speaking_python(call)


def keywords_of(record: Metric | Study) -> list[tuple[Field[Any], str]]:
    """The fields of all its options, and what may be given for each."""
    return keywords(kinds(record), record.without)


def keywords(kinds: Sequence[type], without: Sequence[str] = ()) -> list[tuple[Field[Any], str]]:
    """The same of some kinds of options; a field that several have is taken once."""
    found: dict[str, tuple[Field[Any], str]] = {}
    for kind in kinds:
        hints = get_type_hints(kind)
        for field in fields(kind):
            if field.name in without:
                continue
            opened = field.metadata.get("opened")
            written = "Any" if opened else _written(hints[field.name])
            written += " | str" * bool(field.metadata.get("size"))
            found.setdefault(field.name, (field, written))
    return list(found.values())


def _written(hint: Any) -> str:
    """A type as a stub has it: a string is as good as a tuple of one, or as a Path."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_written, arguments)))
    if origin is tuple and arguments[-1] is ...:
        item = _written(arguments[0])
        return f"Sequence[{item}] | " + (item if "str" in item else f"{item} | str")
    if origin is not None:
        return f"{origin.__name__ if origin is tuple else 'Literal'}[{_listed(arguments)}]"
    return {types.NoneType: "None", Path: "str | Path"}.get(hint) or hint.__name__


def _listed(arguments: Sequence[Any]) -> str:
    return ", ".join(_written(a) if isinstance(a, type) else repr(a) for a in arguments)


def documented(record: Metric | Study) -> str:
    """What the record's file says of it; a measure's with a call, where it shows none."""
    text = (module_of(record.name).__doc__ or "").strip()
    if isinstance(record, Study) or re.search(rf"^  rote {record.name} ", text, re.M):
        return text
    own = [field for field in fields(record.options) if field.metadata.get("needed")]
    more = "".join(f" --{field.name} {field.metadata['metavar']}" for field in own)
    return f"{text}\n\n\b\n  rote {record.name} stories.jsonl --by source --reference human{more}"


def documentation(name: str) -> str:
    """The help of the command with its calls in Python, the keywords that most people set, and the
    others."""
    described = describe(name)
    text = described.help.replace("\b\n", "").replace(" \\\n", " ")
    examples: list[str] = []
    for line in re.findall(r"^  rote .*\n?", text, re.M):
        text = text.replace(line, "\x00" if not examples else "", 1)
        examples.append(in_python_call(re.sub(r"\s+", " ", line).strip()))
    whole = [call if "(" in call else f"{call}()" for call in dict.fromkeys(examples) if call]
    calls = "".join(f"    >>> {call}\n" for call in whole)
    text = re.sub(r"\n{3,}", "\n\n", text.replace("\x00", calls)).strip()
    glance = at_a_glance(list(described.kinds.values()), described.without)
    lines: dict[bool, list[str]] = {True: [], False: []}
    for one, (field, _) in described.keywords.items():
        lines[one in glance].append(f"    {one}: {field.metadata['help']}")
    usual, rest = ("\n".join(some) for some in lines.values())
    said = f"{text}\n\nKeywords:\n{usual}\n\nFurther keywords:\n{rest}\n"
    return in_python(said, {one: hint for one, (_, hint) in described.keywords.items()})


IMPLIED = ("corpus", "corpus_read")
"""Keywords of `rote.trace` that its method of an index has no need of."""


def stub(name: str, without: Sequence[str] = ()) -> str:
    """One function as `__init__.pyi` has it."""
    described, given = describe(name), []
    for one in described.inputs:
        several = "*" * (one.kind is Parameter.VAR_POSITIONAL)
        default = " = ..." * (one.default is not Parameter.empty)
        given.append(f"{several}{one.name}: {one.annotation}{default}")
    given += [] if any("*" in one for one in given) else ["/", "*"] if given else ["*"]
    keywords = {one: hint for one, (_, hint) in described.keywords.items() if one not in without}
    given += [f"{one}: {hint} = ..." for one, hint in keywords.items()]
    if given[-1] == "*":
        given.pop()
    return f"def {name}({', '.join(given)}) -> {described.returns}: ...\n"


def _takes(record: Metric | Study) -> tuple[str, str]:
    return _INPUTS["texts" if isinstance(record, Metric) else record.takes]


def not_a_text(inputs: Any) -> Any:
    """A text in the place of a path is an error that says what to do."""
    if isinstance(inputs, str) and len(inputs.split()) > 1 and not Path(inputs[:4096]).exists():
        shown = inputs if len(inputs) <= 60 else f"{inputs[:60]}…"
        raise InputError(
            "no such file",
            file=shown,
            remedy="Check the path; one text alone is given as a list, [text]",
        )
    return inputs


# From the words of the shell to those of Python

_SHORT = {"-o": "output", "-n": "n", "-k": "k"}
_FLAG = re.compile(
    r"(?<![\w-])(?P<flag>--[a-z][a-z0-9-]*|-[onk](?![\w-]))"
    r"(?:(?P<gap>[ =])(?P<value>'[^']*'|\"[^\"]*\"|[^\s;()`'\"]+?(?=[.,:]*(?:[\s;)`'\"]|$))))?"
)
_CALL = re.compile(r"`(rote [a-z][^`]*)`|(?<=: )(rote [a-z].*)$")
_QUOTED = re.compile(r"`(--[a-z][^`]*)`")
_NUMBER = re.compile(r"-?\d[\d_]*(\.\d+)?")
VALUES = (
    *("all", "each", "exact", "float32", "ids", "index", "json", "jsonl", "line", "log", "paper"),
    *("paragraph", "patterns", "pos", "sentence", "skip", "source", "text", "texts", "trees"),
)
"""Words that are the value of the flag before them, where messages name one."""
_SHOWN = {
    "--json": ".to_json()",
    "--csv": ".to_csv()",
    "--latex": ".to_latex()",
    "--md": ".to_markdown()",
    "-o": ".save({})",
    "--output": ".save({})",
    "--figure": ".figure().save({})",
    "--all": "",
}
"""What the shell does with a result, as its methods do it."""
_METHODS = {"json": "to_json", "csv": "to_csv", "latex": "to_latex", "md": "to_markdown"}
_METHODS |= {"output": "save"}


def speaking_python(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, whose errors name keywords (`on_error='skip'`), not flags; an index that
    it gives does so too."""
    gives_index = inspect.signature(call).return_annotation == "Index"

    @functools.wraps(call)
    def spoken(*args: Any, **keywords: Any) -> Any:
        try:
            result = call(*args, **keywords)
            if gives_index:
                import rote

                result.__class__ = rote.Index
            return result
        except RoteError as error:
            parameters = inspect.signature(call).parameters
            _translate(error, {one: str(p.annotation) for one, p in parameters.items()})
            raise

    spoken.__module__ = "rote"
    return spoken


def _translate(error: RoteError, hints: Mapping[str, str]) -> None:
    for name in ("problem", "remedy", "purpose", "kind"):
        if isinstance(said := getattr(error, name, None), str):
            setattr(error, name, in_python(said, hints))
    if not isinstance(error, MissingExtra):  # whose arguments are names
        error.args = tuple(in_python(x, hints) if isinstance(x, str) else x for x in error.args)


def in_python(text: str, hints: Mapping[str, str] | None = None) -> str:
    """Flags as keywords, calls of `rote` as those of functions; `hints` are types by keyword.

    >>> in_python("--on-error skip leaves such records out; `rote index merge IDX` joins them")
    "on_error='skip' leaves such records out; `rote.index_merge('IDX')` joins them"
    """
    known = hints or {}

    def call(found: re.Match[str]) -> str:
        line = found[1] or found[2]
        made = in_python_call(line)
        return found[0].replace(line, made.replace('"', "'")) if made else found[0]

    def quoted(found: re.Match[str]) -> str:
        said, words = [], found[1].split()
        for word, value in zip(words, [*words[1:], "--"]):
            if word.startswith("--"):
                name = word[2:].replace("-", "_")
                said.append(name if value.startswith("--") else f"{name}={_set_to(value)}")
        return f"`{', '.join(said)}`"

    def keyword(found: re.Match[str]) -> str:
        if "pip install" in text[: found.start()]:
            return found[0]
        flag, value = found["flag"], found["value"] or ""
        name = _SHORT.get(flag) or flag[2:].replace("-", "_")
        hint = known.get(name, "")
        if name not in known and name.startswith("no_") and known.get(name[3:]) == "bool":
            name, hint, set_to = name[3:], "bool", "False"
        else:
            set_to = "True"
        rest = f"{found['gap'] or ''}{value}"
        if value and _is_value(value, hint):
            return f"{name}={_set_to(value)}"
        name = name if name in known else _METHODS.get(name, name)
        return (f"{name}={set_to}" if hint == "bool" else name) + rest

    return _FLAG.sub(keyword, _QUOTED.sub(quoted, _CALL.sub(call, text)))


def _set_to(value: str) -> str:
    return value if value[0] in "'\"" or _NUMBER.fullmatch(value) else repr(value)


def _is_value(word: str, hint: str) -> bool:
    """Whether the word after a flag is what is given with it, and not the sentence's next."""
    if word[0] in "'\"" or re.search(r"[\d=:/,]|\w\.\w", word) or word in VALUES:
        return True
    return (word.isupper() and len(word) > 1) or f"'{word}'" in hint


def in_python_call(line: str) -> str:
    """A call at the shell as one of Python; nothing where it has none, or does more than call.

    >>> in_python_call("rote lexical stories.jsonl --by source --window 40 -o result.json")
    'rote.lexical("stories.jsonl", by="source", window=40).save("result.json")'
    """
    try:
        words = shlex.split(re.sub(r"\s+# .*", "", line))[1:]
    except ValueError:
        return ""
    shells = {_shell_of(*held): name for name, held in functions().items()} | {"index": "index"}
    for length in (2, 1):
        if name := shells.get(" ".join(words[:length])):
            return _call(describe(name), words[length:]) if words[length:] else f"rote.{name}"
    return ""


def _shell_of(room: str, member: str) -> str:
    return f"index {member}" if room == "cli.index" else " ".join(words_of(member))


def _call(described: Described, words: Sequence[str]) -> str:
    fields_of: dict[str | None, tuple[str, str]] = {}
    for name, (field, hint) in described.keywords.items():
        flags = [f"--{name.replace('_', '-')}", f"--no-{name.replace('_', '-')}"]
        for flag in (*flags, field.metadata.get("short"), field.metadata.get("also")):
            fields_of.setdefault(flag, (name, hint))
    inputs: list[str] = []
    given: dict[str, list[str]] = {}
    shown, left = "", list(words)
    while left:
        word = left.pop(0)
        if word in fields_of:
            name, hint = fields_of[word]
            if hint == "bool":
                given[name] = [str(not word.startswith("--no-"))]
            else:
                value = left.pop(0) if left else "..."
                given.setdefault(name, []).append(_literal(value, hint))
        elif (
            word in ("-o", "--output") and "write" in described.keywords and left[0].endswith(LINES)
        ):
            given["write"] = [_literal(left.pop(0), "")]  # records in lines, beside the result
        elif word in _SHOWN and "Result" in described.returns:
            taken = _literal(left.pop(0), "") if "{}" in _SHOWN[word] else ""
            shown = _SHOWN[word].format(taken) or shown
        elif word in ("|", ">", ">>") or (word.startswith("-") and word != "-"):
            return ""
        else:
            inputs.append(word)
    said = [*_positional(described, inputs)]
    for name, values in given.items():
        several = f"[{', '.join(values)}]"
        said.append(f"{name}={values[0] if len(values) == 1 else several}")
    return f"rote.{described.name}({', '.join(said)}){shown}"


def _positional(described: Described, words: Sequence[str]) -> list[str]:
    """Inputs as they are given in Python: in a list, strings are texts, and files are paths."""
    if any(one.kind is Parameter.VAR_POSITIONAL for one in described.inputs):
        return [_literal(word, "") for word in words]
    count = len(described.inputs)
    first, rest = list(words[: count - 1]), list(words[count - 1 :])
    made = [_literal(word, "") for word in first]
    if len(rest) == 1:
        made += [_literal(rest[0], "")]
    elif rest:
        form = "Path({})" if described.inputs[-1].annotation == "Input" else "{}"
        made.append(f"[{', '.join(form.format(_literal(word, '')) for word in rest)}]")
    return made


def _literal(word: str, hint: str) -> str:
    if word == "...":
        return word
    number = _NUMBER.fullmatch(word) and re.search(r"\b(int|float)\b", hint)
    return word if number else json.dumps(word, ensure_ascii=False)
