"""How input is read: the settings that every reader shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from rote.core.metric import check_options


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The flags of reading; the help texts are those of the command line."""

    SECTION: ClassVar[str] = "Reading"
    text_field: str | None = field(
        default=None, metadata={"help": "field that holds the text (guessed when not given)"}
    )
    id_field: str | None = field(
        default=None, metadata={"help": "field that holds the id (guessed when not given)"}
    )
    prompt_field: str | None = field(
        default=None, metadata={"help": "field that holds the prompt; kept as meta 'prompt'"}
    )
    format: str | None = field(
        default=None, metadata={"help": "reader by name, e.g. jsonl or text (else by suffix)"}
    )
    plain: Literal["file", "line", "paragraph"] = field(
        default="file", metadata={"help": "plain text: one document per file, line or paragraph"}
    )
    strip_prompt: bool = field(
        default=False, metadata={"help": "remove an echoed prompt from the start of each text"}
    )
    on_error: Literal["stop", "skip"] = field(
        default="stop", metadata={"help": "stop at bad input, or skip it and list what was skipped"}
    )
    encoding: str = field(default="utf-8", metadata={"help": "encoding of text, JSON and CSV"})

    def __post_init__(self) -> None:
        check_options(self)
