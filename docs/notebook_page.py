"""A notebook as a page of the site: its cells run, with what they print and draw."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any


def page(notebook: Path, figures: Path) -> str:
    """The notebook as Markdown; figures go to a folder beside the page."""
    names: dict[str, Any] = {}
    parts = []
    for number, cell in enumerate(json.loads(notebook.read_text(encoding="utf-8"))["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        printed, value = ran(source, names)
        parts.append(f"```python\n{source}\n```")
        if hasattr(value, "to_dict") and hasattr(value, "mark_point"):  # a chart of altair
            figures.mkdir(parents=True, exist_ok=True)
            name = f"{notebook.stem}-{number}.svg"
            value.save(figures / name)
            parts.append(f"![]({figures.name}/{name})")
        elif value is not None:
            printed += str(value)
        if printed:
            parts.append(f"```text\n{printed.rstrip()}\n```")
    parts.append(f"[Download this notebook]({notebook.name})")
    return "\n\n".join(parts) + "\n"


def ran(source: str, names: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    return printed.getvalue(), value
