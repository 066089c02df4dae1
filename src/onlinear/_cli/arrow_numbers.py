"""Conversion of numbers between Arrow and NumPy arrays by way of their memory buffers.

pyarrow's own conversions import pandas if it is installed, and this import takes a third of the
time that the ``onlinear`` command takes for a small file.
"""

import numpy as np
import pyarrow as pa

__all__ = ["array_of", "floats"]


def floats(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column as an array of floats, with NaN where a value is missing."""
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    return np.concatenate([np.empty(0), *map(_chunk, column.chunks)])


def _chunk(chunk: pa.Array) -> np.ndarray:
    first, end = chunk.offset, chunk.offset + len(chunk)
    validity, data = chunk.buffers()
    if not len(chunk):
        return np.empty(0)
    values = np.frombuffer(data, np.float64, end)[first:]
    if not chunk.null_count:
        return values
    bits = np.frombuffer(validity, np.uint8)
    valid = np.unpackbits(bits, count=end, bitorder="little")[first:]
    return np.where(valid.astype(bool), values, np.nan)


def array_of(values: np.ndarray) -> pa.Array:
    """Return integers or floats as an Arrow array, with a null for each NaN."""
    values = np.ascontiguousarray(values)
    valid = None
    if values.dtype == np.float64:
        valid = pa.py_buffer(np.packbits(~np.isnan(values), bitorder="little"))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(values)])
