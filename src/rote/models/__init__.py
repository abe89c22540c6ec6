"""Language models: a file in `backends/` runs them, known by its name (`transformers:gpt2`), and
fulfils `core.model.Model`; `answers` puts many questions to any of them. `index:FOLDER` is opened
in `search.open_models`, since models and indexes do not know each other.
"""

from __future__ import annotations
