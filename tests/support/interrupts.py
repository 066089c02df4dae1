"""Raise KeyboardInterrupt at chosen lines of the package, as signals at such moments would."""

import linecache
import sys
from pathlib import Path

import onlinear

ROOT = str(Path(onlinear.__file__).parent)


def interrupted(act, moments):
    """Act, and raise KeyboardInterrupt at the lines of these numbers; return how many came.

    Lines are counted as they are executed. Python raises no interrupt where a lock is taken or
    released: those lines do not count. Nor do those of Numba, NumPy and other packages.
    """
    left, line = list(moments), 0

    def trace(frame, event, _):
        nonlocal line
        if not frame.f_code.co_filename.startswith(ROOT):
            return None
        if event == "line":
            text = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
            if left and "_lock" not in text:
                line += 1
                if line == left[0]:
                    del left[0]
                    raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return len(moments) - len(left)
