"""As much of CuPy as `measure.all_reduce_group` uses, for a machine of several GPUs that is not there.

Each GPU has queues; what is queued runs in order once the host opens the gate in front of it.  A launch waits until those of
all ranks are at the head of their queues, then all of them run on the CPU, from their own sources, as fibres.  What would be a
mistake on a real machine is an error here: a kernel, a stream or an event used under another GPU than its own.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from kernels.all_reduce.algorithms import PRIMITIVES

sys.path.insert(0, str(Path(__file__).parents[2] / "kernels" / "helpers"))

from all_reduce_on_host import COMPILER, built

__all__ = ["COMPILER", "Array", "Device", "Event", "Function", "Machine", "Module", "Stream"]

EVENTS_APART = 1.0  # milliseconds between any two events, all that a test can know of time here


class Array(np.ndarray):
    """An array in the memory of one GPU."""

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self) -> np.ndarray:
        return np.array(self)


class Machine:
    """So many GPUs, `sms` each.  `install(monkeypatch)` puts them where CuPy would be."""

    def __init__(self, folder: Path, gpus: int, sms: int = 4) -> None:
        self.folder, self.gpus, self.sms, self.current = folder, gpus, sms, 0
        self.queues: list[list[Callable[[], bool]]] = []
        self.open: Any = None
        self.waiting: dict[Any, list[Any]] = {}
        self.launched: list[tuple[str, int, tuple[int, ...]]] = []

    def install(self, monkeypatch: Any) -> None:
        cupy, cuda, function = ModuleType("cupy"), ModuleType("cupy.cuda"), ModuleType("cupy.cuda.function")
        for name in ("uint32", "uint64", "int32", "float32", "float64", "nan"):
            setattr(cupy, name, getattr(np, name))
        for name in ("empty", "zeros", "arange", "ldexp", "abs", "isnan", "isfinite", "maximum"):
            setattr(cupy, name, _arrays(getattr(np, name)))
        vars(cupy).update(cuda=cuda, get_default_memory_pool=lambda: SimpleNamespace(free_all_blocks=lambda: None))
        runtime = SimpleNamespace(deviceSynchronize=self.run_all, memcpyAsync=self.memcpy, memcpyDeviceToDevice=3)
        vars(cuda).update(
            Device=lambda number=None: Device(self, self.current if number is None else number),
            Stream=lambda non_blocking: Stream(self),
            Event=lambda: Event(self),
            get_elapsed_time=lambda start, stop: EVENTS_APART,
            alloc_pinned_memory=self.pinned,
            runtime=runtime,
            function=function,
        )
        vars(function)["Module"] = lambda: Module(self)
        driver = SimpleNamespace(occupancyMaxActiveBlocksPerMultiprocessor=lambda *_: 1)
        backends = SimpleNamespace(driver=driver)
        found = {"cupy": cupy, "cupy.cuda": cuda, "cupy.cuda.function": function, "cupy_backends.cuda.api": backends}
        for name, module in found.items():
            monkeypatch.setitem(sys.modules, name, module)
        for name in ("cupy_backends", "cupy_backends.cuda"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))

    def pinned(self, size: int) -> Any:
        class Memory(ctypes.c_char * size):  # type: ignore[misc]
            pass

        memory: Any = Memory()
        memory.ptr = ctypes.addressof(memory)
        self.open = np.frombuffer(memory, np.uint32, 1)
        return memory

    def run_all(self) -> None:
        """Run whatever can be run; what a closed gate or a missing rank holds stays."""
        moved = True
        while moved:
            moved = False
            for queue in self.queues:
                while queue and queue[0]():
                    queue.pop(0)
                    moved = True

    def memcpy(self, target: int, source: int, size: int, kind: int, stream: int) -> None:
        def copy() -> bool:
            ctypes.memmove(target, source, size)
            return True

        self.queues[stream].append(copy)

    def together(self, program: Any, key: Any, launch: Any) -> bool:
        """Whether all ranks have come to a launch; the last one to come runs it for all."""
        ready = self.waiting.setdefault(key, [])
        if launch not in ready:
            ready.append(launch)
        if sum(one.grid[1] for one in ready) < program.constants["RANKS"]:
            return False
        if not launch.done:
            assert len({one.grid[0] for one in ready}) == 1, "ranks with different grids"
            assert all(one.grid[0] * one.grid[1] <= self.sms for one in ready), "more blocks than run at once"
            _run(self.folder, program, ready)
            for one in ready:
                one.done = True
        return True


class Device:
    """One GPU; inside of `with` it is the current one."""

    compute_capability = "90"

    def __init__(self, machine: Machine, number: int) -> None:
        assert 0 <= number < machine.gpus
        self.machine, self.id, self.before = machine, number, 0
        self.attributes = {"MultiProcessorCount": machine.sms}

    def __enter__(self) -> Device:
        self.before, self.machine.current = self.machine.current, self.id
        return self

    def __exit__(self, *_: object) -> None:
        self.machine.current = self.before


class Stream:
    """A queue of one GPU."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.device, self.ptr = machine, machine.current, len(machine.queues)
        machine.queues.append([])

    def synchronize(self) -> None:
        self.machine.run_all()
        self.machine.queues[self.ptr].clear()  # patience ends in any case


