"""Put the library that ``ONLINEAR_LIBRARY`` names into a wheel; without it, the wheel is pure.

``native/build.py`` builds the library; ``just wheels`` runs ``native/build.py`` and then builds the
wheel. A pure wheel runs everywhere and needs no compiler to install: Numba compiles when a function
is first called.
"""

import os
import re
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LibraryHook(BuildHookInterface):
    """The build hook that hatchling calls before it builds a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the compiled library to the wheel, and say for which machines the wheel is."""
        library = os.environ.get("ONLINEAR_LIBRARY")
        if not library or version == "editable":
            return
        platform = _platform(Path(library))
        suffix = ".pyd" if platform.startswith("win") else ".abi3.so"
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"
        build_data["force_include"][library] = f"onlinear/_native{suffix}"


def _platform(library: Path) -> str:
    """Return the part of a wheel's name that says for which systems it is.

    A library that needs nothing newer than version 2.17 of the GNU C library runs on all Linux
    systems on which NumPy's wheels do.
    """
    platform = re.sub("[-.]", "_", sysconfig.get_platform())
    versions = re.findall(rb"GLIBC_(\d+)\.(\d+)", library.read_bytes())
    newest = max(((int(major), int(minor)) for major, minor in versions), default=None)
    if platform.startswith("linux") and newest is not None and newest <= (2, 17):
        return platform.replace("linux", "manylinux_2_17")
    return platform
