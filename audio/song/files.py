"""Sound files: WAV by the standard library, Opus by PyAV; whole or not at all, the same bytes every time."""

from __future__ import annotations

import os
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from audio.decode import RATE

OPUS_RATE = 160_000  # bits a second: listening tests find no difference from the original at 128 000; peaks are truer at this


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place if the block ends well, and vanishes if it does not."""
    part = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_wav(samples: NDArray[np.int16], path: Path) -> None:
    """Samples of shape (n, 2) at 48 kHz.  Raises OSError."""
    with replacing(path) as part, wave.open(str(part), "wb") as out:
        out.setnchannels(2)
        out.setsampwidth(2)
        out.setframerate(RATE)
        out.writeframes(samples.astype("<i2").tobytes())


def write_opus(samples: NDArray[np.int16], path: Path, title: str) -> None:
    """Samples of shape (n, 2) at 48 kHz as Opus in Ogg.  Raises OSError.

    The container's stream number is not random, so the bytes depend on nothing but the samples and the encoder's version.
    """
    with replacing(path) as part:
        with av.open(str(part), "w", format="opus", options={"fflags": "+bitexact", "serial_offset": "1"}) as out:
            out.metadata["title"] = title
            stream = out.add_stream("libopus", rate=RATE, layout="stereo", options={"application": "audio", "vbr": "on"})
            stream.bit_rate = OPUS_RATE
            for first in range(0, len(samples), RATE):
                block = np.ascontiguousarray(samples[first : first + RATE]).reshape(1, -1)
                frame = av.AudioFrame.from_ndarray(block, format="s16", layout="stereo")
                frame.sample_rate, frame.pts = RATE, first
                out.mux(stream.encode(frame))
            out.mux(stream.encode(None))
