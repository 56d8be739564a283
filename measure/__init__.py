"""Measuring a GPU, and reading measurement files.  Importing this package needs no GPU and no CuPy."""

from measure.errors import (
    DatasetKeyError,
    MeasureError,
    NoGPUError,
    OutputError,
    SchemaError,
    VerificationError,
)

__all__ = [
    "DatasetKeyError",
    "MeasureError",
    "NoGPUError",
    "OutputError",
    "SchemaError",
    "VerificationError",
]
