"""Run compiled functions as plain Python."""

from types import CellType, FunctionType


def python(function, done):
    """Return the function with every compiled function it reaches replaced by its source."""
    if function in done:
        return done[function]
    names: dict = {}

    def source(value):
        return python(value.py_func, done) if hasattr(value, "py_func") else value

    cells = tuple(CellType(source(cell.cell_contents)) for cell in function.__closure__ or ())
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    done[function] = copy
    for name, value in function.__globals__.items():
        names[name] = source(value)
    return copy
