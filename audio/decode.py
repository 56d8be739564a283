"""Any sound file -> samples: PyAV decodes, pydub carries.  Decode once and use that sound for the beats and for the film alike,
so that no decoder's delay can come between picture and sound.

pydub's own `from_file` is not used: it needs an ffprobe program.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

with warnings.catch_warnings():  # pydub warns where no ffmpeg program is installed, and none is needed here
    warnings.simplefilter("ignore")
    from pydub import AudioSegment

if TYPE_CHECKING:
    import av

RATE = 48_000  # samples a second
SHORT = 0.5  # seconds that a file may end before the length it declares


class DecodeError(ValueError):
    """A file that is not usable sound: one line that says which, why and what to do."""


def decode(path: Path | str) -> AudioSegment:
    """The whole sound of an mp3, m4a, ogg, opus, flac or wav file at 48 kHz, stereo, 16 bit.

    The encoder's padding is cut where the file records it, so sample 0 is the first sample that went in.  Raises DecodeError,
    one line, for a missing file, a file without sound, a video, and a file that is damaged or cut short.
    """
    path = Path(path)
    if not path.is_file():
        raise DecodeError(f"{path}: expected a sound file, found {'a folder' if path.is_dir() else 'nothing there'}")
    import av.error  # late: what only reads a timeline needs no decoder

    try:
        with av.open(str(path), metadata_errors="replace") as container:
            samples, declared = _read(container, path)
    except av.error.FFmpegError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise DecodeError(
            f"{path}: expected a sound file (mp3, m4a, ogg, opus, flac, wav), found what does not decode: {reason}"
        ) from None
    if not len(samples):
        raise DecodeError(f"{path}: expected sound, found none in it: export it again")
    seconds = len(samples) / RATE
    if declared - seconds > SHORT and _length_is_recorded(path):
        raise DecodeError(
            f"{path}: cut short: it declares {declared:.1f} s, but {seconds:.1f} s can be decoded: fetch or export it again"
        )
    return from_array(samples)


def from_array(samples: NDArray[np.int16]) -> AudioSegment:
    """Samples of shape (n, 2), int16 at 48 kHz, as a pydub segment."""
    if samples.ndim != 2 or samples.shape[1] != 2 or samples.dtype != np.int16:
        raise DecodeError(f"samples: expected int16 of shape (n, 2), found {samples.dtype} of shape {samples.shape}")
    return AudioSegment(data=samples.astype("<i2").tobytes(), sample_width=2, frame_rate=RATE, channels=2)


def to_array(segment: AudioSegment) -> NDArray[np.int16]:
    """The samples of a segment, shape (n, channels), int16.  Raises DecodeError for another sample width."""
    if segment.sample_width != 2:
        raise DecodeError(f"segment: expected 16-bit samples, found {8 * segment.sample_width}-bit")
    return np.frombuffer(segment.raw_data, dtype="<i2").astype(np.int16).reshape(-1, segment.channels)


def slice_seconds(segment: AudioSegment, start: float, end: float) -> AudioSegment:
    """The samples from `round(start * rate)` to `round(end * rate)`; silence where that runs past the sound's end.

    pydub's own slices are in whole milliseconds, which drift against frames.  Raises DecodeError if `end` is before `start`.
    """
    if not 0 <= start <= end:
        raise DecodeError(f"slice: expected 0 <= start <= end, found {start} s to {end} s")
    first, last = round(start * segment.frame_rate), round(end * segment.frame_rate)
    width = segment.frame_width
    data = segment.raw_data[first * width : last * width]
    return segment._spawn(data + bytes((last - first) * width - len(data)))


def _read(container: av.container.InputContainer, path: Path) -> tuple[NDArray[np.int16], float]:
    """Samples (n, 2) and the seconds that the file declares (0 if it does not)."""
    import av

    if not container.streams.audio:
        raise DecodeError(f"{path}: expected sound, found a {container.format.long_name} file without any")
    if any(not stream.disposition & av.stream.Disposition.attached_pic for stream in container.streams.video):
        raise DecodeError(f"{path}: expected a sound file, found a video: export its sound as m4a, flac or wav first")
    stream = container.streams.audio[0]
    mono = stream.codec_context.layout.nb_channels == 1  # carried to both sides as it is; the resampler would lower it by 3 dB
    resampler = av.AudioResampler(format="s16", layout="mono" if mono else "stereo", rate=RATE)
    frames = [out for frame in container.decode(stream) for out in resampler.resample(frame)]
    if frames:
        frames += resampler.resample(None)
    blocks = [np.asarray(frame.to_ndarray(), np.int16).reshape(-1, 1 if mono else 2) for frame in frames]
    samples = np.concatenate(blocks) if blocks else np.zeros((0, 2), np.int16)
    declared = float(stream.duration * stream.time_base) if stream.duration and stream.time_base else 0.0
    return np.repeat(samples, 2, axis=1) if mono and blocks else samples, declared


def _length_is_recorded(path: Path) -> bool:
    """Whether the declared length can be trusted: an mp3 without a Xing or Info tag only has one guessed from its bit rate."""
    if path.suffix.lower() != ".mp3":
        return True
    with path.open("rb") as file:
        head = file.read(10)
        if head[:3] == b"ID3":  # a tag of syncsafe length comes first
            size = (head[6] & 127) << 21 | (head[7] & 127) << 14 | (head[8] & 127) << 7 | head[9] & 127
            file.seek(10 + size)
            head = b""
        start = head + file.read(400)
    return b"Xing" in start or b"Info" in start
