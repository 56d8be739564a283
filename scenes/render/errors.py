"""The errors of rendering; each message is one line that says what, where and what to do."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator


class RenderError(RuntimeError):
    """A render that failed: a worker that died, a scene that raised, a file that does not hold what was drawn.

    `trace` is the whole traceback where a scene raised; the message is one line.
    """

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


class RequestError(ValueError):
    """A request that cannot be met: an output that cannot be written, a bar outside of its scene, a bad file name."""


@contextlib.contextmanager
def exits() -> Iterator[None]:
    """Around a module that is run by itself: what fails is one line, with exit code 2 for bad input and 1 for a failed run.

    The command line does as much for its verbs.
    """
    import av.error

    from audio.decode import DecodeError
    from audio.timeline import TimelineError
    from audio.tracks import TrackError
    from measure.errors import MeasureError
    from scenes.film import UnknownSceneError

    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)
    except (RequestError, MeasureError, TrackError, TimelineError, DecodeError, UnknownSceneError) as error:
        code, told = 2, str(error)
    except RenderError as error:
        code, told = 1, str(error)
    except av.error.FFmpegError as error:
        code, told = 2, f"{error.filename}: cannot be read as a film: {(error.strerror or 'unknown reason').lower()}"
    else:
        return
    print(" ".join(told.split()), file=sys.stderr)
    sys.exit(code)
