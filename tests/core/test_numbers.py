"""Numbers that people read are written by one formatter, which never signs a zero."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import rote
from rote.core.numbers import format_number
from rote.core.table import Column
from rote.report.cells import format_cell_number

SOURCE = Path(rote.__file__).resolve().parent
GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "kept"
RESULTS = ("compare", "measure", "report", "search", "studies", "web/pages", "web/routes")
"""The rooms that write results; elsewhere there are sizes and durations, which have no sign."""
SIGNED_ZERO = re.compile(r"(?<![\w.,/-])[-−+]0(\.0+)?(?![\w.,]| of )")
SPECS = st.builds(
    "{}{}.{}{}".format,
    st.sampled_from(["", "+"]),
    st.sampled_from(["", ","]),
    st.integers(0, 6),
    st.sampled_from("fe%"),
)


@example(number=-0.0, spec=".2f")
@example(number=-0.004, spec="+.2f")
@example(number=-1e-9, spec=".0%")
@given(number=st.floats(allow_nan=False, allow_infinity=False), spec=SPECS)
def test_a_number_is_as_python_writes_it_but_for_the_sign_of_a_zero(
    number: float, spec: str
) -> None:
    text, plain = format_number(number, spec), format(number, spec)
    zero = Decimal(plain.replace(",", "").rstrip("%")) == 0
    assert text == (plain.lstrip("+-") if zero else plain)
    assert format_number(number, spec, typeset=True).replace("−", "-") == text


@given(
    number=st.floats(-2, 2),
    kind=st.sampled_from(["number", "share", "count"]),
    decimals=st.sampled_from([None, 1, 2]),
    model=st.sampled_from([None, 0.5, 12.0]),
)
def test_no_cell_of_a_table_signs_a_zero(
    number: float, kind: str, decimals: int | None, model: float | None
) -> None:
    column = Column("", kind=kind, decimals=decimals, signed=True)  # type: ignore[arg-type]
    text = format_cell_number(number, column, model)
    assert (text[0] in "+-") == (Decimal(text.rstrip("%")) != 0)


def test_undefined_numbers_keep_what_they_are() -> None:
    assert [format_number(float(name), "+.2f") for name in ("nan", "inf", "-inf")] == [
        "+nan",
        "+inf",
        "-inf",
    ]


def float_formats(path: Path) -> Iterator[str]:
    """The places of a file where a float is formatted by Python's own hand."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            spec = ast.unparse(node.format_spec)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            spec = " ".join(re.findall(r"\{:[^}]*\}|%[+.\d]+[fge]", node.value))
        else:
            continue
        if re.search(r"\+|\.(\d|\{.*\})+[fge]", spec):
            yield f"{path.relative_to(SOURCE)}: {ast.unparse(node)}"


@pytest.mark.parametrize("room", RESULTS)
def test_results_are_written_by_the_one_formatter(room: str) -> None:
    assert [place for path in (SOURCE / room).rglob("*.py") for place in float_formats(path)] == []
    pages = list((SOURCE / room).rglob("*.html"))
    assert [path.name for path in pages if re.search(r'\{:[^}"]*\.', path.read_text())] == []


@pytest.mark.parametrize("kept", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_nothing_that_is_shown_holds_a_signed_zero(kept: Path) -> None:
    lines = kept.read_text(encoding="utf-8").replace("\\+", "+").replace("\\-", "-").splitlines()
    assert [line for line in lines if SIGNED_ZERO.search(line)] == []
