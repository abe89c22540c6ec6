"""Compiles all kernels into the package while it is built, so that no first call waits for them.

They are for the processor at hand; NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name another, for wheels
that are to serve many. ROTE_KERNELS=later leaves them out: then each is compiled at its first use.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileKernels(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        source = Path(self.root) / "src"
        folder = source / "rote" / "compiled"
        if os.environ.get("ROTE_KERNELS") == "later":
            shutil.rmtree(folder, ignore_errors=True)
            return
        self.app.display_info("compiling the kernels that are not yet, a minute or two at first")
        code = f"import sys; sys.path.insert(0, {str(source)!r}); from rote.run import _ahead"
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
        call = [sys.executable, "-c", f"{code}; _ahead.build()"]
        subprocess.run(call, env=environment, check=True)
        # They serve one version of Python on one kind of machine.
        build_data |= {"pure_python": False, "infer_tag": True}
