"""How much faster the stage is than plain Manim mobjects: 32 x 32 moving boxes at 1080p60, drawn both ways in one run.

    python -m scenes.benchmarks.voxels [--size 1920x1080] [--rounds 3] [--frames 90]

Both ways are real manim.Scene classes on the project's renderer and encoder. The plain one has one manim.Polygon for each
visible face, in the same painter's order and with the same flat colours; projection, order and colours are computed for all
faces at once, and each polygon then gets them by Manim's own methods. For the comparison the stage leaves out light, shadows
and glow (Raster flat), so that both mean one picture; a third row shows the stage with all of them. Each way is timed drawing
only, and with x264 in a thread of its own (as Manim has it) by two presets: the film's, and the one that leaves it the least to
do. Two free cores are needed. Rounds alternate, because a machine's speed drifts.
"""

from __future__ import annotations

import argparse
import queue
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import manim
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from scenes.render.encode import Encoder
from scenes.render.quality import QUALITIES, Quality
from scenes.render.renderer import FrameRenderer
from scenes.stage.camera import Camera
from scenes.stage.mobject import BatchMobject, as_uint32
from scenes.stage.order import painters_order
from scenes.stage.raster import Raster
from scenes.stage.world import Boxes, Fog, Ground, Light, World

SIDE, PITCH, WIDTH = 32, 0.5, 0.43  # boxes a side, their spacing and width in world units
AMBER, STEEL, PLATE = np.array([1.0, 0.69, 0.0]), np.array([0.17, 0.20, 0.27]), (0.055, 0.070, 0.105)
# corners are numbered x + 2 y + 4 z; faces -y +x +y -x +z
FACES = np.array([[0, 1, 5, 4], [1, 3, 7, 5], [3, 2, 6, 7], [2, 0, 4, 6], [4, 5, 7, 6]])

Sink = Callable[[NDArray[np.uint8]], None]


def moment(second: float) -> tuple[World, Camera]:
    """The scene at a time: a wave runs through the field while the camera circles it."""
    i, j = (v.ravel() for v in np.meshgrid(np.arange(SIDE), np.arange(SIDE)))
    half = SIDE * PITCH / 2
    x, y = i * PITCH - half, j * PITCH - half
    r = np.hypot(x - 3 * np.sin(second), y + 2 * np.cos(0.8 * second))
    wave = (0.5 + 0.5 * np.sin(1.1 * r - 4 * second)) ** 2 * np.exp(-r * r / 60)
    height = 0.2 + 1.9 * wave + 0.45 * (0.5 + 0.5 * np.sin(0.8 * x + 0.6 * y + 2 * second)) ** 3
    foot = hidden_feet(height.reshape(SIDE, SIDE)).ravel()
    colour = STEEL + (AMBER - STEEL) * np.clip(1.6 * wave, 0, 1)[:, None]
    world = World(light=Light(radius=10, ambient=0.3), fog=Fog(start=18, end=60), ground=Ground(spacing=2.0))
    world.add(Boxes.of([(-half - 0.25, -half - 0.25, 0)], (2 * half + 0.43, 2 * half + 0.43, 0.2), PLATE, edge=0.9))
    size = np.column_stack([np.full((SIDE * SIDE, 2), WIDTH), height - foot])
    world.add(Boxes.of(np.column_stack([x, y, 0.2 + foot]), size, colour, np.clip(wave - 0.2, 0, 1), 0.6, shadow=False))
    return world, Camera.orbit((0, 0, 0.1), 29, 32 + 9 * second, 33, 32)


