"""What a film is posted with, in words: captions at the film's times, chapters by YouTube's rules, credits, provenance."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from audio import tracks
from audio.tracks import Track
from measure.dataset import MEASUREMENTS, Dataset
from scenes import film
from scenes.render import claims_file, plan
from scenes.render.claims_file import Span
from scenes.render.publish import captions, chapters, description, notice, provenance
from scenes.render.quality import QUALITIES

sys.path.insert(0, str(Path(__file__).parent / "helpers"))
import short_film

ROOT = Path(__file__).resolve().parents[2]
OWN = tracks.default()
FPS = 60
SPANS = claims_file.spans_of(plan.plan(film.FILM, OWN.timeline, QUALITIES["h"]))


# ---- captions ---------------------------------------------------------------------------------------------------------


def test_the_whole_film_has_the_words_at_the_track_s_times() -> None:
    heard = captions.in_film(OWN.timeline, SPANS, FPS)
    assert heard.lines == OWN.timeline.lines and heard.duration == pytest.approx(OWN.timeline.duration, abs=1 / FPS)


def test_a_film_of_some_scenes_has_their_words_at_its_own_times() -> None:
    """The short song's only line begins on beat 4 of 171 a minute; a film from beat 4 on plays it from 0."""
    timeline, beat = short_film.timeline(), 60.0 / short_film.BPM
    first = round(4 * beat * 100)
    heard = captions.in_film(timeline, [Span("a", first, first + 400, 0)], 100)
    assert [line.text for line in heard.lines] == ["a tile"]
    assert heard.lines[0].start == pytest.approx(0.0, abs=0.01) and heard.lines[0].end == pytest.approx(2 * beat, abs=0.01)
    later = captions.in_film(timeline, [Span("b", 0, 50, 0), Span("a", first, first + 400, 50)], 100)
    assert later.lines[0].start == pytest.approx(0.5, abs=0.01)
    assert captions.in_film(timeline, [Span("c", first + 30, first + 400, 0)], 100).lines == ()


def test_captions_are_written_in_four_formats_or_not_at_all(tmp_path: Path) -> None:
    written = captions.write(OWN.timeline, SPANS, FPS, tmp_path / "film.mp4")
    assert [path.name for path in written] == ["film.srt", "film.vtt", "film.ass", "film.lrc"]
    srt = (tmp_path / "film.srt").read_text()
    assert srt.startswith("1\n00:00:07,") and OWN.timeline.lines[0].text in srt
    assert (tmp_path / "film.vtt").read_text().startswith("WEBVTT")
    assert captions.write(replace(OWN.timeline, lines=()), SPANS, FPS, tmp_path / "mute.mp4") == []
    assert {path.stem for path in tmp_path.iterdir()} == {"film"}


# ---- chapters ---------------------------------------------------------------------------------------------------------


def test_chapters_keep_youtube_s_rules() -> None:
    marks = chapters.chapters(SPANS, film.FILM, OWN.timeline, FPS)
    seconds = [mark.second for mark in marks] + [int(OWN.timeline.duration)]
    assert marks[0].stamp == "0:00" and len(marks) >= 3
    assert all(later - earlier >= 10 for earlier, later in pairwise(seconds))
    # every passage is in one of them, in order; 4 bars at 132 a minute are 7.3 s: those three passages have joined another
    told = [title for mark in marks for title in mark.title.split(" · ")]
    assert told == [chapters.title_of(row) for row in film.FILM]
    assert len(marks) == len(film.FILM) - sum(row.bars == 4 for row in film.FILM)


def test_a_short_passage_joins_its_own_kind_of_part() -> None:
    marks = chapters.chapters(SPANS, film.FILM, OWN.timeline, FPS)
    assert "Warps · Divergence" in [mark.title for mark in marks]  # one verse; the chorus before it is another part
    assert chapters.Chapter(127, "x").stamp == "2:07"


def test_a_film_of_two_scenes_has_no_chapters() -> None:
    assert chapters.chapters(SPANS[:2], film.FILM[:2], OWN.timeline, FPS) == []


def test_titles_are_set_as_sentences() -> None:
    assert chapters.title_of(film.row("roof-2")) == "Shared tiles"
    assert chapters.title_of(film.row("flash-attention")) == "FlashAttention"


