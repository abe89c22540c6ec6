"""How a model is run: what the backends have in common."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from rote.core import plugins
from rote.core.errors import OptionError
from rote.core.metric import MOST_JOBS, check_options, option
from rote.core.model import Model
from rote.core.progress import Reporter

DEVICES = ("auto", "cpu", "cuda", "mps", "balanced")
TYPES = ("auto", "float32", "bfloat16", "float16", "4bit")


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Flags of every command that asks a model. None of them is in a signature, except what
    changes the numbers (`dtype`)."""

    SECTION: ClassVar[str] = "How the model runs"
    SHARED: ClassVar[bool] = True
    device: str = option(
        "auto", "Device of a transformers model: auto, cpu, cuda, mps; balanced: over all GPUs"
    )
    dtype: str = option(
        "auto",
        "Precision of such a model: auto, float32, bfloat16, float16, 4bit (if available)",
    )
    batch: int = option(8192, "Tokens in one batch, padding included", least=1, most=2**24)
    threads: int = option(0, "Threads for a numpy model; 0: one per core", least=0, most=MOST_JOBS)
    key_variable: str = option(
        "OPENAI_API_KEY",
        "Environment variable with the key of an endpoint; the key itself is never written",
        metavar="NAME",
    )
    rate: float = option(0.0, "Maximum requests per minute to an endpoint; 0: no limit", least=0)
    price: tuple[float, float] | None = option(
        None, "Price of an endpoint per million tokens read and written: the cost is shown first"
    )
    yes: bool = option(False, "Do not ask for confirmation before incurring costs")

    def __post_init__(self) -> None:
        check_options(self)
        # Also where the model takes no notice of them: a slip is not passed over in silence.
        for name, value, known in (("device", self.device, DEVICES), ("dtype", self.dtype, TYPES)):
            if value not in known:
                raise OptionError(f"{name} can be {', '.join(known)}, not '{value}'")


def run_option(name: str) -> Any:
    """A flag of models among the options of a measure. Signatures name the model, which says what
    its numbers depend on."""
    model_field = next(entry for entry in fields(ModelOptions) if entry.name == name)

    def signed(value: Any) -> Any:
        return value if name == "dtype" and value != model_field.default else None

    help = model_field.metadata["help"]
    more = {"help": help[0].lower() + help[1:], "form": False, "common": False, "sign": signed}
    return field(default=model_field.default, metadata={**model_field.metadata, **more})


def how_to_run(options: Any) -> ModelOptions:
    """The flags of models that stand among the options of a measure."""
    names = [entry.name for entry in fields(ModelOptions) if hasattr(options, entry.name)]
    return ModelOptions(**{name: getattr(options, name) for name in names})


def open_model(spec: str, options: ModelOptions, reporter: Reporter) -> Model:
    """The model of a name such as `transformers:gpt2`; a bare folder is run by numpy."""
    backend, colon, name = spec.partition(":")
    if (Path(spec) / "config.json").is_file():
        backend, colon, name = "numpy", ":", spec
    if not colon:
        raise OptionError(
            f"'{spec}' is not the folder of a model. Name the backend that runs it: "
            f"numpy:FOLDER, gguf:FILE, transformers:{spec}, openai:URL#{spec}, "
            f"openai-chat:URL#{spec}, index:FOLDER"
        )
    if not name and not backend.startswith("openai"):
        raise OptionError(f"'{spec}' names no model: {backend}:NAME")
    model: Model = plugins.load("models.backends", backend).open_model(name, options, reporter)
    return model
