"""What a number depends on, in one line that is printed beside it.

Two results with the same signature are the same numbers: it names a fingerprint of all data that
went in (texts and whose they are, items, corpora, results, answers of models). Whatever cannot
change a value (jobs, output format) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from rote.core.distribution import version


@dataclass(frozen=True, slots=True)
class Signature:
    """Ordered name -> setting pairs; printed as `name:setting|name:setting`."""

    settings: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Signature:
        """From names and values; the version of rote is added at the end."""
        pairs = [(name, _format_value(value)) for name, value in settings.items()]
        return cls((*pairs, ("rote", version())))

    def with_setting(self, name: str, value: Any) -> Signature:
        """The same with one setting more, before the version of rote."""
        *settings, last = self.settings
        return Signature((*settings, (name, _format_value(value)), last))

    @classmethod
    def parse(cls, line: str) -> Signature:
        """The reverse of `str()`."""
        pairs = (part.partition(":") for part in line.split("|"))
        return cls(tuple((name, setting) for name, _, setting in pairs))

    def __str__(self) -> str:
        return "|".join(f"{name}:{setting}" for name, setting in self.settings)


def option_settings(options: Any) -> dict[str, Any]:
    """The fields of an options dataclass as signature settings.

    Where a variant goes by another setting than the one that was given, the options' own `signed`
    says which: a signature tells what was done.
    """
    settings = {}
    for field in fields(options):
        value = getattr(options, field.name)
        sign = field.metadata.get("sign")
        if (signed := sign(value) if sign else value) is not None or sign is None:
            settings[field.name] = signed
    decided: Mapping[str, Any] = getattr(options, "signed", dict)()
    return {name: decided.get(name, signed) for name, signed in settings.items()}


def _format_value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(_format_value(item) for item in value)
    # The separator must not occur inside a setting, or the line could not be read back; nor may
    # a line end there.
    return str(value).replace("|", "/").replace("\r", r"\r").replace("\n", r"\n")
