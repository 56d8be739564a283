"""What holds for the repository as a whole: sizes, licences, pins, and that it names no machine and no registry."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGES = ("kernels", "measure", "audio", "scenes")
PINS = ("base", "film", "plot", "song", "gpu-cuda12", "gpu-cuda13", "dev")
LARGE = re.compile(r"audio/tracks/[\w.-]+\.(m4a|flac|ogg|opus|mp3|wav)|scenes/loop\.webp")
"""The only files that may be over 1 MB: the tracks, and the README's loop."""

INDEX = re.compile(r"index-url|find-links|trusted-host|/simple/?[\"' ]|\"resolved\": *\"|registry *= *\"?http")
MACHINE_PATH = re.compile(r"(?:^|[^A-Za-z0-9_.}])/(?:work|tmp|root|home|Users)/")
WEAK_HASH = re.compile(r"--hash=(?!sha256:[0-9a-f]{64}\b)")

IMPORT_NAMES = {
    "PIL": "pillow", "skimage": "scikit-image", "cuda": "cuda-bindings", "attr": "attrs", "pynvml": "nvidia-ml-py",
    "pyworld": "pyworld-prebuilt",
}  # fmt: skip
"""Packages that are imported by another name than they are installed by."""

NEEDS = {
    "kernels/**/*.py": ("gpu-cuda12", "gpu-cuda13"),
    "measure/**/*.py": ("gpu-cuda12", "gpu-cuda13"),
    "audio/*.py": ("film",),  # what a film reads; the song is synthesised apart
    "audio/**/*.py": ("song",),
    "scenes/**/*.py": ("film",),
    "tests/**/*.py": ("dev",),
}
"""The pins that have to hold whatever some sources import."""


def tracked(root: Path) -> list[Path]:
    """The files under git, or every file of a copy without git, less what .gitignore names."""
    if shutil.which("git"):
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False)
        if listed.returncode == 0:
            return [root / name for name in listed.stdout.split("\0") if name and (root / name).is_file()]
    made = {line.strip("/") for line in (root / ".gitignore").read_text().splitlines()} | {".git"}
    return [path for path in root.rglob("*") if path.is_file() and not made & set(path.relative_to(root).parts)]


def text_lines(root: Path) -> Iterator[tuple[str, str]]:
    """`file:line` and the text of every line of every text file under git."""
    for path in tracked(root):
        data = path.read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode("utf-8").splitlines(), 1):
            yield f"{path.relative_to(root)}:{number}", line


def pinned(root: Path, extra: str) -> dict[str, str]:
    """Package -> version of a requirements file; where Python versions differ, the last one written."""
    text = (root / f"requirements-{extra}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ]+)", text, re.MULTILINE))


# ---- size -----------------------------------------------------------------------------------------------------------


def test_modules_hold_one_concept(root: Path) -> None:
    long = []
    for package in PACKAGES:
        for path in (root / package).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            passage = path.parent.name == "scenes" and re.search(r"^class \w+\((?:passage\.)?Passage\b", text, re.MULTILINE)
            length, limit = text.count("\n"), 250 if passage else 350
            if length > limit:
                long.append(f"{path.relative_to(root)}: {length} lines, at most {limit}")
    assert long == []
    assert (root / "roofline.py").read_text(encoding="utf-8").count("\n") <= 350


def test_files_are_small(root: Path) -> None:
    sizes = {path.relative_to(root).as_posix(): path.stat().st_size for path in tracked(root)}
    assert {name: size for name, size in sizes.items() if size > 1_000_000 and not LARGE.fullmatch(name)} == {}


# ---- what is named --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", [INDEX, MACHINE_PATH], ids=["registry", "machine path"])
def test_no_registry_and_no_path_of_a_machine_is_named(root: Path, pattern: re.Pattern[str]) -> None:
    own = "tests/test_repository.py:"
    assert [
        f"{where} {line.strip()[:80]}" for where, line in text_lines(root) if pattern.search(line) and own not in where
    ] == []


def test_files_that_install_hold_no_address(root: Path) -> None:
    files = [root / "roofline", root / ".ci/run", root / "pyproject.toml", *root.glob("requirements-*.txt")]
    assert [path.name for path in files if "://" in path.read_text()] == []


# ---- licence --------------------------------------------------------------------------------------------------------


def test_licence_and_notices_are_there(root: Path) -> None:
    assert (root / "LICENSE").read_text().startswith("MIT License\n")
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["license"] == "MIT"
    for font in (root / "scenes/stage/fonts").glob("*.[ot]tf"):
        family = font.stem.split("-")[0].removesuffix("Display")
        licence = (font.parent / f"OFL-{family}.txt").read_text()
        assert "SIL OPEN FONT LICENSE" in licence
        assert licence.startswith("Copyright ")


def test_notice_names_every_package_that_is_installed(root: Path) -> None:
    notice = (root / "NOTICE").read_text()
    names = {name for extra in PINS for name in pinned(root, extra)}
    aliases = {"cupy-cuda12x": "cupy", "cupy-cuda13x": "cupy", "colorama": "click"}  # colorama is for Windows only
    missing = [name for name in names if not re.search(rf"\b{aliases.get(name, name.removesuffix('-cu12'))}\b", notice)]
    assert missing == []


# ---- pins -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", PINS)
def test_every_requirement_is_pinned_and_hashed(root: Path, extra: str) -> None:
    text = (root / f"requirements-{extra}.txt").read_text()
    assert not WEAK_HASH.search(text)
    requirements = [line for line in re.sub(r"\\\n", "", text).splitlines() if line and not line.lstrip().startswith("#")]
    assert requirements
    for line in requirements:
        assert re.match(r"[a-z0-9-]+==[\w.]+ ", line), line
        assert "--hash=sha256:" in line


def test_pins_agree_and_cover_what_is_asked_for(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    everything = pinned(root, "dev")
    for extra in PINS:
        pins = pinned(root, extra)
        asked = [*project["dependencies"], *project["optional-dependencies"].get(extra, [])]
        names = {re.split(r"[\[<>=; ]", requirement)[0] for requirement in asked} - {"roofline"}
        assert names <= set(pins), extra
        differing = {name for name in pins if pins[name] != everything.get(name, pins[name])}
        assert differing <= ({"cuda-bindings"} if extra == "gpu-cuda12" else set()), extra
    for part in ("base", "film", "plot", "song"):
        assert set(pinned(root, part)) <= set(everything)


def test_measuring_pulls_no_film(root: Path) -> None:
    for extra in ("gpu-cuda12", "gpu-cuda13"):
        assert not {"manim", "manimpango", "pycairo", "av", "numba", "scipy", "matplotlib"} & set(pinned(root, extra))


@pytest.mark.parametrize("sources", NEEDS)
def test_whatever_is_imported_is_pinned(root: Path, sources: str) -> None:
    ours = {*PACKAGES, "roofline", *(path.stem for path in (root / "tests").rglob("*.py"))}
    names = set()
    for path in root.glob(sources):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    wanted = {IMPORT_NAMES.get(name, name) for name in names - ours - sys.stdlib_module_names}
    for extra in NEEDS[sources]:
        pins = {*pinned(root, extra)}
        if sources.startswith("measure/"):
            pins |= {*pinned(root, "plot")}  # a chart is drawn where a file is looked at, not where it is measured
        if any(name.startswith("cupy-") for name in pins):
            pins |= {"cupy", "cupyx", "cupy_backends"}
        assert wanted <= pins, extra
