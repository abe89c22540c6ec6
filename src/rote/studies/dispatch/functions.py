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
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from rote.core import plugins
from rote.core.errors import InputError, MissingExtra, RoteError, check_options_known
from rote.core.metric import Metric, at_a_glance
from rote.core.progress import Silent
from rote.core.record import LINES, Study
from rote.core.registry import find, functions, module_of, words_of
from rote.studies.dispatch.driver import build_options, field_default, option_kinds, run_command

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
class CommandFunction:
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
        fields_and_hints = option_keywords(list(self.kinds.values()), self.without)
        return {field.name: (field, hint) for field, hint in fields_and_hints}


@cache
def describe(name: str) -> CommandFunction:
    room, member = functions()[name]
    if not room.startswith("cli."):
        record = find(member)
        input_name, hint = _INPUTS["texts" if isinstance(record, Metric) else record.takes]
        shared = {str(number): kind for number, kind in enumerate(option_kinds(record))}
        inputs = [Parameter(input_name, Parameter.POSITIONAL_ONLY, annotation=hint)]
        words, help = _shell_words(room, member), command_help(record)
        run = functools.partial(run_command, member)
        return CommandFunction(name, words, help, inputs, shared, record.without, "Result", run)
    words, loaded = _shell_words(room, member), plugins.load(room, member)
    # Of commands that share a file the member is the command, else the module that holds it.
    command = getattr(loaded, "command", loaded)
    module = import_module(f"rote.{room}") if command is loaded else loaded
    work, flags = getattr(module, name), {flag.name for flag in command.params}
    signature = inspect.signature(work)
    parameters = signature.parameters.items()
    classes = {parameter: vars(module).get(p.annotation) for parameter, p in parameters}
    options = {parameter: kind for parameter, kind in classes.items() if is_dataclass(kind)}
    every = [field.name for kind in options.values() for field in fields(kind)]
    inputs = [
        p if p.kind is Parameter.VAR_POSITIONAL else p.replace(kind=Parameter.POSITIONAL_ONLY)
        for parameter, p in parameters
        if parameter not in options and parameter != "reporter"
    ]
    left_out = [option for option in every if option not in flags or option in _SHELL_ONLY]
    help = command.help or ""
    returns = str(signature.return_annotation)
    return CommandFunction(name, words, help, inputs, options, left_out, returns, work)  # type: ignore[arg-type]


@cache
def command_function(name: str) -> Callable[..., Any]:
    """The function of a command, by the name that Python has for it."""
    described = describe(name)
    texts = {place for place, p in enumerate(described.inputs) if p.annotation == "Input"}

    def call(*inputs: Any, **keywords: Any) -> Any:
        signature.bind(*inputs)
        check_options_known(keywords, described.keywords)
        inputs = tuple(refuse_text(x) if n in texts else x for n, x in enumerate(inputs))
        if isinstance(described.work, functools.partial):
            return described.work(*inputs, keywords)
        options = build_options(list(described.kinds.values()), keywords)
        more = {parameter: options[kind] for parameter, kind in described.kinds.items()}
        if "reporter" in inspect.signature(described.work).parameters:
            more["reporter"] = Silent()
        return described.work(*inputs, **more)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "rote"
    call.__doc__ = documentation(name)
    parameters = [
        Parameter(keyword, Parameter.KEYWORD_ONLY, default=field_default(field), annotation=hint)
        for keyword, (field, hint) in described.keywords.items()
    ]
    signature = inspect.Signature(
        [*described.inputs, *parameters], return_annotation=described.returns
    )
    call.__signature__ = signature  # type: ignore[attr-defined]
    return translate_errors(call)


def option_keywords(
    kinds: Sequence[type], without: Sequence[str] = ()
) -> list[tuple[Field[Any], str]]:
    """The fields of some kinds of options, and what may be given for each; one that several have is
    taken once."""
    by_name: dict[str, tuple[Field[Any], str]] = {}
    for kind in kinds:
        hints = get_type_hints(kind)
        for field in fields(kind):
            if field.name in without:
                continue
            opened = field.metadata.get("opened")
            annotation = "Any" if opened else _format_type(hints[field.name])
            annotation += " | str" * bool(field.metadata.get("size"))
            by_name.setdefault(field.name, (field, annotation))
    return list(by_name.values())


