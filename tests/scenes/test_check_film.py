"""`check`: a sound film passes every check, and each check is failed by a film made to fail it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import av
import numpy as np
import pytest
from av.video.reformatter import ColorPrimaries
from click.testing import CliRunner
from numpy.typing import NDArray

import roofline
from audio.decode import decode, to_array
from audio.timeline import Line, Timeline, Word
from measure.dataset import Dataset
from scenes.render import check, claims_file
from scenes.render.cache import Cache
from scenes.render.check import captions, container, hues, letters, report, sound, sync
from scenes.render.errors import RequestError
from scenes.render.make import make
from scenes.render.master import Chapter, Piece, write_film
from scenes.stage.overlay import Placed

sys.path.insert(0, str(Path(__file__).parent / "helpers"))  # the processes that draw find the passages there too
import short_film

SIZE = replace(short_film.TINY, width=640, height=360, fps=30, crf=16)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> check.Film:
    """Six bars with a lyric line, on a track of bursts."""
    folder = tmp_path_factory.mktemp("checked")
    request = short_film.request(folder, SIZE)
    made = make(request, folder / "film.mp4", Cache(folder / "cache"), workers=2)
    track = request.track
    return check.Film(
        made.film, claims_file.read(made.claims), track, request.dataset, spans_of(made.claims), SIZE.fps,
        (SIZE.width, SIZE.height), request.order,
    )  # fmt: skip


def spans_of(path: Path) -> tuple[claims_file.Span, ...]:
    return tuple(claims_file.Span(**span) for span in claims_file.read(path)["spans"])


def recoded(film: check.Film, target: Path, picture: Callable[[int, NDArray[np.uint8]], NDArray[np.uint8]]) -> check.Film:
    """The same film with every picture passed through a function; its sound is left out."""
    with av.open(str(target), "w") as out:
        stream = out.add_stream("libx264", rate=film.fps, options={"crf": "12", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = *film.size, "yuv420p"
        for number, pixels in film.pictures(range(film.frames)):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture(number, pixels), format="rgb24")))
        out.mux(stream.encode())
    return replace(film, path=target)


def remuxed(
    film: check.Film, target: Path, chapters: bool = True, first: bool = True, cut: float = 0.0, gain: float = 1.0
) -> check.Film:
    """The same pictures: without chapters, with the index last, with the sound cut short by seconds or made quieter."""
    heard = (to_array(decode(film.track.path)) * gain).astype(np.int16)
    marks = [Chapter(s.scene, s.at, s.at + s.last - s.first) for s in film.spans] if chapters else []
    write_film(target, [Piece(only_pictures(film, target.with_suffix(".v.mp4")), film.frames)], heard, film.fps, marks)
    if first and not cut:
        return replace(film, path=target)
    last = target.with_suffix(".last.mp4")
    with av.open(str(target)) as source, av.open(str(last), "w") as out:
        streams = {s.index: out.add_stream_from_template(s) for s in (*source.streams.video, *source.streams.audio)}
        out.set_chapters(source.chapters())
        for packet in source.demux():
            at = float((packet.pts or 0) * (packet.time_base or 0))
            if (
                packet.dts is None
                or packet.stream.index not in streams
                or (cut and packet.stream.type == "audio" and at > film.frames / film.fps - cut)
            ):
                continue
            packet.stream = streams[packet.stream.index]
            out.mux(packet)
    return replace(film, path=last)


def only_pictures(film: check.Film, target: Path) -> Path:
    with av.open(str(film.path)) as source, av.open(str(target), "w") as out:
        stream = out.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is not None:
                packet.stream = stream
                out.mux(packet)
    return target


def longer(film: check.Film) -> check.Film:
    """The same film, its last word held on: the lint asks for five sixths of a second."""
    first, last = film.track.timeline.lines[0].words
    timeline = replace(film.track.timeline, lines=(Line((first, replace(last, end=last.end + 0.3))),))
    return replace(film, track=replace(film.track, timeline=timeline))


def told(faults: tuple[check.Fault, ...]) -> str:
    return "\n".join(str(fault) for fault in faults)


def test_a_film_as_it_is_rendered_passes_every_check(film: check.Film) -> None:
    outcomes = list(check.run(longer(film)))
    assert [outcome.name for outcome in outcomes] == list(check.CHECKS)
    assert all(outcome.passed for outcome in outcomes), "\n".join(told(outcome.faults) for outcome in outcomes)
    seen = {outcome.name: outcome.found for outcome in outcomes}
    assert "24 beats" in seen["sync"] and "2 words" in seen["sync"]
    assert seen["file"].startswith("640x360 at 30") and "2 chapters" in seen["file"]


# ---- the file ---------------------------------------------------------------------------------------------------------


def test_an_index_behind_the_pictures_is_found(film: check.Film, tmp_path: Path) -> None:
    behind = remuxed(film, tmp_path / "a.mp4", first=False)
    assert list(container.boxes(film.path)).index("moov") < list(container.boxes(film.path)).index("mdat")
    assert "the index stands behind the pictures" in told(container.check(behind).faults)


def test_missing_chapters_and_sound_that_ends_early_are_found(film: check.Film, tmp_path: Path) -> None:
    bare = remuxed(film, tmp_path / "a.mp4", chapters=False)
    assert told(container.check(bare).faults) == "chapters: expected small, sequel; found none"
    short = remuxed(film, tmp_path / "b.mp4", cut=1.0)
    assert "the sound" in told(container.check(short).faults)


def test_pictures_that_are_not_tagged_and_rare_key_frames_are_found(film: check.Film, tmp_path: Path) -> None:
    plain = recoded(film, tmp_path / "a.mp4", lambda _, pixels: pixels)
    with av.open(str(plain.path)) as opened:
        assert opened.streams.video[0].codec_context.color_primaries != ColorPrimaries.BT709
    faults = told(container.check(plain).faults)
    assert "expected one picture and one sound" in faults and "no key frame for" in faults


# ---- picture and sound ------------------------------------------------------------------------------------------------


def moved(film: check.Film, seconds: float) -> check.Film:
    """The same film beside a track whose words are written down later than they are lit."""
    line = film.track.timeline.lines[0]
    words = tuple(Word(w.text, w.start + seconds, w.end + seconds) for w in line.words)
    timeline = replace(film.track.timeline, lines=(Line(words),))
    return replace(film, track=replace(film.track, timeline=timeline))


def test_a_word_that_lights_up_late_or_early_is_found(film: check.Film) -> None:
    errors = [error for _, error in sync.words(film)]
    assert len(errors) == 2 and max(map(abs, errors)) < 0.5 / film.fps
    for seconds in (-0.05, 0.05):
        late = sync.check(moved(film, seconds))
        assert len(late.faults) == 2 and "from where it is sung" in told(late.faults)
        assert np.mean([error for _, error in sync.words(moved(film, seconds))]) == pytest.approx(
            np.mean(errors) - seconds, abs=1e-9
        )


def test_beats_that_are_elsewhere_are_found(film: check.Film) -> None:
    first, *others = film.track.timeline.beats
    timeline = replace(film.track.timeline, beats=(first, *(beat + 0.03 for beat in others)))
    assert not sync.check(replace(film, track=replace(film.track, timeline=timeline))).passed


def test_half_way_is_where_the_line_between_two_frames_says() -> None:
    assert sync.crossing([(0.0, 0.0), (0.1, 0.25), (0.2, 0.75), (0.3, 1.0)]) == pytest.approx(0.15)
    assert sync.crossing([(0.0, 0.9), (0.1, 1.0)]) is None  # it was lit before it was looked at
    assert sync.crossing([(0.0, 0.0), (0.1, 0.4)]) is None  # it never lights up


# ---- flashes, sound, captions -------------------------------------------------------------------------------------------


def test_a_film_that_flashes_ten_times_a_second_fails(film: check.Film, tmp_path: Path) -> None:
    def strobe(number: int, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return np.full_like(pixels, 235 if number % 3 == 0 else 20)

    found = check.flashes(recoded(film, tmp_path / "a.mp4", strobe))
    assert not found.passed and "general flash" in told(found.faults)
    assert check.flashes(film).passed


def test_a_film_quieter_than_its_track_fails(film: check.Film, tmp_path: Path) -> None:
    quiet = sound.check(remuxed(film, tmp_path / "a.mp4", gain=0.5))
    assert len(quiet.faults) == 1 and "its track at" in told(quiet.faults)


def test_loudness_and_peak_are_those_of_a_known_tone() -> None:
    """EBU Tech 3341, case 1: a stereo tone of 1 kHz at -23 dBFS has -23 LUFS; its peak is its amplitude."""
    time = np.arange(20 * 48_000) / 48_000
    tone = np.repeat(
        (10 ** (-23 / 20) * np.sin(2 * np.pi * 1000 * time) * np.minimum(time * 100, 1) * 32767)[:, None], 2, 1
    ).astype(np.int16)
    assert sound.loudness(tone) == pytest.approx(-23.0, abs=0.1)
    assert sound.true_peak(tone) == pytest.approx(-23.0, abs=0.1)


def test_a_peak_between_samples_is_seen() -> None:
    """A tone of a quarter of the rate, sampled 45 degrees off its peaks, is 3.01 dB higher between its samples."""
    half = np.array([1, 1, -1, -1] * 24_000) * 10_000
    assert sound.true_peak(np.stack([half, half], 1).astype(np.int16)) == pytest.approx(
        20 * np.log10(10_000 / 32768) + 3.01, abs=0.15
    )


def lines(*spans: tuple[str, float, float]) -> Timeline:
    beats = tuple(0.5 * k for k in range(200))
    found = tuple(Line((Word(text, start, end),)) for text, start, end in spans)
    return Timeline("Words", 100.0, beats, tuple(range(0, 200, 4)), (), found)


@pytest.mark.parametrize(
    ("spans", "fault"),
    [
        ([("short", 1.0, 1.5)], "stands 0.50 s, less than 0.83"),
        ([("long", 1.0, 9.0)], "stands 8.0 s, more than 7"),
        ([("x" * 41, 1.0, 3.0)], "runs at 20.5 characters a second"),
        ([("x" * 85, 1.0, 7.0)], "has 85 characters"),
        ([("one", 1.0, 3.0), ("two", 2.5, 4.0)], "is still sung when the next line begins"),
    ],
)
def test_captions_that_break_a_published_limit_are_found(spans: list[tuple[str, float, float]], fault: str) -> None:
    assert any(fault in str(found) for found in captions.lint(lines(*spans)))
    assert not list(captions.lint(lines(("right enough", 1.0, 3.0), ("and so is this", 3.0, 5.0))))


# ---- letters and colours ------------------------------------------------------------------------------------------------


def test_contrast_is_that_of_wcag() -> None:
    """#777777 on white is read at 4.48 to 1, a pair that WebAIM and W3C give as the one that just fails."""
    pixels = np.full((40, 100, 3), 0x77, np.uint8)
    pixels[10:30, 40:60] = 255
    box = Placed("text", 0, 0, 99, 39, 1.0, "text")
    assert letters.contrast(pixels, box) == pytest.approx(4.48, abs=0.01)


