"""The file itself: what a player, a browser and an editor need of it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc

from scenes.render.check.film import Film
from scenes.render.check.outcome import Fault, Outcome
from scenes.render.master import AAC_FRAME, SOUND_RATE
from scenes.render.publish.chapters import title_of

TITLE = "The file"
COLOURS = {
    "colour matrix": ("colorspace", Colorspace.ITU709), "primaries": ("color_primaries", ColorPrimaries.BT709),
    "transfer": ("color_trc", ColorTrc.BT709), "range": ("color_range", ColorRange.MPEG),
}  # fmt: skip
KEY_EVERY = 1.0  # seconds at most from one key frame to the next, so that a player can jump to any beat


def check(film: Film) -> Outcome:
    """H.264 4:2:0 tagged BT.709, AAC at 48 kHz, sound as long as the picture, index first, key frames, chapters."""
    faults = [*_streams(film), *_order(film.path), *_keys(film), *_chapters(film)]
    found = f"{film.size[0]}x{film.size[1]} at {film.fps}, {film.frames} frames, {len(film.spans)} chapters"
    expected = "H.264 yuv420p BT.709, AAC 48 kHz as long as the picture, index first, a key frame a second, a chapter a scene"
    return Outcome("file", TITLE, found, expected, tuple(faults))


def _streams(film: Film) -> Iterator[Fault]:
    with av.open(str(film.path)) as container:
        if not container.streams.video or not container.streams.audio:
            yield Fault("expected one picture and one sound, found " + ", ".join(s.type for s in container.streams))
            return
        video, audio = container.streams.video[0], container.streams.audio[0]
        coded = video.codec_context
        asked = {
            "codec": (coded.name, "h264"), "pixel format": (coded.pix_fmt, "yuv420p"),
            "size": ((coded.width, coded.height), film.size), "frames a second": (video.average_rate, Fraction(film.fps)),
            "frames": (video.frames, film.frames), "sound codec": (audio.codec_context.name, "aac"),
            "sound rate": (audio.codec_context.sample_rate, SOUND_RATE),
            "sound channels": (audio.codec_context.layout.nb_channels, 2),
            **{name: (int(getattr(coded, field)), int(wanted)) for name, (field, wanted) in COLOURS.items()},
        }  # fmt: skip
        for what, (is_, wanted) in asked.items():
            if is_ != wanted:
                yield Fault(f"{what}: expected {wanted}, found {is_}")
        picture = Fraction(video.duration or 0) * (video.time_base or 1)
        sound = Fraction(audio.duration or 0) * (audio.time_base or 1)
        if abs(picture - sound) > Fraction(1, film.fps) + Fraction(2 * AAC_FRAME, SOUND_RATE):
            yield Fault(f"the picture lasts {float(picture):.3f} s, the sound {float(sound):.3f} s")


def boxes(path: Path) -> Iterator[str]:
    """Names of an MP4's outermost boxes, in order (ISO/IEC 14496-12, 4.2)."""
    with path.open("rb") as file:
        while len(head := file.read(8)) == 8:
            size, name = struct.unpack(">I4s", head)
            skip = size - 8
            if size == 1:
                skip = struct.unpack(">Q", file.read(8))[0] - 16
            yield name.decode("latin-1")
            if size == 0 or skip < 0:
                return
            file.seek(skip, 1)


def _order(path: Path) -> Iterator[Fault]:
    found = list(boxes(path))
    if "moov" not in found or ("mdat" in found and found.index("mdat") < found.index("moov")):
        yield Fault(f"the index stands behind the pictures ({', '.join(found)}): a browser must load all of it first")


def _keys(film: Film) -> Iterator[Fault]:
    with av.open(str(film.path)) as container:
        stream = container.streams.video[0]
        base = stream.time_base or Fraction(1)
        times = sorted(float(p.pts * base) for p in container.demux(stream) if p.pts is not None and p.is_keyframe)
    if not times or times[0] > 0.5 / film.fps:
        yield Fault("the first frame is no key frame", 0.0)
    for before, after in zip(times, [*times[1:], film.frames / film.fps], strict=False):
        if after - before > KEY_EVERY + 0.5 / film.fps:
            yield Fault(f"no key frame for {after - before:.2f} s", before)


def _chapters(film: Film) -> Iterator[Fault]:
    with av.open(str(film.path)) as container:
        found = [
            (c["metadata"].get("title", ""), c["start"] * base, c["end"] * base)
            for c in container.chapters()
            if (base := c["time_base"] or Fraction(1))
        ]
    wanted = [
        (span.scene, Fraction(span.at, film.fps), Fraction(span.at + span.last - span.first, film.fps)) for span in film.spans
    ]
    names = [name for name, _, _ in found]
    if names != [name for name, _, _ in wanted] and names != [title_of(row) for _, row, _ in film.rows()]:
        yield Fault(
            f"chapters: expected {', '.join(n for n, _, _ in wanted)}; found {', '.join(n for n, _, _ in found) or 'none'}"
        )
        return
    for (name, start, end), (_, first, last) in zip(found, wanted, strict=True):
        if max(abs(start - first), abs(end - last)) > Fraction(1, 500):  # chapters are stamped in milliseconds
            yield Fault(
                f"chapter {name}: expected {float(first):.3f} to {float(last):.3f} s, found {float(start):.3f}", float(first)
            )
