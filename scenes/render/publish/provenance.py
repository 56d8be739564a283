"""Where a film comes from, as JSON beside it: GPU, driver, dates, files with their digests, code, versions, song."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from audio.tracks import Track
from measure.dataset import Dataset
from scenes.render.claims_file import Span
from scenes.render.content import FONTS, LIBRARIES, ROOT
from scenes.render.master import whole_file
from scenes.render.quality import Quality

SCHEMA = 1


def write(target: Path, film: Path, quality: Quality, spans: tuple[Span, ...], data: Dataset, track: Track) -> Path:
    """Write a film's provenance, whole or not at all."""
    body = document(film, quality, spans, data, track)
    with whole_file(target) as part:
        part.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


def document(film: Path, quality: Quality, spans: tuple[Span, ...], data: Dataset, track: Track) -> dict[str, Any]:
    """The provenance as plain values; a file is named without its folder, which is nobody's concern but its owner's."""
    return {
        "schema": SCHEMA,
        "film": {
            "file": film.name, "sha256": sha256(film), "size": [quality.width, quality.height], "fps": quality.fps,
            "frames": sum(span.last - span.first for span in spans), "scenes": [asdict(span) for span in spans],
            "rendered": datetime.now(UTC).isoformat(timespec="seconds"),
        },
        "gpu": gpu(data),
        "measurements": [measurement(Path(spec)) for spec in data.specs],
        "track": {"title": track.timeline.title, "file": track.path.name, "sha256": sha256(track.path)},
        "project": project(),
        "versions": versions(),
        "fonts": {path.name: sha256(path) for path in sorted(FONTS.glob("*.[ot]tf"))},
    }  # fmt: skip


def gpu(data: Dataset) -> dict[str, Any]:
    """The GPU that the film tells of, and how it was measured; `measured` is None where its figures were published."""
    device, run = data.device, data.run
    return {
        "name": device.name,
        "compute_capability": device.compute_capability,
        "measured": None if run is None else {
            "date": run.date, "driver": run.driver, "cuda_driver": run.cuda_driver, "cuda_runtime": run.cuda_runtime,
            "nvrtc": run.nvrtc, "cupy": run.cupy, "kernels_sha256": run.kernels_sha256,
            "clock_MHz": None if run.clock is None else run.clock.value,
        },
    }  # fmt: skip


def measurement(path: Path) -> dict[str, Any]:
    """A measurement file: its name, digest, device, and when it was measured."""
    found = Dataset.open([path]).main
    return {
        "file": path.name, "sha256": sha256(path), "device": found.device.name,
        "date": None if found.run is None else found.run.date, "kind": "published" if found.run is None else "measured",
    }  # fmt: skip


def project(root: Path = ROOT) -> dict[str, Any]:
    """Name and version of the project, its commit and whether its files differ from that; None where that is not known."""
    told = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    commit = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return {
        "name": told["name"], "version": told["version"], "commit": commit,
        "changed_since": None if commit is None or changed is None else bool(changed),
    }  # fmt: skip


def versions() -> Mapping[str, str]:
    """Python, the system's kind, the libraries that drew the film, and the coders inside of PyAV."""
    import av

    found = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    found.update({name: importlib.metadata.version(name) for name in LIBRARIES})
    found["ffmpeg"] = av.ffmpeg_version_info
    return found


def sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, as hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _git(root: Path, *arguments: str) -> str | None:
    """What git says, or None where there is no git, or no repository of this project's own."""
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