def test_texts_on_a_bright_picture_are_found(film: check.Film, tmp_path: Path) -> None:
    fogged = recoded(film, tmp_path / "a.mp4", lambda _, pixels: np.maximum(pixels, 190))
    found = letters.check(fogged)
    assert len(found.faults) > 4 and "is read at" in told(found.faults)


def test_a_text_that_passes_by_the_allowance_is_named(film: check.Film, monkeypatch: pytest.MonkeyPatch) -> None:
    """2.8 to 1 is less than the 3 of large text, and more than 85 % of it."""
    monkeypatch.setattr(letters, "placed", lambda film: iter([(30, [Placed("LARGE", 10, 10, 200, 60, 1.0, "text")])]))
    monkeypatch.setattr(letters, "contrast", lambda pixels, box: 2.8)
    found = letters.check(film)
    assert found.passed and "'LARGE' at 2.8 of 3 to 1" in found.note and "15%" in found.note and "15%" in found.expected


def test_every_frame_that_is_read_is_told(film: check.Film) -> None:
    seen: list[int] = []
    told = replace(film, told=lambda: seen.append(1))
    for name, passes in check.PASSES.items():
        seen.clear()
        check.CHECKS[name](told)
        assert len(seen) == passes * film.frames, name


def test_lab_is_that_of_another_library() -> None:
    from skimage.color import rgb2lab

    colours = np.array([[0.0, 0.9, 1.0], [1.0, 0.69, 0.0], [1.0, 0.17, 0.84], [0.5, 0.5, 0.5], [0.0, 0.0, 0.0]])
    assert hues.lab(hues.linear(colours)) == pytest.approx(rgb2lab(colours), abs=0.02)


