"""Put the library that ``ONLINEAR_LIBRARY`` names into a wheel; without it, the wheel is pure.

``native/build.py`` builds the library; ``just wheels`` runs it and then builds the wheel. A pure
wheel runs everywhere and needs no compiler to install: Numba compiles when a function is first
called.
"""

import os
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LibraryHook(BuildHookInterface):
    """What hatchling calls before it builds a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library, and say for which machines the wheel is."""
        library = os.environ.get("ONLINEAR_LIBRARY")
        if not library or version == "editable":
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        suffix = ".pyd" if platform.startswith("win") else ".abi3.so"
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"
        build_data["force_include"][library] = f"onlinear/_native{suffix}"
