"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from measure.errors import OutputError


def write_text(path: Path, text: str) -> Path:
    """Write UTF-8 beside the place and rename.  Raises OutputError where it cannot be written."""
    return write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> Path:
    """Write beside the place and rename.  Raises OutputError where it cannot be written."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None
    return path
