"""The errors of measuring and of reading measurement files; each message is one line that says what, where and what to do."""

from __future__ import annotations


class MeasureError(Exception):
    """Base of every error that `measure` raises on purpose."""


class SchemaError(MeasureError):
    """A measurement file that is missing, unreadable or breaks the schema.

    `path` is the place inside of the document (`$.ladders.gemm_fp32.rungs[3].rate.value`), `$` when it is the whole file.
    """

    def __init__(self, message: str, path: str = "$") -> None:
        super().__init__(message)
        self.path = path


class DatasetKeyError(MeasureError):
    """A key that no measurement file could hold: a misspelt field, or a place that holds no quantity."""


class NoGPUError(MeasureError):
    """There is no GPU that can be measured here, or its driver is missing."""


class Unsupported(MeasureError):
    """A subject that this GPU, its driver or its software cannot run; the message says why."""


class VerificationError(MeasureError):
    """A kernel whose result is wrong, where no figure makes sense without it."""


class OutputError(MeasureError):
    """A file that cannot be written."""
