"""Ranks that all-reduce through peer pointers: one on each GPU of this process, or several that share one GPU.  Needs CuPy."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernels.all_reduce.algorithms import (
    SIGNAL_NUMBERS,
    THREADS,
    algorithm,
    constants,
    gate_program,
    launch,
    most_blocks,
    per_pack,
)
from kernels.build import build_program
from kernels.catalogue import Launch, Program
from measure import all_reduce_check as checks
from measure.all_reduce_check import Verdict
from measure.errors import MeasureError

PATIENCE = 10.0
"""Seconds that a rank waits for another before it gives up: far more than any call takes."""

LARGEST_GRID = 1024
"""Blocks a rank that the sheets of signals have room for."""

HELD = 0.02
"""Seconds that the gate is held to see whether launches come back meanwhile."""

SOAK_CALLS = 8


@dataclass(slots=True)
class Lane:
    """A GPU's stream and the consecutive ranks that are launched on it together."""

    device: int
    first: int
    ranks: int
    stream: Any
    start: Any
    stop: Any
    functions: dict[Any, Any] = field(default_factory=dict)


class RankGroup:
    """`devices[r]` is the GPU of rank r; `room` values each.  GPUs must be able to reach each other's memory.

    `together` starts the ranks of one GPU by one launch; otherwise each has a stream of its own, as on several GPUs.
    `per_sm` limits the blocks on one SM.  Call `close` at the end.
    """

    def __init__(self, devices: Sequence[int], room: int, together: bool = True, per_sm: int = 32) -> None:
        import cupy

        self._cupy: Any = cupy
        self.ranks, self._devices, self._per_sm = len(devices), tuple(devices), per_sm
        self._home = int(cupy.cuda.Device().id)
        self.extra: dict[str, Callable[[int], None]] = {}
        self._calls = self._ticket = 0
        self._warm: set[tuple[str, int]] = set()
        self._most: dict[tuple[str, bool], int] = {}
        self._exact = self._scale = None
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        signals, failed = [], []
        for device in self._devices:
            with cupy.cuda.Device(device):
                self.inputs.append(cupy.empty(room + checks.BEYOND, cupy.float32))
                self.outputs.append(cupy.empty(room + checks.BEYOND, cupy.float32))
                signals.append(cupy.zeros(LARGEST_GRID * self.ranks, cupy.uint32))
                failed.append(cupy.zeros(1, cupy.uint32))
        self._signals, self._failed = signals, failed
        self._group = np.zeros(1, [(name, np.uint64, self.ranks) for name in ("in", "out", "signals", "failed")])
        for name, arrays in (("in", self.inputs), ("out", self.outputs), ("signals", signals), ("failed", failed)):
            self._group[name][0] = [array.data.ptr for array in arrays]
        memory = cupy.cuda.alloc_pinned_memory(4)  # host memory has one address for all GPUs and the CPU
        self._open, self._open_at = np.frombuffer(memory, np.uint32, 1), np.uint64(memory.ptr)
        self._open[0] = 0
        self.lanes = [self._lane(first, ranks) for first, ranks in self._shared(together)]
        self.synchronise()
        self._gated = self._launches_return()

    def _shared(self, together: bool) -> list[tuple[int, int]]:
        """First rank and number of ranks of each lane."""
        if not together:
            return [(rank, 1) for rank in range(self.ranks)]
        starts = [rank for rank in range(self.ranks) if rank == 0 or self._devices[rank] != self._devices[rank - 1]]
        return [(first, end - first) for first, end in zip(starts, [*starts[1:], self.ranks], strict=True)]

    def _lane(self, first: int, ranks: int) -> Lane:
        cuda, device = self._cupy.cuda, self._devices[first]
        with cuda.Device(device):
            return Lane(device, first, ranks, cuda.Stream(non_blocking=True), cuda.Event(), cuda.Event())

    def close(self) -> None:
        """Give the memory back."""
        self.synchronise()
        self.inputs.clear()
        self.outputs.clear()
        self._exact = self._scale = None
        for device in set(self._devices):
            with self._cupy.cuda.Device(device):
                self._cupy.get_default_memory_pool().free_all_blocks()

    def synchronise(self) -> None:
        """Wait until all GPUs are idle."""
        for device in set(self._devices):
            with self._cupy.cuda.Device(device):
                self._cupy.cuda.runtime.deviceSynchronize()

    # launching

    def launch_of(self, name: str, count: int, blocks: int) -> Launch:
        """The launch of each lane's first rank; `blocks` a rank, or 0 for as many as can be had."""
        here = max(lane.ranks for lane in self.lanes)
        if not blocks:
            self.prepare(name, count)
            blocks = self._most[name, count % per_pack(False) != 0]
        return launch(algorithm(name), self.ranks, here, count, blocks)

    def most(self, name: str, count: int) -> int:
        """Blocks a rank that all run at once, by what the driver says of the compiled kernel on each GPU."""
        from cupy_backends.cuda.api import driver

        sms, held, here = [], [], []
        for lane in self.lanes:
            with self._cupy.cuda.Device(lane.device) as device:
                function = self._function(lane, algorithm(name).program(constants(self.ranks, count)))
                blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, THREADS, 0)
                sms.append(device.attributes["MultiProcessorCount"])
                held.append(min(blocks, self._per_sm))
                here.append(self._devices.count(lane.device))
        return min(most_blocks(sms, held, here), LARGEST_GRID)

    def _function(self, lane: Lane, program: Program) -> Any:
        """The kernel of a program on a lane's GPU; machine code belongs to the GPU that it was loaded on."""
        key = (program.name, tuple(sorted(program.constants.items())))
        if key not in lane.functions:
            if lane.device == self._home:
                from kernels.launch import load_function

                lane.functions[key] = load_function(program, program.entries[0])
            else:
                from cupy.cuda.function import Module

                with self._cupy.cuda.Device(lane.device) as device:
                    module = Module()
                    module.load(build_program(program, f"sm_{device.compute_capability}").code)
                    lane.functions[key] = module.get_function(program.entries[0])
        return lane.functions[key]

    def enqueue(self, name: str, count: int, blocks: int) -> None:
        """Put one call into the queues of all lanes."""
        if name in self.extra:
            self.extra[name](count)
            return
        grid = self.launch_of(name, count, blocks).grid
        program = algorithm(name).program(constants(self.ranks, count))
        epoch = np.uint32((1 + self._calls * SIGNAL_NUMBERS) % 2**32)
        self._calls += 1
        for lane in self.lanes:
            arguments = (self._group, np.int32(lane.first), np.uint64(count), epoch, np.uint64(PATIENCE * 1e9))
            with self._cupy.cuda.Device(lane.device):
                self._function(lane, program)((grid[0], lane.ranks), (THREADS,), arguments, stream=lane.stream)

    def prepare(self, name: str, count: int) -> None:
        """Load what a call needs: loading waits for an idle GPU, and behind a gate there would be none."""
        for lane in self.lanes:
            with self._cupy.cuda.Device(lane.device):
                self._function(lane, gate_program())
        if name in self.extra:
            if (name, count) not in self._warm:
                self.extra[name](count)
                self.synchronise()
        elif (name, count) not in self._warm:
            self._most[name, count % per_pack(False) != 0] = self.most(name, count)
        self._warm.add((name, count))

    def _gate(self, lane: Lane, ticket: int, patience: float) -> None:
        """Hold a lane until the host has stored the ticket."""
        arguments = (self._open_at, np.uint32(ticket), self._failed[lane.first], np.uint64(patience * 1e9))
        self._function(lane, gate_program())((1,), (1,), arguments, stream=lane.stream)

    def _launches_return(self) -> bool:
        """Whether a launch comes back before its kernel has ended; under a debugger or a sanitizer it may not, and a gate that
        waits for the host would wait for ever."""
        lane, seconds = self.lanes[0], 0.0
        with self._cupy.cuda.Device(lane.device):
            for ticket in (0, 1):  # the first is open, and loads the kernel; nobody opens the second
                began = time.perf_counter()
                self._gate(lane, ticket, HELD)
                seconds = time.perf_counter() - began
                lane.stream.synchronize()
            self._failed[lane.first].fill(0)
            self.synchronise()
        return seconds < HELD / 2

    def behind_gate(self, work: Callable[[], None]) -> float:
        """Queue work on all lanes while none of it runs, then let go; seconds that the slowest lane took."""
        self._ticket += 1
        for lane in self.lanes:
            with self._cupy.cuda.Device(lane.device):
                if self._gated:
                    self._gate(lane, self._ticket, PATIENCE)
                lane.start.record(lane.stream)
        work()
        for lane in self.lanes:
            with self._cupy.cuda.Device(lane.device):
                lane.stop.record(lane.stream)
        self._open[0] = self._ticket
        for lane in self.lanes:
            lane.stop.synchronize()
        self._check_waits()
        return max(float(self._cupy.cuda.get_elapsed_time(lane.start, lane.stop)) for lane in self.lanes) * 1e-3

    def _check_waits(self) -> None:
        """Raise MeasureError where a rank gave up waiting; the signals start anew then."""
        late = []
        for rank, device in enumerate(self._devices):
            with self._cupy.cuda.Device(device):
                late += [rank] if int(self._failed[rank].get()[0]) else []
        if not late:
            return
        for rank, device in enumerate(self._devices):
            with self._cupy.cuda.Device(device):
                self._signals[rank].fill(0)
                self._failed[rank].fill(0)
        self._calls = 0
        self.synchronise()
        raise MeasureError(f"rank {late[0]} of {self.ranks} waited {PATIENCE:.0f} s for another in vain")

    # what a contest asks for

    def load(self, count: int, seed: int) -> None:
        """New inputs on all ranks, and what they add up to."""
        xp = self._cupy
        for rank, device in enumerate(self._devices):
            with xp.cuda.Device(device):
                checks.fill(xp, self.inputs[rank], rank, count, seed)
        with xp.cuda.Device(self._devices[0]):
            self._exact = self._scale = None
            self._exact, self._scale = checks.reference(xp, self.ranks, count, seed)
        self.synchronise()

    def shapes(self, name: str, count: int) -> Sequence[int]:
        """Grids worth trying: as large as can be, and some that leave the links fewer to serve."""
        if name in self.extra:
            return (0,)
        largest = self.launch_of(name, count, 0).grid[0]
        return sorted({largest, *(blocks for blocks in (8, 16, 32, 64, 128) if blocks < largest)})

    def check(self, name: str, count: int, blocks: int) -> Verdict:
        """Poison all outputs, run once and look."""
        xp = self._cupy
        for device, out in zip(self._devices, self.outputs, strict=True):
            with xp.cuda.Device(device):
                out.fill(xp.nan)
        self.prepare(name, count)
        self.synchronise()
        self.behind_gate(lambda: self.enqueue(name, count, blocks))
        digests, kept = [], True
        for device, out in zip(self._devices, self.outputs, strict=True):
            with xp.cuda.Device(device):
                digests.append(checks.digest(xp, out[:count]))
                kept = kept and checks.untouched(xp, out[: count + checks.BEYOND], count)
        same = len(set(digests)) == 1
        with xp.cuda.Device(self._devices[0]):
            shown = self.outputs[:1] if same else [out[:count].copy() for out in self.outputs]
            error = max(checks.error(xp, out[:count], self._exact, self._scale) for out in shown)
        return Verdict(error, same, kept)

    def seconds(self, name: str, count: int, blocks: int, calls: int) -> float:
        """Seconds of one of `calls` calls back to back, on the slowest rank."""

        def work() -> None:
            for _ in range(calls):
                self.enqueue(name, count, blocks)

        self.prepare(name, count)
        return self.behind_gate(work) / calls

    def soak(self, name: str, count: int, blocks: int) -> bool:
        """Several calls in the queue at once, each with new data: whether each gives what it gives alone."""
        xp, alone, data, kept = self._cupy, [], [], []
        self.prepare(name, count)
        for seed in range(SOAK_CALLS):
            self.load(count, seed)
            data.append(self._copies(self.inputs, count))
            self.behind_gate(lambda: self.enqueue(name, count, blocks))
            alone.append(self._copies(self.outputs, count))
            kept.append(self._copies(self.outputs, count))
        self.synchronise()

        def all_calls() -> None:
            for call in range(SOAK_CALLS):
                self._copy(data[call], self.inputs, count)
                self.enqueue(name, count, blocks)
                self._copy(self.outputs, kept[call], count)

        self.behind_gate(all_calls)
        same = True
        for call in range(SOAK_CALLS):
            for device, one, other in zip(self._devices, alone[call], kept[call], strict=True):
                with xp.cuda.Device(device):
                    same = same and bool((one.view(xp.uint32) == other.view(xp.uint32)).all())
        return same

    def _copies(self, arrays: Sequence[Any], count: int) -> list[Any]:
        found = []
        for device, array in zip(self._devices, arrays, strict=True):
            with self._cupy.cuda.Device(device):
                found.append(array[:count].copy())
        return found

    def _copy(self, sources: Sequence[Any], targets: Sequence[Any], count: int) -> None:
        """Copy each rank's values within its own memory, in the queue of its lane."""
        runtime = self._cupy.cuda.runtime
        for lane in self.lanes:
            with self._cupy.cuda.Device(lane.device):
                for rank in range(lane.first, lane.first + lane.ranks):
                    target, source = targets[rank].data.ptr, sources[rank].data.ptr
                    runtime.memcpyAsync(target, source, 4 * count, runtime.memcpyDeviceToDevice, lane.stream.ptr)
