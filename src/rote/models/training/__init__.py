"""Training of summarizers with torch (extra `lm`). Nothing here needs more than numpy, torch and
transformers, so that a recipe can run it on a machine that has nothing else.
"""

from __future__ import annotations
