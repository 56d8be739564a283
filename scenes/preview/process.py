"""The preview's processes as the server sees them: one stands ready with its libraries imported, each does one command."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 3.0  # seconds that a process has to end by itself


class Child:
    """A process in a session of its own, so that it and all that it starts end together."""

    def __init__(self) -> None:
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "scenes.preview.child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            encoding="utf-8", start_new_session=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )  # fmt: skip
        self._used = False

    def run(self, command: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Send the one command, and yield what is told; a process that dies tells an `error` at last."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        ended, self._used = False, True
        with contextlib.suppress(OSError):
            stdin.write(json.dumps(command) + "\n")
            stdin.flush()
        with stdout:
            for line in stdout:
                body: dict[str, Any] = json.loads(line)
                ended = ended or "end" in body or "error" in body
                yield body
        with contextlib.suppress(OSError):
            stdin.close()
        code = self._process.wait()
        if not ended:
            yield {"error": f"the process that was to {command['do']} died (exit code {code})", "trace": ""}

    def kill(self) -> None:
        """End it and all that it has started; again, or late, does nothing."""
        if self._process.poll() is None:
            for sign in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, sign)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(PATIENCE)
                    break
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None and not self._used:
                pipe.close()
