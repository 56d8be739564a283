"""`python -m audio.benchmarks.beats [--midi DIR]`: how right the beats are, on sounds whose beats are known exactly.

Measures are those of mir_eval (Raffel et al., ISMIR 2014): F-measure within 70 ms and continuity at the written metrical level
(CMLt) and at any (AMLt), the first 5 s left out (Davies, Degara and Plumbley, 2009), beside librosa's tracker, from the extra
`listen`. MIDI files and FluidSynth are not part of the project: fetch a set, such as OpenMSX, and name its folder.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audio.beats import BeatError, Found, track
from audio.benchmarks import beat_truth
from audio.benchmarks.beat_truth import Case
from audio.decode import RATE

RIGHT = 0.9  # measure from which beats are right
SOUNDFONT = Path("/usr/share/sounds/sf2/FluidR3_GM.sf2")
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Score:
    """F of the beats, CMLt, AMLt, F of the downbeats, median offset of the beats that match in seconds (late is positive)."""

    f: float
    cmlt: float
    amlt: float
    downbeats: float
    offset: float

    def __str__(self) -> str:
        return f"{self.f:5.3f} {self.cmlt:5.3f} {self.amlt:5.3f} {self.downbeats:5.3f} {1e3 * self.offset:+6.1f}"


def score(case: Case, beats: Array, downbeats: Array) -> Score:
    """What mir_eval says of beats and downbeats."""
    measure = import_module("mir_eval").beat
    truth, found = measure.trim_beats(case.beats), measure.trim_beats(beats)
    _, cmlt, _, amlt = measure.continuity(truth, found)
    near = [found[np.argmin(np.abs(found - at))] - at for at in truth] if len(found) else [np.nan]
    offsets = [gap for gap in near if abs(gap) <= 0.07]
    down = measure.f_measure(measure.trim_beats(case.downbeats), measure.trim_beats(downbeats))
    return Score(measure.f_measure(truth, found), cmlt, amlt, down, float(np.median(offsets)) if offsets else np.nan)


def ours(case: Case) -> tuple[Found | None, str]:
    """What is found, and the flag that a user would see: "", "beats?", "bars?" or "refused"."""
    try:
        found = track(case.samples, RATE)
    except BeatError:
        return None, "refused"
    return found, "beats?" if not found.sure else "bars?" if not found.sure_of_bars else ""


def librosa_beats(case: Case) -> Array:
    """Beats by librosa, with its own settings."""
    librosa: Any = import_module("librosa")
    mono = librosa.resample(case.samples.astype(np.float32).mean(axis=1) / 32768.0, orig_sr=RATE, target_sr=22_050)
    return np.asarray(librosa.beat.beat_track(y=mono, sr=22_050, units="time")[1], float)


def lines(cases: Iterable[Case], rows: list[tuple[Case, Score, Score]]) -> Iterator[str]:
    """A line a case; scores of those that have beats go to `rows`."""
    yield f"{'':28} {'F':>5} {'CMLt':>5} {'AMLt':>5} {'down':>5} {'ms':>6}  flag     agree contr   librosa F, CMLt, AMLt, ms"
    for case in cases:
        found, flag = ours(case)
        if not len(case.beats):
            yield f"{case.name[:28]:28} {'no beat in it':>30}  {flag or 'NOT FLAGGED'}"
            continue
        downs = found.beats[found.numbers == 1] if found else np.zeros(0)
        mine = score(case, found.beats if found else np.zeros(0), downs)
        other = score(case, librosa_beats(case), np.zeros(0))
        rows.append((case, mine, other))
        sure = f"{found.agreement:5.2f} {found.contrast:5.2f}" if found else " " * 11
        wrong = ""
        if mine.f < RIGHT and flag in ("", "bars?"):
            wrong = "other level" if mine.amlt >= RIGHT else "SILENTLY WRONG"
        theirs = f"{other.f:5.3f} {other.cmlt:5.3f} {other.amlt:5.3f} {1e3 * other.offset:+6.1f}"
        yield f"{case.name[:28]:28} {mine}  {flag:8} {sure}   {theirs} {wrong}"


def mean(scores: list[Score]) -> str:
    """Mean of the scores and median of their offsets."""
    f, cmlt, amlt, down = (float(np.mean([getattr(s, name) for s in scores])) for name in ("f", "cmlt", "amlt", "downbeats"))
    return str(Score(f, cmlt, amlt, down, float(np.nanmedian([s.offset for s in scores]))))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--midi", type=Path, metavar="DIR", help="folder of MIDI files")
    parser.add_argument("--soundfont", type=Path, default=SOUNDFONT)
    parser.add_argument("--kept", type=Path, metavar="DIR", help="where what FluidSynth plays is kept")
    arguments = parser.parse_args()
    rows: list[tuple[Case, Score, Score]] = []
    with tempfile.TemporaryDirectory() as folder:
        if arguments.midi is not None:
            paths = sorted(arguments.midi.glob("*.mid"))
            cases = (beat_truth.from_midi(path, arguments.soundfont, arguments.kept or Path(folder)) for path in paths)
            for line in lines(cases, rows):
                print(line, flush=True)
            for name, chosen in (("constant tempo", [r for r in rows if r[0].steady]), ("all", rows)):
                print(f"mean of {len(chosen):2}, {name}:".ljust(28), mean([mine for _, mine, _ in chosen]))
                print("  librosa".ljust(28), mean([other for _, _, other in chosen]))
    for line in lines(beat_truth.hard(), []):
        print(line, flush=True)


if __name__ == "__main__":
    main()
