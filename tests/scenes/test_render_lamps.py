"""Picture and sound together, proved on finished files at four frame rates; and films that are not together are found out."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest

from audio import tracks
from audio.decode import decode, to_array
from audio.timeline import Timeline
from audio.tracks import Track
from scenes.film import Row
from scenes.render import claims_file, lamps
from scenes.render.cache import Cache
from scenes.render.claims_file import Span
from scenes.render.errors import RenderError
from scenes.render.make import Report, Request, make
from scenes.render.master import Piece, write_film

sys.path.insert(0, str(Path(__file__).parent / "helpers"))  # the processes that draw find the passages there too
import short_film

FILMS = [("song", 15), ("song", 24), ("song", 30), ("song", 60), ("bursts", 24), ("bursts", 60)]


@pytest.fixture(scope="module", params=FILMS, ids=lambda film: f"{film[0]}-{film[1]}")
def film(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Request, Report]:
    """Four bars of the project's song, or six of a track of bursts whose tempo no rate divides."""
    folder = tmp_path_factory.mktemp("lamps")
    wanted = short_film.request(folder, short_film.TINY.at(request.param[1]))
    if request.param[0] == "song":
        wanted = replace(wanted, track=tracks.default(), rows=short_film.ROWS[:1])
    return wanted, make(wanted, folder / "film.mp4", Cache(folder / "cache"), workers=2)


def together(film: Path, track: Track) -> bool:
    """Whether lamps and beats agree; a lamp too many or too few counts as no."""
    try:
        return lamps.check(film, track).passed
    except RenderError:
        return False


def moved(track: Track, seconds: float) -> Track:
    """The same sound with its beats, but for the first, written down wrong by some seconds."""
    first, *others = track.timeline.beats
    return replace(track, timeline=replace(track.timeline, beats=(first, *(beat + seconds for beat in others))))


def test_every_lamp_lights_within_half_a_frame_and_2_ms_of_its_beat(film: tuple[Request, Report]) -> None:
    request, made = film
    result = lamps.check(made.film, request.track)
    assert result.beats == sum(4 * row.bars for row in request.rows)
    assert result.passed and result.worst <= 0.5 / request.quality.fps + 0.002
    assert abs(result.offset) <= 1 / 48000 and result.spread <= 1 / 48000
    # rounding to the nearest frame of a tempo that no rate divides is off by a quarter of a frame in the mean
    assert result.mean == pytest.approx(0.25 / request.quality.fps, rel=0.3)


@pytest.mark.parametrize("film", FILMS[-2:], indirect=True)
def test_beats_that_are_elsewhere_fail(film: tuple[Request, Report]) -> None:
    request, made = film
    late = 0.5 / request.quality.fps + 0.004
    assert together(made.film, request.track)
    assert not together(made.film, moved(request.track, late))
    assert not together(made.film, moved(request.track, -late))


@pytest.mark.parametrize("film", FILMS[-1:], indirect=True)
def test_sound_that_lags_is_measured_and_fails(film: tuple[Request, Report], tmp_path: Path) -> None:
    request, made = film
    fps, lag = request.quality.fps, 0.5 / request.quality.fps + 0.003
    video = tmp_path / "silent.mp4"
    _pictures_only(made.film, video)
    sound = np.concatenate([np.zeros((round(lag * 48000), 2), np.int16), to_array(decode(request.track.path))])
    write_film(tmp_path / "late.mp4", [Piece(video, made.frames)], sound, fps)
    result = lamps.check(tmp_path / "late.mp4", request.track)
    assert result.offset == pytest.approx(lag, abs=2 / 48000)
    assert not result.passed


def _pictures_only(source: Path, target: Path) -> None:
    with av.open(str(source)) as film, av.open(str(target), "w") as copy:
        stream = copy.add_stream_from_template(film.streams.video[0])
        for packet in film.demux(film.streams.video[0]):
            if packet.dts is not None:
                packet.stream = stream
                copy.mux(packet)


def test_a_scene_in_the_middle_of_a_track_is_together_too(tmp_path: Path) -> None:
    row = Row("sequel", "small_passage", "Sequel", 3, 2, "")
    request = short_film.request(tmp_path, short_film.TINY.at(24), rows=(row,))
    made = make(request, tmp_path / "film.mp4", Cache(tmp_path / "cache"), workers=1)
    spans = [Span(**span) for span in claims_file.read(made.claims)["spans"]]
    assert spans[0].first == round(request.timeline.time(3) * 24)
    result = lamps.check(made.film, request.track, spans)
    assert result.beats == 8 and result.passed
    with pytest.raises(RenderError, match=r"lights|lamps"):
        lamps.check(made.film, request.track, [replace(spans[0], first=spans[0].first + 6, last=spans[0].last + 6)])


def test_lamps_that_light_twice_are_counted() -> None:
    lit = np.array([True, False, True, True, False, True])
    assert lamps.rising(lit) == [0, 2, 5]
    assert lamps.rising(np.zeros(4, bool)) == []


def test_offsets_are_found_to_the_sample() -> None:
    sound = np.random.default_rng(5).standard_normal(48000 * 9).astype(np.float32)
    for lag in (-4800, -1, 0, 7, 4800):
        heard = sound[48000 * 3 - lag : 48000 * 8 - lag]
        offset, spread = lamps.sound_offset(heard, sound, 3.0)
        assert offset == pytest.approx(lag / 48000) and spread == 0.0


def test_bars_of_three_and_four_have_their_own_lamps() -> None:
    timeline = Timeline("waltz", 8.0, tuple(0.5 * k for k in range(15)), (0, 3, 7, 10, 14))
    found = [(index, lamp) for _, index, lamp in lamps.beats_of(timeline, 0.0, 8.0, 30)]
    assert [index for index, _ in found] == list(range(14))
    columns = [lamp[0] for _, lamp in found]
    assert columns[:3] == columns[7:10] == sorted(columns[:3]) and columns[3:7] == columns[10:14] == sorted(columns[3:7])
    assert columns[0] == columns[4] and columns[3] < columns[4], "the last beat is always rightmost"


def test_a_bar_of_one_beat_leaves_the_last_lamp_on_and_the_film_passes(tmp_path: Path) -> None:
    """Bars of 4, 4, 4, 1, 4, 4 and 3: 24 beats, of which the one alone lights no lamp anew: 23 lights."""
    request = short_film.request(tmp_path)
    downs = (0, 4, 8, 12, 13, 17, 21, 24)
    timeline = replace(request.timeline, downbeats=downs)
    rows = (Row("small", "small_passage", "Small", 1, 7, ""),)
    uneven = replace(request, rows=rows, order=rows, track=replace(request.track, timeline=timeline))
    made = make(uneven, tmp_path / "film.mp4", Cache(tmp_path / "cache"), workers=1)
    result = lamps.check(made.film, uneven.track)
    assert result.beats == 23 and result.passed
    with pytest.raises(RenderError, match="light 23 times"):
        lamps.check(made.film, request.track)