def _format_type(hint: Any) -> str:
    """A type as a stub has it: a string is as good as a tuple of one, or as a Path."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_format_type, arguments)))
    if origin is tuple and arguments[-1] is ...:
        item = _format_type(arguments[0])
        return f"Sequence[{item}] | " + (item if "str" in item else f"{item} | str")
    if origin is not None:
        listed = ", ".join(_format_type(a) if isinstance(a, type) else repr(a) for a in arguments)
        return f"{origin.__name__ if origin is tuple else 'Literal'}[{listed}]"
    return {types.NoneType: "None", Path: "str | Path"}.get(hint) or hint.__name__


def command_help(record: Metric | Study) -> str:
    """What the record's file says of it; a measure's with a call, where it shows none."""
    text = (module_of(record.name).__doc__ or "").strip()
    if isinstance(record, Study) or re.search(rf"^  rote {record.name} ", text, re.M):
        return text
    needed = [field for field in fields(record.options) if field.metadata.get("needed")]
    more = "".join(f" --{field.name} {field.metadata['metavar']}" for field in needed)
    return f"{text}\n\n\b\n  rote {record.name} stories.jsonl --by source --reference human{more}"


def documentation(name: str) -> str:
    """The help of the command with its calls in Python, the keywords that most people set, and the
    others."""
    described = describe(name)
    text = described.help.replace("\b\n", "").replace(" \\\n", " ")
    examples: list[str] = []
    for line in re.findall(r"^  rote .*\n?", text, re.M):
        text = text.replace(line, "\x00" if not examples else "", 1)
        examples.append(to_python_call(re.sub(r"\s+", " ", line).strip()))
    statements = [call if "(" in call else f"{call}()" for call in dict.fromkeys(examples) if call]
    calls = "".join(f"    >>> {call}\n" for call in statements)
    text = re.sub(r"\n{3,}", "\n\n", text.replace("\x00", calls)).strip()
    glance = at_a_glance(list(described.kinds.values()), described.without)
    lines: dict[bool, list[str]] = {True: [], False: []}
    for keyword, (field, _) in described.keywords.items():
        lines[keyword in glance].append(f"    {keyword}: {field.metadata['help']}")
    usual, rest = ("\n".join(some) for some in lines.values())
    hints = {keyword: hint for keyword, (_, hint) in described.keywords.items()}
    return to_python(f"{text}\n\nKeywords:\n{usual}\n\nFurther keywords:\n{rest}\n", hints)


IMPLIED = ("corpus", "corpus_read")
"""Keywords of `rote.trace` that its method of an index has no need of."""


def write_stub(name: str, without: Sequence[str] = ()) -> str:
    """One function as `__init__.pyi` has it."""
    described, parameters = describe(name), []
    for parameter in described.inputs:
        several = "*" * (parameter.kind is Parameter.VAR_POSITIONAL)
        default = " = ..." * (parameter.default is not Parameter.empty)
        parameters.append(f"{several}{parameter.name}: {parameter.annotation}{default}")
    if not any("*" in parameter for parameter in parameters):
        parameters += ["/", "*"] if parameters else ["*"]
    for keyword, (_, hint) in described.keywords.items():
        parameters += [f"{keyword}: {hint} = ..."] if keyword not in without else []
    if parameters[-1] == "*":
        parameters.pop()
    return f"def {name}({', '.join(parameters)}) -> {described.returns}: ...\n"


def refuse_text(inputs: Any) -> Any:
    """A text in the place of a path is an error that says what to do."""
    if isinstance(inputs, str) and len(inputs.split()) > 1 and not Path(inputs[:4096]).exists():
        short_inputs = inputs if len(inputs) <= 60 else f"{inputs[:60]}…"
        raise InputError(
            "no such file",
            file=short_inputs,
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
FLAG_VALUES = (
    "all each exact float32 ids index json jsonl line log paper paragraph patterns pos sentence "
    "skip source text texts trees"
).split()
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


def translate_errors(call: Callable[..., Any]) -> Callable[..., Any]:
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
            _translate(error, {parameter: str(p.annotation) for parameter, p in parameters.items()})
            raise

    spoken.__module__ = "rote"
    return spoken


def _translate(error: RoteError, hints: Mapping[str, str]) -> None:
    for name in ("problem", "remedy", "purpose", "kind"):
        if isinstance(text := getattr(error, name, None), str):
            setattr(error, name, to_python(text, hints))
    if not isinstance(error, MissingExtra):  # whose arguments are names
        error.args = tuple(to_python(x, hints) if isinstance(x, str) else x for x in error.args)


def to_python(text: str, hints: Mapping[str, str] | None = None) -> str:
    """Flags as keywords, calls of `rote` as those of functions; `hints` are types by keyword.

    >>> to_python("--on-error skip leaves out such records; `rote index merge IDX` joins them")
    "on_error='skip' leaves out such records; `rote.index_merge('IDX')` joins them"
    """
    known = hints or {}

    def call(match: re.Match[str]) -> str:
        line = match[1] or match[2]
        code = to_python_call(line)
        return match[0].replace(line, code.replace('"', "'")) if code else match[0]

    def quoted(match: re.Match[str]) -> str:
        parts, words = [], match[1].split()
        for word, value in zip(words, [*words[1:], "--"]):
            if word.startswith("--"):
                name = word[2:].replace("-", "_")
                parts.append(name if value.startswith("--") else f"{name}={_quote_value(value)}")
        return f"`{', '.join(parts)}`"

    def keyword(match: re.Match[str]) -> str:
        if "pip install" in text[: match.start()]:
            return match[0]
        flag, value = match["flag"], match["value"] or ""
        name = _SHORT.get(flag) or flag[2:].replace("-", "_")
        hint, set_to = known.get(name, ""), "True"
        if name not in known and name.startswith("no_") and known.get(name[3:]) == "bool":
            name, hint, set_to = name[3:], "bool", "False"
        rest = f"{match['gap'] or ''}{value}"
        if value and _is_value(value, hint):
            return f"{name}={_quote_value(value)}"
        name = name if name in known else _METHODS.get(name, name)
        return (f"{name}={set_to}" if hint == "bool" else name) + rest

    return _FLAG.sub(keyword, _QUOTED.sub(quoted, _CALL.sub(call, text)))


def _quote_value(value: str) -> str:
    return value if value[0] in "'\"" or _NUMBER.fullmatch(value) else repr(value)


def _is_value(word: str, hint: str) -> bool:
    """Whether the word after a flag is what is given with it, and not the sentence's next."""
    if word[0] in "'\"" or re.search(r"[\d=:/,]|\w\.\w", word) or word in FLAG_VALUES:
        return True
    return (word.isupper() and len(word) > 1) or f"'{word}'" in hint


