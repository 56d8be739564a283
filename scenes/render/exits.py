"""How a module that is run by itself ends: bad input and failed runs are told in one line, as the command line does it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import av.error

from audio.decode import DecodeError
from audio.timeline import TimelineError
from audio.tracks import TrackError
from measure.errors import MeasureError
from scenes.film import UnknownSceneError
from scenes.render.errors import RenderError, RequestError


@contextlib.contextmanager
def exits() -> Iterator[None]:
    """Around such a module's work: exit code 2 for bad input, 1 for a failed run, 130 after Ctrl-C."""
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
