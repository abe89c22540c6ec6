"""Language models: log-probabilities and generation, whoever runs the model.

A file in `backends/` is a backend, known by its name: `transformers:gpt2`,
`openai:http://localhost:8000/v1#name`, `numpy:FOLDER`. The contract they fulfil is
`core.model.Model`; `answers` puts many questions to any of them. `index:FOLDER` is opened one
level further down (`search.model.open_models`), since models and indexes do not know each other.
"""

from __future__ import annotations
