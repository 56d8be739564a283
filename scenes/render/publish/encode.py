"""Frames and sound written as one file in a format: one pass, little memory, the file whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.filter import Graph
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc
from numpy.typing import NDArray

from scenes.render.master import SOUND_RATE, whole_file
from scenes.render.publish.formats import Format
from scenes.render.publish.frames import Frames

Tell = Callable[[int], None]
PIXELS = {
    "libx264": "yuv420p", "libvpx-vp9": "yuv420p", "prores_ks": "yuva444p10le", "gif": "pal8", "libwebp_anim": "yuva420p",
}  # fmt: skip
OPTIONS = {
    "libx264": {"preset": "medium", "crf": "18"},
    # Constant quality; rows and tiles coded side by side, which costs little and uses every core.
    "libvpx-vp9": {"crf": "30", "b": "0", "deadline": "good", "cpu-used": "4", "row-mt": "1", "tile-columns": "2"},
    "prores_ks": {"profile": "4444", "vendor": "apl0", "alpha_bits": "16"},
    "gif": {},
    "libwebp_anim": {"quality": "75", "compression_level": "4"},
}
FIRST, ENDLESS = {"movflags": "+faststart"}, {"loop": "0"}  # the index stands first; a loop has no end
CONTAINER = {".mov": FIRST, ".mp4": FIRST, ".gif": ENDLESS, ".webp": ENDLESS}
SOUND_BITS = {"aac": 256_000, "libopus": 160_000}
SOUND_BLOCK = 960  # samples: an Opus frame of 20 ms
# One palette for the whole loop, chosen where the picture moves; ordered dither, which stands still where the picture does.
PALETTE = "stats_mode=diff:max_colors=256"
DITHER = "dither=bayer:bayer_scale=5:diff_mode=rectangle"


def write(
    frames: Frames, sound: NDArray[np.int16] | None, form: Format, target: Path, tell: Tell = lambda done: None,
    coder: Mapping[str, str] | None = None, sound_bits: int | None = None,
) -> int:  # fmt: skip
    """Write frames, with sound (n, 2) int16 at 48 kHz where the format has any; returns how many frames the file holds.

    `tell` hears how many of the source's frames have been used; `coder` and `sound_bits` replace the format's own settings.
    Raises RequestError where the target cannot be written.
    """
    settings = dict(OPTIONS[form.video] if coder is None else coder)
    bits = SOUND_BITS.get(form.sound) if sound_bits is None else sound_bits
    with whole_file(target) as part:
        palette = _palette(frames, form) if form.name == "gif" else None
        return _write(part, form, frames, sound if form.sound else None, tell, palette, settings, bits)


def _write(
    part: Path, form: Format, frames: Frames, sound: NDArray[np.int16] | None, tell: Tell, palette: av.VideoFrame | None,
    coder: dict[str, str], sound_bits: int | None,
) -> int:  # fmt: skip
    step = form.every(frames.fps)
    rate = Fraction(frames.fps, step)
    width, height = form.size(*frames.size)
    options = CONTAINER.get(form.suffix, {})
    kind = {".mov": "mov", ".webp": "webp"}.get(form.suffix, form.suffix[1:])
    with av.open(str(part), "w", format=kind, options=options) as out:
        video: Any = out.add_stream(form.video, rate=rate, options=coder)
        video.width, video.height, video.pix_fmt = width, height, PIXELS[form.video]
        video.codec_context.time_base = 1 / rate
        if form.name not in ("gif", "webp"):
            context = video.codec_context
            context.colorspace, context.color_primaries = Colorspace.ITU709, ColorPrimaries.BT709
            context.color_trc, context.color_range = ColorTrc.BT709, ColorRange.MPEG
        audio: Any = None
        if sound is not None:
            audio = out.add_stream(form.sound, rate=SOUND_RATE, layout="stereo")
            if sound_bits:
                audio.bit_rate = sound_bits
        heard, count = 0, 0
        graph = _dithered(width, height, rate, palette) if palette is not None else None
        for picture in _shown(frames, form, tell):
            picture.pts, picture.time_base = count, 1 / rate
            ready = picture if graph is None else graph(picture)
            out.mux(video.encode(ready))
            count += 1
            if sound is not None:  # as much of it as there is picture, so that the two lie side by side in the file
                until = min(len(sound), round(count / rate * SOUND_RATE))
                heard = _hear(out, audio, sound, heard, until, until == len(sound))
        out.mux(video.encode())
        if sound is not None:
            _hear(out, audio, sound, heard, min(len(sound), round(count / rate * SOUND_RATE)), True)
            out.mux(audio.encode())
    return count


def _hear(out: Any, stream: Any, sound: NDArray[np.int16], first: int, last: int, rest: bool) -> int:
    """Code whole blocks of sound from a sample on, at the end what is left too; returns the first sample not coded yet."""
    while first < last and (last - first >= SOUND_BLOCK or rest):
        block = sound[first : min(first + SOUND_BLOCK, last)]
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(block.reshape(1, -1)), format="s16", layout="stereo")
        frame.sample_rate, frame.pts, frame.time_base = SOUND_RATE, first, Fraction(1, SOUND_RATE)
        out.mux(stream.encode(frame))
        first += len(block)
    return first


def _shown(frames: Frames, form: Format, tell: Tell) -> Iterator[av.VideoFrame]:
    """The frames that the format shows, in its size and pixels."""
    step, (width, height) = form.every(frames.fps), form.size(*frames.size)
    wanted = {"gif": "rgb24", "webp": "yuva420p"}.get(form.name, PIXELS[form.video])
    for number, pixels in enumerate(frames.between(0, frames.count)):
        if number % step == 0:
            given = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgba" if pixels.shape[2] == 4 else "rgb24")
            if wanted.startswith("yuv"):
                matrix = Colorspace.ITU601 if form.name == "webp" else Colorspace.ITU709  # WebP knows no other than BT.601
                yield given.reformat(
                    width, height, wanted, dst_colorspace=matrix, dst_color_range=ColorRange.MPEG, interpolation="LANCZOS"
                )
            else:
                yield given.reformat(width, height, wanted, interpolation="LANCZOS")
        tell(number + 1)


def _palette(frames: Frames, form: Format, looks: int = 48) -> av.VideoFrame:
    """256 colours for a whole loop, from so many of its frames."""
    width, height = form.size(*frames.size)
    graph = Graph()
    source = graph.add_buffer(width=width, height=height, format=av.VideoFormat("rgb24"), time_base=Fraction(1, 20))
    made, sink = graph.add("palettegen", PALETTE), graph.add("buffersink")
    source.link_to(made)
    made.link_to(sink)
    graph.configure()
    step = max(1, frames.count // looks)
    quiet = Format(form.name, form.suffix, form.use, form.video, widest=form.widest)
    for number, picture in enumerate(islice(_shown(frames, quiet, lambda done: None), 0, None, step)):
        picture.pts, picture.time_base = number, Fraction(1, 20)
        source.push(picture)
    source.push(None)
    return _pulled(sink)


def _dithered(width: int, height: int, rate: Fraction, palette: av.VideoFrame) -> Callable[[av.VideoFrame], av.VideoFrame]:
    """Pictures in a palette's colours."""
    graph = Graph()
    source = graph.add_buffer(width=width, height=height, format=av.VideoFormat("rgb24"), time_base=1 / rate)
    colours = graph.add_buffer(width=16, height=16, format=av.VideoFormat("bgra"), time_base=1 / rate)
    used, sink = graph.add("paletteuse", DITHER), graph.add("buffersink")
    source.link_to(used, 0, 0)
    colours.link_to(used, 0, 1)
    used.link_to(sink)
    graph.configure()
    palette.pts, palette.time_base = 0, 1 / rate
    colours.push(palette)
    colours.push(None)

    def draw(picture: av.VideoFrame, held: Graph = graph) -> av.VideoFrame:  # its filters live as long as the graph is held
        source.push(picture)
        return _pulled(sink)

    return draw


def _pulled(sink: Any) -> av.VideoFrame:
    found = sink.pull()
    assert isinstance(found, av.VideoFrame)
    return found