def to_python_call(line: str) -> str:
    """A call at the shell as one of Python; nothing where it has none, or does more than call.

    >>> to_python_call("rote lexical stories.jsonl --by source --window 40 -o result.json")
    'rote.lexical("stories.jsonl", by="source", window=40).save("result.json")'
    """
    try:
        words = shlex.split(re.sub(r"\s+# .*", "", line))[1:]
    except ValueError:
        return ""
    shells = {_shell_words(*entry): name for name, entry in functions().items()}
    shells["index"] = "index"
    for length in (2, 1):
        if name := shells.get(" ".join(words[:length])):
            return _build_call(describe(name), words[length:]) if words[length:] else f"rote.{name}"
    return ""


def _shell_words(room: str, member: str) -> str:
    return f"index {member}" if room == "cli.index" else " ".join(words_of(member))


def _build_call(described: CommandFunction, words: Sequence[str]) -> str:
    fields_of: dict[str | None, tuple[str, str]] = {}
    for name, (field, hint) in described.keywords.items():
        flags = [f"--{name.replace('_', '-')}", f"--no-{name.replace('_', '-')}"]
        for flag in (*flags, field.metadata.get("short"), field.metadata.get("also")):
            fields_of.setdefault(flag, (name, hint))
    inputs: list[str] = []
    keywords: dict[str, list[str]] = {}
    phrase, remaining, writes = "", list(words), "write" in described.keywords
    while remaining:
        word = remaining.pop(0)
        if word in fields_of:
            name, hint = fields_of[word]
            if hint == "bool":
                keywords[name] = [str(not word.startswith("--no-"))]
            else:
                value = remaining.pop(0) if remaining else "..."
                keywords.setdefault(name, []).append(_literal(value, hint))
        elif word in ("-o", "--output") and writes and remaining[0].endswith(LINES):
            # Records in lines, beside the result.
            keywords["write"] = [_literal(remaining.pop(0), "")]
        elif word in _SHOWN and "Result" in described.returns:
            argument = _literal(remaining.pop(0), "") if "{}" in _SHOWN[word] else ""
            phrase = _SHOWN[word].format(argument) or phrase
        elif word in ("|", ">", ">>") or (word.startswith("-") and word != "-"):
            return ""
        else:
            inputs.append(word)
    arguments = [*_positional_arguments(described, inputs)]
    for name, values in keywords.items():
        several = f"[{', '.join(values)}]"
        arguments.append(f"{name}={values[0] if len(values) == 1 else several}")
    return f"rote.{described.name}({', '.join(arguments)}){phrase}"


def _positional_arguments(described: CommandFunction, words: Sequence[str]) -> list[str]:
    """Inputs as they are given in Python: in a list, strings are texts, and files are paths."""
    if any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in described.inputs):
        return [_literal(word, "") for word in words]
    literals = [_literal(word, "") for word in words]
    first = len(described.inputs) - 1
    if len(rest := literals[first:]) > 1:
        form = "Path({})" if described.inputs[-1].annotation == "Input" else "{}"
        return [*literals[:first], f"[{', '.join(map(form.format, rest))}]"]
    return literals


def _literal(word: str, hint: str) -> str:
    if word == "...":
        return word
    number = _NUMBER.fullmatch(word) and re.search(r"\b(int|float)\b", hint)
    return word if number else json.dumps(word, ensure_ascii=False)
