"""What a render needs, checked one by one, each failure with its cure; `measure.doctor` adds what a measurement needs."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from measure import doctor
from measure.finding import Finding, show
from measure.machine import package

ROOT = Path(__file__).resolve().parents[2]
FILM_LIBRARIES = ("manim", "manimpango", "cairo", "av", "numba", "numpy", "scipy", "PIL", "pydub", "click", "rich", "cattrs")
PACKAGES = {"cairo": "pycairo", "PIL": "pillow"}
FONTS = ("InterDisplay-Bold.otf", "InterDisplay-Medium.otf", "JetBrainsMono-Bold.ttf", "JetBrainsMono-Medium.ttf")
ROOM = 3e9  # bytes: a film of the default quality with its segments, and as much again


def python() -> Finding:
    version = ".".join(str(part) for part in sys.version_info[:3])
    good = (3, 11) <= sys.version_info[:2] <= (3, 14)
    return Finding("Python", "ok" if good else "FAILS", version, "install Python 3.11 to 3.14 and run ./roofline again")


def libraries() -> Iterator[Finding]:
    for name in FILM_LIBRARIES:
        package = PACKAGES.get(name, name)
        try:
            if name != "pydub":  # its import looks for programs that are not needed here
                importlib.import_module(name)
            version = importlib.metadata.version(package)
        except Exception as error:
            yield Finding(
                package,
                "FAILS",
                " ".join(str(error).split()) or type(error).__name__,
                "run ./roofline render --help: it installs",
            )
            continue
        if name == "manim" and not version.startswith("0.22."):
            yield Finding(package, "FAILS", version, "0.22 is needed: its frame counts are what the clock relies on")
        else:
            yield Finding(package, "ok", version)


def encoders() -> Iterator[Finding]:
    for name in ("libx264", "aac"):
        try:
            from av.codec import Codec

            Codec(name, "w")
            yield Finding(f"encoder {name}", "ok", "in PyAV")
        except Exception as error:
            yield Finding(f"encoder {name}", "FAILS", str(error), "install PyAV's own wheel: pip install --force-reinstall av")


def fonts() -> Finding:
    folder = ROOT / "scenes" / "stage" / "fonts"
    missing = [name for name in FONTS if not (folder / name).is_file()]
    cure = "restore scenes/stage/fonts from the repository"
    return Finding(
        "fonts", "FAILS" if missing else "ok", f"missing {', '.join(missing)}" if missing else f"{len(FONTS)} faces", cure
    )


def track() -> Finding:
    cure = "restore audio/tracks from the repository, or synthesise it again: ./roofline song"
    try:
        from audio import tracks
        from audio.decode import decode

        opened = tracks.default()
        seconds = len(decode(opened.path)) / 1000
        wrong = (
            "" if seconds >= opened.timeline.duration - 0.5 else f", but its timeline is {opened.timeline.duration:.1f} s long"
        )
        return Finding("track", "FAILS" if wrong else "ok", f"{opened.timeline.title}, {seconds:.1f} s{wrong}", cure)
    except Exception as error:
        return Finding("track", "FAILS", str(error), cure)


def measurement_files() -> Iterator[Finding]:
    cure = "restore measure/measurements from the repository, or measure again: ./roofline measure"
    try:
        from measure.dataset import Dataset, known_names
    except ImportError as error:
        yield Finding("measurements", "FAILS", str(error), "run ./roofline render --help: it installs")
        return
    for name, specs in (("measurements", ()), *((name, (name,)) for name in known_names())):
        try:
            dataset = Dataset.open(specs)
            yield Finding(name, "ok", f"{dataset.device.name}{'' if specs else ', the default'}")
        except Exception as error:
            yield Finding(name, "FAILS" if not specs else "absent", str(error), cure)


def disk() -> Iterator[Finding]:
    cache = Path(os.environ.get("ROOFLINE_CACHE") or ROOT / ".roofline" / "cache")
    for what, folder, cure in (
        ("cache", cache, "name another folder in ROOFLINE_CACHE"),
        ("output", Path("out"), "name another file with -o"),
    ):
        there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
        free = shutil.disk_usage(there).free
        if not os.access(there, os.W_OK):
            yield Finding(what, "FAILS", f"{there} cannot be written", cure)
        else:
            yield Finding(
                what, "ok" if free > ROOM else "FAILS", f"{free / 1e9:.1f} GB free at {there}", f"free some space, or {cure}"
            )


def charts() -> Finding:
    """Only a roofline as a picture needs it."""
    version = package("matplotlib")
    return Finding("matplotlib", "ok" if version else "note", version or "not installed", "./roofline show --png installs it")


def findings() -> Iterator[Finding]:
    """Everything, in order; a check that itself breaks is a failure with its error."""
    single: tuple[Callable[[], Finding], ...] = (python, fonts, track, charts)
    several: tuple[Callable[[], Iterator[Finding]], ...] = (libraries, encoders, measurement_files, disk)
    yield single[0]()
    yield from several[0]()
    yield from several[1]()
    for check in single[1:]:
        yield check()
    for checks in several[2:]:
        yield from checks()


def main() -> int:
    """Print every finding; 0 when the film can be rendered here, whether or not a GPU can be measured, else 1."""
    film = list(findings())
    show("rendering the film", film)
    gpu = list(doctor.findings())
    print()
    show("measuring a GPU", gpu)
    failed = sum(finding.state == "FAILS" for finding in film)
    print()
    print("the film can be rendered here" if not failed else f"the film cannot be rendered here yet: {failed} to cure")
    print(doctor.summary(gpu))
    return 1 if failed else 0