# ---- description and credits ------------------------------------------------------------------------------------------


def test_the_description_says_what_was_measured_and_credits_what_notice_says() -> None:
    data = Dataset.open([])
    text = description.text(data, OWN, chapters.chapters(SPANS, film.FILM, OWN.timeline, FPS))
    assert text.startswith("How Kernels Climb\n") and len(text) < description.LIMIT
    assert "\n0:00 " in text
    raw = json.loads((MEASUREMENTS / "nvidia-h200.json").read_text())
    rates = [rung["rate"]["value"] for rung in raw["ladders"]["gemm_fp32"]["rungs"] if "rate" in rung]
    assert f"{rates[0]:.2f} to {max(rates):.1f} TFLOP/s (measured)" in text
    assert raw["run"]["driver"] in text and "NVIDIA HGX H100, 8 GPUs (published)" in text
    for words in ("Up to the Light", "Inter Display (SIL Open Font License 1.1)", "JetBrains Mono", "CUDA for Deep Learning"):
        assert words in text
    assert "Kokoro" in text
    assert "Kokoro" not in description.text(data, tracks.open("up-to-the-light-instrumental"), [])  # it has no voice


def test_a_voice_and_a_beat_tracker_are_credited_where_they_took_part(tmp_path: Path) -> None:
    data = Dataset.open(["rtx-3090-published"])
    sung = description.text(data, tracks.open("up-to-the-light"), [])
    assert "Voice: Kokoro-82M voices by hexgrad (Apache-2.0)" in sung and "Chapters" not in sung
    assert "published for the NVIDIA GeForce RTX 3090" in sung and "measured on" not in sung
    own = description.text(data, Track(tmp_path / "mine.mp3", short_film.timeline()), [])
    assert "Heydari, Frank Cwitkowitz and Zhiyao Duan (CC BY 4.0)" in own and "by the project" not in own


def test_the_heading_of_the_figures_says_whether_they_were_measured_or_published() -> None:
    """The 3090's are all other people's, the H200's file is a run of the project's; the eight H100 are others' again."""
    headings = {
        ("nvidia-h200",): "What was measured",
        ("rtx-3090-published",): "What was published",
        ("rtx-3090-published", "hgx-h100-published"): "What was published",
        ("hgx-h100-published", "nvidia-h200"): "What was measured, and what was published",
    }
    for specs, expected in headings.items():
        assert f"\n\n{expected}\n" in description.text(Dataset.open(specs), OWN, []), specs


def test_a_credit_that_notice_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError, match="Comic Sans"):
        notice.credits(["Comic Sans"])


# ---- provenance -------------------------------------------------------------------------------------------------------


def test_the_provenance_names_files_by_digest_and_never_a_folder(tmp_path: Path) -> None:
    made = tmp_path / "film.mp4"
    made.write_bytes(b"a film")
    data = Dataset.open([])
    target = provenance.write(tmp_path / "film.provenance.json", made, QUALITIES["h"], tuple(SPANS), data, OWN)
    text = target.read_text()
    body = json.loads(text)
    assert body["film"]["sha256"] == hashlib.sha256(b"a film").hexdigest()
    assert body["film"]["frames"] == round(OWN.timeline.duration * FPS)
    expected = {f"{stem}.json": hashlib.sha256((MEASUREMENTS / f"{stem}.json").read_bytes()).hexdigest()
                for stem in ("hgx-h100-published", "nvidia-h200")}  # fmt: skip
    assert {one["file"]: one["sha256"] for one in body["measurements"]} == expected
    assert [one["kind"] for one in body["measurements"]] == ["published", "measured"]
    assert body["gpu"]["name"] == "NVIDIA H200" and re.match(r"\d+\.\d+", body["gpu"]["measured"]["driver"])
    assert {"manim", "numpy", "av", "python", "ffmpeg"} <= set(body["versions"])
    assert str(ROOT) not in text and str(tmp_path) not in text


def test_the_project_is_told_by_version_and_commit_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "9.8"\n')
    assert provenance.project(tmp_path) == {"name": "x", "version": "9.8", "commit": None, "changed_since": None}
    own = provenance.project()
    assert own["name"] == "roofline" and (own["commit"] is None or re.fullmatch("[0-9a-f]{40}", own["commit"]))
