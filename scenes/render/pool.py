"""Worker processes that draw jobs side by side.  They start fresh, share nothing, and end with the run that made them."""

from __future__ import annotations

import contextlib
import gc
import importlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from scenes.render.errors import RenderError
from scenes.render.quality import Quality
from scenes.render.segment import Drawn, Job, prepare, run
from scenes.stage import jit

TELL_EVERY = 0.25  # seconds between two reports of a worker
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Finished:
    """A job that is done, by its place in the list, and the number of the process that drew it."""

    index: int
    drawn: Drawn
    worker: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """Frames that a job has drawn so far."""

    index: int
    frames: int


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection
    index: int = -1


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compiled() -> bool:
    """Whether the pixel code as it stands has been compiled and is on disk."""
    return any(jit.folder().rglob("*.nbc"))


def draw(jobs: Sequence[Job], quality: Quality, workers: int, scratch: Path) -> Iterator[Progress | Finished]:
    """Draw jobs in `workers` processes and report as they go; jobs start in the order given.

    Raises RenderError when a scene raises or a worker dies.  However it ends, no process is left behind.
    """
    context = multiprocessing.get_context("spawn")
    waiting = list(enumerate(jobs))
    modules = tuple(dict.fromkeys(job.row.module for job in jobs))
    team: list[_Worker] = []
    try:
        for number in range(min(workers, len(jobs))):
            folder = scratch / f"worker-{number}"
            folder.mkdir()
            here, there = context.Pipe()
            process = context.Process(target=_work, args=(there, folder, quality, modules), name=f"draw-{number}", daemon=True)
            with _born_calm():
                process.start()
            there.close()
            team.append(_Worker(process, here))
            _next(team[-1], waiting)
        busy = [worker for worker in team if worker.index >= 0]
        while busy:
            for ready in wait([worker.pipe for worker in busy]):
                worker = next(worker for worker in busy if worker.pipe is ready)
                try:
                    kind, value = worker.pipe.recv()
                except (EOFError, ConnectionError):
                    worker.process.join(5)
                    raise RenderError(_death(jobs[worker.index], worker.process.exitcode)) from None
                if kind == "failed":
                    said, trace = value
                    raise RenderError(f"{jobs[worker.index].row.name}: {said}", trace)
                if kind == "frames":
                    yield Progress(worker.index, value)
                else:
                    yield Finished(worker.index, value, team.index(worker))
                    _next(worker, waiting)
            busy = [worker for worker in busy if worker.index >= 0]
    finally:
        for worker in team:
            if worker.process.is_alive() and worker.index >= 0:
                worker.process.terminate()
            worker.pipe.close()
        for worker in team:
            worker.process.join(5)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()


@contextlib.contextmanager
def _born_calm() -> Iterator[None]:
    """Children start with one thread a library, and deaf to Ctrl-C: the parent is to answer it."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update({name: "1" for name in THREADS if before[name] is None})
    heard = signal.signal(signal.SIGINT, signal.SIG_IGN) if threading.current_thread() is threading.main_thread() else None
    try:
        yield
    finally:
        if heard is not None:
            signal.signal(signal.SIGINT, heard)
        for name in THREADS:
            if before[name] is None:
                os.environ.pop(name, None)


def _next(worker: _Worker, waiting: list[tuple[int, Job]]) -> None:
    """Give a worker its next job; with none left its pipe is closed, which ends it."""
    worker.index, job = waiting.pop(0) if waiting else (-1, None)
    if job is None:
        worker.pipe.close()
    else:
        worker.pipe.send((job, worker.index))


def _death(job: Job, code: int | None) -> str:
    how = f"exit code {code}"
    if code is not None and code < 0:
        how = signal.Signals(-code).name + (": out of memory? fewer --jobs need less" if code == -signal.SIGKILL else "")
    return f"{job.row.name}: the process that drew frames {job.first} to {job.last - 1} died ({how})"


def _work(pipe: Connection, folder: Path, quality: Quality, modules: Sequence[str]) -> None:
    """A worker's life: prepare Manim once, then draw jobs until the pipe closes.

    Every scene is imported at the start, so that code which is edited during a long render is not drawn half old, half new.
    """
    try:
        try:
            prepare(folder, quality)
            for module in modules:
                importlib.import_module(module)
        except Exception as error:
            pipe.send(("failed", _failure(error)))
            return
        while True:
            job, _ = pipe.recv()
            told = -TELL_EVERY  # the first frame is told at once

            def tell(frames: int) -> None:
                nonlocal told
                if time.monotonic() - told >= TELL_EVERY:
                    told = time.monotonic()
                    pipe.send(("frames", frames))

            try:
                drawn = run(job, tell)
            except (BrokenPipeError, ConnectionError):
                raise
            except Exception as error:
                pipe.send(("failed", _failure(error)))
                return
            gc.collect()  # a scene is a ring of references around frame-sized buffers: some 80 MB at 1080p
            pipe.send(("done", drawn))
    except (EOFError, BrokenPipeError, ConnectionError):
        return  # the run that asked is over


def _failure(error: Exception) -> tuple[str, str]:
    """An error in one line, and its whole traceback."""
    return _said(error), "".join(traceback.format_exception(error))


def _said(error: BaseException) -> str:
    """An error in one line: what was raised and the line of ours that raised it."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    where = f" ({Path(ours[-1].filename).name}:{ours[-1].lineno})" if ours else ""
    kind = "" if isinstance(error, RenderError) else f"{type(error).__name__}: "
    return f"{kind}{' '.join(str(error).split())}{where}"