def hidden_feet(height: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much of each box, from below, all its neighbours hide from an eye above the field: both ways leave that out."""
    z = np.pad(height, 1)
    lowest = np.minimum(np.minimum(z[2:, 1:-1], z[:-2, 1:-1]), np.minimum(z[1:-1, 2:], z[1:-1, :-2]))
    return np.clip(np.minimum(lowest, height) - 0.6 * PITCH, 0, None)


class StageField(BatchMobject):
    """The whole field as one mobject."""

    paints_every_pixel = True

    def __init__(self, flat: bool) -> None:
        super().__init__()
        self.flat, self.second = flat, 0.0
        self._raster: Raster | None = None

    def show_moment(self, second: float) -> None:
        self.second = second

    def draw_batch(self, camera: manim.Camera, pixel_array: NDArray[np.uint8]) -> None:
        height, width = pixel_array.shape[:2]
        if self._raster is None:
            self._raster = Raster(width, height, self.flat)
        self._raster.render(*moment(self.second), as_uint32(pixel_array))


class PlainField(manim.VGroup):
    """The same field as one manim.Polygon for each visible face, back to front."""

    def __init__(self) -> None:
        square = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0)]
        faces = [manim.Polygon(*square, stroke_width=0, fill_opacity=1) for _ in range(3 * (SIDE * SIDE + 1))]
        super().__init__(*faces)

    def show_moment(self, second: float) -> None:
        quads, colours = visible_faces(*moment(second))
        for polygon, corners, colour in zip(self.submobjects, quads, colours, strict=False):
            polygon.set_points_as_corners([*corners, corners[0]])
            polygon.set_fill(manim.ManimColor(colour), 1.0)
        for polygon in self.submobjects[len(quads) :]:
            polygon.set_fill(opacity=0.0)


def visible_faces(world: World, camera: Camera) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Faces that the camera sees, far to near: corners (N, 4, 3) in Manim's units and fill colours (N, 3)."""
    boxes = world.all_boxes()
    low, high = boxes.origin, boxes.origin + boxes.size
    eye = np.asarray(camera.eye, np.float32)
    bits = np.arange(8)
    corners = np.where(np.stack([bits & 1, bits >> 1 & 1, bits >> 2], -1).astype(bool), high[:, None], low[:, None])
    width, height = manim.config.pixel_width, manim.config.pixel_height
    flat = camera.project(corners.reshape(-1, 3), width, height).reshape(-1, 8, 3)
    rect = np.concatenate([flat[..., :2].min(1), flat[..., :2].max(1)], -1).astype(np.float32)
    none = np.empty((0, 3), np.float32)
    order, _ = painters_order(low, high, rect, len(low), none, none, np.empty((0, 6), np.float32), eye)
    seen = np.stack([eye[1] < low[:, 1], eye[0] > high[:, 0], eye[1] > high[:, 1], eye[0] < low[:, 0], eye[2] > high[:, 2]], -1)
    box, face = np.nonzero(seen[order])
    box = order[box]
    scale = manim.config.frame_width / width
    quads = flat[box[:, None], FACES[face]]
    quads = np.stack([(quads[..., 0] - width / 2) * scale, (height / 2 - quads[..., 1]) * scale, 0 * quads[..., 0]], -1)
    shade = np.asarray(world.light.face)[face]
    return quads, boxes.color[box] * shade[:, None]


class VoxelScene(manim.Scene):
    """Shows a field frame by frame."""

    field: StageField | PlainField
    frames = 1

    def construct(self) -> None:
        self.add(self.field)
        fps = manim.config.frame_rate
        self.play(manim.UpdateFromAlphaFunc(self.field, self.advance, run_time=(self.frames - 0.5) / fps))

    def advance(self, field: manim.Mobject, alpha: float) -> None:
        self.field.show_moment(alpha * self.frames / manim.config.frame_rate)


@contextmanager
def manim_set_up(quality: Quality) -> Iterator[Path]:
    """Manim's settings for one size, without media of its own; yields a folder for the files."""
    with tempfile.TemporaryDirectory(prefix="voxels-") as folder:
        settings = {
            "pixel_width": quality.width, "pixel_height": quality.height, "frame_rate": quality.fps, "media_dir": folder,
            "dry_run": True, "progress_bar": "none", "verbosity": "ERROR", "disable_caching": True,
            "background_color": manim.ManimColor.from_rgb(Ground().color),
        }  # fmt: skip
        with manim.tempconfig(settings):
            yield Path(folder)


def play(field: StageField | PlainField, frames: int, sink: Sink) -> None:
    """Play a field's first frames into a sink."""
    scene = VoxelScene(renderer=FrameRenderer(sink))
    scene.field, scene.frames = field, frames
    scene.render()


class EncoderThread:
    """Encodes frames in the order they come, a few frames behind the drawing; a context manager."""

    def __init__(self, path: Path, quality: Quality) -> None:
        self.times: list[float] = []
        self._frames: queue.Queue[NDArray[np.uint8] | None] = queue.Queue(4)
        self._encoder = Encoder(path, quality)
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with self._encoder as encoder:
            while (frame := self._frames.get()) is not None:
                encoder.write(frame)
                self.times.append(time.perf_counter())

    def write(self, pixels: NDArray[np.uint8]) -> None:
        self._frames.put(pixels.copy())

    def __enter__(self) -> EncoderThread:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._frames.put(None)
        self._thread.join()


def rate(times: list[float]) -> float:
    """Frames a second from the first frame to the last: without the scene's set-up."""
    return (len(times) - 1) / (times[-1] - times[0])


def drawing_speed(make: Callable[[], StageField | PlainField], frames: int) -> float:
    times: list[float] = []
    play(make(), frames, lambda pixels: times.append(time.perf_counter()))
    return rate(times)


def encoding_speed(make: Callable[[], StageField | PlainField], frames: int, quality: Quality, path: Path) -> float:
    with EncoderThread(path, quality) as encoder:
        play(make(), frames, encoder.write)
    return rate(encoder.times)


def ssim(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """Structural similarity of two pictures (H, W, 3), mean over pixels and channels: Wang et al. 2004, Gaussian of 1.5 px."""

    def mean(picture: NDArray[np.float64]) -> NDArray[np.float64]:
        blurred: NDArray[np.float64] = gaussian_filter(picture, (1.5, 1.5, 0), truncate=3.5)
        return blurred

    x, y = a.astype(float), b.astype(float)
    mx, my = mean(x), mean(y)
    covariance = mean(x * y) - mx * my
    variances = mean(x * x) - mx * mx + mean(y * y) - my * my
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    return float(np.mean((2 * mx * my + c1) * (2 * covariance + c2) / ((mx * mx + my * my + c1) * (variances + c2))))


def similarity(quality: Quality, frames: int = 24, every: int = 8) -> float:
    """Least SSIM of a few frames of the stage, flat, and of the plain mobjects."""

    with manim_set_up(quality):
        pictures: list[list[NDArray[np.uint8]]] = []
        for field in (StageField(flat=True), PlainField()):
            shown: list[NDArray[np.uint8]] = []
            play(field, frames, lambda pixels, shown=shown: shown.append(pixels[..., :3].copy()))  # type: ignore[misc]
            pictures.append(shown[::every])
    return min(ssim(a, b) for a, b in zip(*pictures, strict=True))


def measure(quality: Quality, rounds: int, frames: int) -> dict[str, dict[str, list[float]]]:
    """Frames a second of each way, drawn only and encoded too, round by round."""
    fast = replace(quality, preset="ultrafast")
    ways: dict[str, Callable[[], StageField | PlainField]] = {
        "plain mobjects": PlainField,
        "stage, flat": lambda: StageField(flat=True),
        "stage, lit": lambda: StageField(flat=False),
    }
    result: dict[str, dict[str, list[float]]] = {name: {"drawn": [], fast.preset: [], quality.preset: []} for name in ways}
    with manim_set_up(quality) as folder:
        for make in ways.values():  # compile and touch everything once
            play(make(), 2, lambda pixels: None)
        for _ in range(rounds):
            for name, make in ways.items():
                count = max(6, frames // 8) if name == "plain mobjects" else frames
                result[name]["drawn"].append(drawing_speed(make, count))
                for setting in (fast, quality):
                    result[name][setting.preset].append(encoding_speed(make, count, setting, folder / "voxels.mp4"))
    return result


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--frames", type=int, default=90)
    chosen = parser.parse_args(arguments)
    width, _, height = chosen.size.partition("x")
    base = QUALITIES["h"]
    quality = Quality(base.letter, int(width), int(height), base.fps, base.preset, base.crf)
    ssim = similarity(quality)
    result: dict[str, dict[str, Any]] = dict(measure(quality, chosen.rounds, chosen.frames))
    print(f"{SIDE} x {SIDE} moving boxes, {quality.label}, x264 crf {quality.crf}, {chosen.rounds} rounds; frames a second")
    plain = {mode: statistics.median(values) for mode, values in result["plain mobjects"].items()}
    for name, modes in result.items():
        cells = []
        for mode, values in modes.items():
            median = statistics.median(values)
            cells.append(f"{mode} {median:5.1f} ({min(values):.1f}-{max(values):.1f}), {median / plain[mode]:4.1f} x")
        print(f"  {name:15s} {' | '.join(cells)}")
    print(f"  same picture: SSIM {ssim:.4f} (stage flat against plain mobjects)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