def test_a_dichromat_sees_greys_as_they_are_and_confuses_what_they_are_known_to() -> None:
    for matrix in hues.MACHADO.values():
        assert matrix.sum(axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    red, green = hues.linear(np.array([0.75, 0.30, 0.10])), hues.linear(np.array([0.45, 0.47, 0.10]))
    apart = {
        name: float(np.linalg.norm(hues.lab(hues.seen(red, m)) - hues.lab(hues.seen(green, m))))
        for name, m in hues.MACHADO.items()
    }
    assert apart["deuteranopia"] < hues.APART < apart["tritanopia"]


def test_colours_that_a_dichromat_confuses_are_found(film: check.Film, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    red, green = (0.75, 0.30, 0.10), (0.45, 0.47, 0.10)

    def paint(_: int, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        out = pixels.copy()
        out[100:200, :300], out[100:200, 300:] = np.array(red) * 255, np.array(green) * 255
        return out

    monkeypatch.setattr(hues, "MEANINGS", MappingProxyType({"one": red, "the other": green}))
    monkeypatch.setattr(hues, "NEAR", 12.0)
    found = hues.check(recoded(film, tmp_path / "a.mp4", paint))
    assert "one and the other" in told(found.faults) and "deuteranopia" in told(found.faults)


# ---- figures, reports, the command ----------------------------------------------------------------------------------------


def test_a_figure_that_is_not_the_files_is_found(film: check.Film) -> None:
    claims = [dict(claim) for claim in film.body["claims"]]
    assert claims
    claims[0]["numeral"] = claims[0]["numeral"] + "1"
    assert not check.claims(replace(film, body={**film.body, "claims": claims})).passed


def test_reports_for_people_and_machines_say_the_same(film: check.Film, tmp_path: Path) -> None:
    bad = check.Outcome("captions", "Captions", "1 line", "few", (check.Fault("<too> long", 83.5),))
    good = check.Outcome("flash", "Flashes", "none", "none")
    report.write_json(film, [good, bad], tmp_path / "r.json")
    report.write_html(film, [good, bad], tmp_path / "r.html")
    body = json.loads((tmp_path / "r.json").read_text())
    assert body["passed"] is False and [c["passed"] for c in body["checks"]] == [True, False]
    page = (tmp_path / "r.html").read_text()
    assert "1:23.50  &lt;too&gt; long" in page and "http" not in page
    assert report.verdict([good, bad]) == "1 of 2 checks failed: Captions"


@pytest.fixture
def asked(film: check.Film, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[int, str]]]:
    """Calls the command on the film; what it was made with lies where the claims say."""

    def call(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(roofline.main, ["check", *arguments])
        return result.exit_code, result.output

    yield call


def test_the_command_writes_reports_and_its_exit_code_tells(film: check.Film, asked: Callable[..., tuple[int, str]]) -> None:
    code, out = asked(str(film.path), "--only", "file", "--only", "claims")
    assert code == 0 and "2 checks, all passed" in out
    assert json.loads(film.path.with_suffix(".check.json").read_text())["passed"] is True
    assert film.path.with_suffix(".check.html").is_file()


def test_what_cannot_be_checked_is_told_in_one_line(
    film: check.Film, asked: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    code, out = asked(str(film.path), "--only", "smell")
    assert code == 2 and "no check 'smell': there are file, sync" in out
    code, out = asked(str(tmp_path / "no.mp4"))
    assert code == 2 and "no such film" in out
    alone = tmp_path / "alone.mp4"
    alone.write_bytes(film.path.read_bytes())
    code, out = asked(str(alone))
    assert code == 2 and "alone.claims.json beside it" in out
    other = short_film.track(tmp_path / "other", "other")
    other.path.write_bytes(other.path.read_bytes()[:-400])
    with pytest.raises(RequestError, match="another sound"):
        check.Film.open(film.path, str(other.path))
    assert Dataset.open(["rtx-3090-published"]).specs
