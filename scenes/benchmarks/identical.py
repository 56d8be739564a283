"""One film however it comes about: cold, warm, by one process, by two, and killed twenty times and gone on with.

    python -m scenes.benchmarks.identical [--scene NAME ...] [--quality l] [--fps N] [--kills 20] [--seed 1]

Every render is a process of its own, as a person would start it. Kills are SIGKILL at random moments, of the main process or
of one of those that draw. After each: no process is left, the film is whole or not there, every segment of the cache decodes to
the frames of the cold render. At the end nothing lies about. Prints the figures; exit code 1 where anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

import av

from audio import tracks
from measure.dataset import Dataset
from scenes.film import FILM
from scenes.render.cache import Cache
from scenes.render.content import ROOT
from scenes.render.make import Request, make, survey
from scenes.render.plan import choose
from scenes.render.quality import QUALITIES

GRACE = 10.0  # seconds in which the processes of a killed render have to be gone


@dataclass(frozen=True, slots=True)
class Film:
    """What is rendered: scenes (none named: all), quality letter, frames a second (None: the quality's own)."""

    scenes: tuple[str, ...] = ()
    quality: str = "l"
    fps: int | None = None

    def request(self) -> Request:
        return Request(choose(self.scenes), QUALITIES[self.quality].at(self.fps), Dataset.open(), tracks.default())

    def start(self, target: Path, cache: Path, workers: int) -> subprocess.Popen[bytes]:
        """Start a render as the leader of a group of processes."""
        arguments = ["--quality", self.quality, *(("--fps", str(self.fps)) if self.fps else ())]
        arguments += [word for name in self.scenes for word in ("--scene", name)]
        code = [sys.executable, "-m", "scenes.benchmarks.identical", "--render", str(target), str(cache), str(workers)]
        return subprocess.Popen([*code, *arguments], cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True)

    def render(self, target: Path, cache: Path, workers: int) -> float:
        """Render to the end; seconds.  Raises RuntimeError where that fails."""
        start = time.monotonic()
        if code := self.start(target, cache, workers).wait():
            raise RuntimeError(f"{target.name}: the render ended with code {code}")
        return time.monotonic() - start


@dataclass(slots=True)
class Kills:
    """What came of the kills: how many of the main process and of others, renders that ended first, and what was wrong."""

    main: int = 0
    drawing: int = 0
    finished: int = 0
    kept: list[int] = field(default_factory=list)  # segments that each kill left to go on from
    wrong: list[str] = field(default_factory=list)


def frames(film: Path) -> list[str]:
    """One digest a decoded frame, of its planes without what pads their rows."""
    with av.open(str(film)) as container:
        return [hashlib.sha256(frame.to_ndarray().tobytes()).hexdigest()[:24] for frame in container.decode(video=0)]


def group(leader: int) -> list[int]:
    """Living processes of a group by their ids, the leader first."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, process_group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            except (OSError, ValueError):
                continue
            if int(process_group) == leader and state != "Z":
                found.append(int(entry.name))
    return sorted(found, key=lambda process: (process != leader, process))


def drawing(leader: int) -> list[int]:
    """The processes of a render that draw: multiprocessing's own helper, which tracks semaphores, is none."""
    found = []
    for process in group(leader)[1:]:
        try:
            if b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes():
                found.append(process)
        except OSError:
            continue
    return found


def wait_for_none(leader: int) -> bool:
    """Whether all processes of a group end within the grace."""
    end = time.monotonic() + GRACE
    while time.monotonic() < end:
        if not group(leader):
            return True
        time.sleep(0.05)
    return False


def check_cache(film: Film, folder: Path, cold: Sequence[str], checked: set[Path]) -> tuple[int, list[str]]:
    """How many segments are there to go on from, and what is wrong with those that were not checked before."""
    wrong, count = [], 0
    request = film.request()
    lookups = survey(request, Cache(folder))
    ends = list(accumulate(lookup.segment.frames for lookup in lookups))  # scenes that are named need not follow one another
    for lookup, end in zip(lookups, ends, strict=True):
        if lookup.entry is None:
            continue
        count += 1
        if lookup.entry.video not in checked:
            checked.add(lookup.entry.video)
            if frames(lookup.entry.video) != list(cold[end - lookup.segment.frames : end]):
                wrong.append(f"{lookup.segment.label}: the segment kept is not the one of the cold render")
    return count, wrong


def strays(folder: Path, cache: Path) -> list[str]:
    """Files that a finished render should not have left: beside the film, in the cache's scratch, halves of entries."""
    beside = [path.name for path in folder.iterdir() if path != cache and not path.name.startswith("film")]
    scratch = [f"scratch/{path.name}" for path in (cache / "scratch").iterdir()]
    kept = {path.with_suffix("") for path in (cache / "segments").rglob("*.json")}
    halves = [path.name for path in (cache / "segments").rglob("*.*") if path.is_file() and path.with_suffix("") not in kept]
    return [*beside, *scratch, *halves]


def kill_and_go_on(film: Film, folder: Path, cold: Sequence[str], kills: int, seconds: float, chance: random.Random) -> Kills:
    """Kill renders of one film at random moments until `kills` have struck, then let it finish.

    `seconds` is what an undisturbed one takes.
    """
    result, checked, target, cache = Kills(), set[Path](), folder / "film.mp4", folder / "cache"
    while result.main + result.drawing < kills:
        process = film.start(target, cache, 2)
        end = time.monotonic() + chance.uniform(0.02, 0.98) * seconds
        while time.monotonic() < end and process.poll() is None:
            time.sleep(0.01)
        others = drawing(process.pid)
        victim = chance.choice(others) if others and chance.random() < 0.5 else process.pid
        if process.poll() is not None:
            result.finished += 1
        else:
            os.kill(victim, signal.SIGKILL)
            result.main, result.drawing = result.main + (victim == process.pid), result.drawing + (victim != process.pid)
        code = process.wait()
        if victim != process.pid and code == 0 and frames(target) != list(cold):  # it was done and about to end
            result.wrong.append("a process was killed and the film is not the cold render's")
        if not wait_for_none(process.pid):
            result.wrong.append(f"processes were left: {group(process.pid)}")
        if target.exists():  # it may be there whole, never in part
            if frames(target) != list(cold):
                result.wrong.append("the film is there but is not the cold render's")
            target.unlink()
            shutil.rmtree(cache / "segments")  # begin anew: kills are to meet all of a render
            checked.clear()
            continue
        count, wrong = check_cache(film, cache, cold, checked)
        result.kept.append(count)
        result.wrong += wrong
    film.render(target, cache, 2)
    if frames(target) != list(cold):
        result.wrong.append("gone on with, the film is not the cold render's")
    result.wrong += [f"left behind: {name}" for name in strays(folder, cache)]
    return result


def prove(film: Film, folder: Path, kills: int, seed: int = 1) -> list[str]:
    """Render and compare every way; prints as it goes; returns what is wrong."""
    wrong = []

    def told(way: str, seconds: float, target: Path) -> list[str]:
        found = frames(target)
        whole = hashlib.sha256("".join(found).encode()).hexdigest()[:16]
        same = "" if not cold or found == cold else ": NOT the cold render's"
        print(f"{way:34s} {len(found)} frames  {whole}  {seconds:5.1f} s{same}", flush=True)
        if same:
            wrong.append(f"{way}{same}")
        return found

    cold: list[str] = []
    first = folder / "two"
    first.mkdir()
    seconds = film.render(first / "film.mp4", first / "cache", 2)
    cold = told("cold, two processes", seconds, first / "film.mp4")
    told("warm", film.render(first / "again.mp4", first / "cache", 2), first / "again.mp4")
    if (first / "again.mp4").read_bytes() != (first / "film.mp4").read_bytes():
        wrong.append("warm: the file differs in its bytes")
    one = folder / "one"
    one.mkdir()
    alone = film.render(one / "film.mp4", one / "cache", 1)
    told("cold, one process", alone, one / "film.mp4")
    if kills:
        killed = folder / "killed"
        killed.mkdir()
        start = time.monotonic()
        result = kill_and_go_on(
            film, killed, cold, kills, min(seconds, alone), random.Random(seed)
        )  # the first may have compiled
        told("killed and gone on with", time.monotonic() - start, killed / "film.mp4")
        print(
            f"  {result.main} kills of the main process, {result.drawing} of a drawing one; {result.finished} ended first; "
            f"segments to go on from: {' '.join(map(str, result.kept))}"
        )
        wrong += result.wrong
    return wrong


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scene", action="append", default=[], choices=[row.name for row in FILM])
    parser.add_argument("--quality", default="l", choices=sorted(QUALITIES))
    parser.add_argument("--fps", type=int)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--render", nargs=3, metavar=("FILM", "CACHE", "WORKERS"), help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    film = Film(tuple(chosen.scene), chosen.quality, chosen.fps)
    if chosen.render:
        target, cache, workers = chosen.render
        make(film.request(), Path(target), Cache(Path(cache)), int(workers))
        return 0
    with tempfile.TemporaryDirectory(prefix="identical-") as folder:
        wrong = prove(film, Path(folder), chosen.kills, chosen.seed)
    print(*wrong, "nothing differs, nothing is lost, nothing lies about" if not wrong else f"{len(wrong)} wrong", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