class Event:
    """A mark in a queue of the same GPU."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.device, self.queue = machine, machine.current, 0

    def record(self, stream: Stream) -> None:
        assert self.device == stream.device == self.machine.current, "an event of another GPU"
        self.queue = stream.ptr

    def synchronize(self) -> None:
        self.machine.run_all()


class Module:
    """Machine code on the GPU that was current when it was loaded."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.device = machine, machine.current

    def load(self, program: Any) -> None:
        self.program = program

    def get_function(self, entry: str) -> Function:
        return Function(self.machine, self.program, entry)


class Function:
    """A kernel on the GPU that was current when it was loaded."""

    ptr = 0

    def __init__(self, machine: Machine, program: Any, entry: str) -> None:
        self.machine, self.program, self.entry, self.device = machine, program, entry, machine.current

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], arguments: Any, stream: Stream) -> None:
        machine = self.machine
        assert machine.current == self.device == stream.device, "a kernel or a stream of another GPU"
        if self.entry == "gate":
            ticket = int(arguments[1])
            machine.queues[stream.ptr].append(lambda: int(machine.open[0]) >= ticket)
            return
        machine.launched.append((self.entry, self.device, grid))
        launch = SimpleNamespace(grid=grid, block=block, arguments=arguments, entry=self.entry, done=False)
        key = (self.entry, int(arguments[2]), int(arguments[3]))
        machine.queues[stream.ptr].append(lambda: machine.together(self.program, key, launch))


def _arrays(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(*arguments: Any, **options: Any) -> Any:
        found = make(*arguments, **options)
        return found.view(Array) if isinstance(found, np.ndarray) else found

    return made


def _run(folder: Path, program: Any, launches: list[Any]) -> None:
    """All ranks' part of one call, on the CPU."""
    group, _, count, epoch, _ = launches[0].arguments
    ranks, blocks = program.constants["RANKS"], launches[0].grid[0]
    source = program.text.removeprefix(PRIMITIVES.read_text(encoding="utf-8"))
    library = built(folder, source, {**program.constants, "ENTRIES": program.entries[0]})
    room = 4 * (int(count) + 64)
    rows = {
        name: (ctypes.c_void_p * ranks)(*(int(place) for place in group[name][0]))
        for name in ("in", "out", "signals", "failed")
    }
    data = b"".join(ctypes.string_at(int(place), room) for place in group["in"][0])
    finished = ctypes.CDLL(str(library)).run(
        0,
        rows["in"],
        rows["out"],
        rows["signals"],
        rows["failed"],
        data,
        ctypes.create_string_buffer(ranks * room),
        ctypes.c_long(room),
        ctypes.c_ulonglong(int(count)),
        blocks,
        1,
        ctypes.c_uint(int(epoch)),
        ctypes.c_ulonglong(1 << 60),
        int(launches[0].grid[1] == ranks),
        -1,
        -1,
        ctypes.c_long(4_000_000),
    )
    assert finished == ranks
