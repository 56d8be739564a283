"""A small copy of a film that fits into a page: H.264 and AAC, its bits chosen so that the page stays under its limit."""

from __future__ import annotations

from pathlib import Path

from scenes.render.check.film import Film
from scenes.render.errors import RenderError
from scenes.render.publish import encode
from scenes.render.publish.formats import Format
from scenes.render.publish.frames import FilmFrames
from scenes.render.publish.progress import told

SOUND_BITS = 96_000  # a second
MOST_BITS, LEAST_BITS = 2_400_000, 120_000  # of the picture, a second
SMALL_BELOW = 330_000  # bits a second that are too few for the wider picture
WIDE, NARROW = 854, 640
OVERHEAD = 0.96  # share of the room that coded bits may take: the rest is the file's index


def write(film: Film, target: Path, room: int) -> int:
    """Write the copy into `target` (.mp4) with at most `room` bytes and return its size.

    Raises RenderError for a film so long that it does not fit.
    """
    seconds = film.frames / film.fps
    bits = min(MOST_BITS, round(room * 8 * OVERHEAD / seconds) - SOUND_BITS)
    frames = FilmFrames(film.path, film.frames, film.fps, film.size)
    while bits >= LEAST_BITS:
        form = Format("proxy", ".mp4", "", "libx264", "aac", WIDE if bits >= SMALL_BELOW else NARROW, 30)
        coder = {"preset": "medium", "crf": "24", "maxrate": str(bits), "bufsize": str(2 * bits), "x264-params": "keyint=60"}
        with told(f"writing a small copy of {film.path.name}", film.frames) as tell:
            encode.write(frames, film.sound, form, target, tell, coder, SOUND_BITS)
        size = target.stat().st_size
        if size <= room:
            return size
        bits = round(bits * 0.93 * room / size)
    raise RenderError(f"{film.path}: {seconds:.0f} s do not fit into a page of {room / 1e6:.0f} MB")
