"""Compiles the kernels into the package while it is built, so that no first call waits for them.

They are for the processor at hand; NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name another, for wheels
that are to serve many. ROTE_KERNELS=later leaves them out: then each is compiled at its first use.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileKernels(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if os.environ.get("ROTE_KERNELS") == "later":
            return
        self.app.display_info("compiling the kernels that are not yet, a minute or two at first")
        # PYTHONPATH leads to what the build requires, where pip builds in its own environment.
        path = [str(Path(self.root) / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        call = [sys.executable, "-m", "rote.core.precompile"]
        subprocess.run(call, env=environment, check=True)
        build_data["artifacts"] += [f"src/rote/compiled/**/{name}" for name in _COMPILED]
        # They serve one version of Python on one kind of machine.
        build_data |= {"pure_python": False, "infer_tag": True}


_COMPILED = ("*.nbi", "*.nbc", "target.json")
