"""Why a GEMM rung is as fast as it is, without counters: the share of issue slots that stay idle, from its own machine code.

An SM has four schedulers (CUDA C++ Programming Guide, compute capability 7.5 and later), each of which issues at most one
instruction of a warp a clock.  So a launch of so many cycles has cycles x 4 x SMs issue slots; those that its warps do not fill
are idle.  Instructions are counted in the machine code: the main loop's length, times how often it must go round for a thread
to do its multiply-adds.  What runs once a thread (addresses before the loop, stores after it) is left out.

Checked against `smsp__issue_active` of an H200 for ten rungs that fill from 3 to 86 % of the slots: what this finds filled is
1 to 4 % less in every case, as the counter leaves out cycles in which an SM has run out of blocks.  So the idle share is an
estimate from above, by at most 3 points there.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.build import Cubin
from kernels.catalogue import Kernel, Problem
from kernels.machine_code import FFMA, instructions, main_loop, operation
from measure.records import Quantity

SCHEDULERS = 4


@dataclass(frozen=True, slots=True)
class Loop:
    """The main loop of a kernel's machine code: how many instructions it has, and how many of them are fp32 multiply-adds."""

    instructions: int
    multiply_adds: int


def read_loop(kernel: Kernel, cubin: Cubin) -> Loop:
    """The main loop of a compiled kernel.  Raises KernelError where its machine code shows none."""
    code = instructions(cubin, kernel.entry)
    loop = main_loop(code, cubin.arch)
    return Loop(len(loop), sum(operation(code[index]) == FFMA for index in loop))


def multiply_adds(kernel: Kernel, problem: Problem) -> float:
    """Multiply-adds of one thread: the depth for each of its outputs."""
    rows, cols = kernel.tile
    return problem.k * rows * cols / kernel.launch(problem).threads


def warp_instructions(kernel: Kernel, problem: Problem, loop: Loop) -> float:
    """Warp instructions of one launch: the loop's, as often as the multiply-adds need it."""
    return kernel.launch(problem).warps * multiply_adds(kernel, problem) / loop.multiply_adds * loop.instructions


def fewest_instructions(kernel: Kernel, problem: Problem) -> float:
    """Without the machine code, from below: the multiply-adds and the memory instructions alone."""
    loads_and_stores = sum(access.times for access in kernel.accesses(problem))
    return kernel.launch(problem).warps * (multiply_adds(kernel, problem) + loads_and_stores)


def idle_share(issued: float, seconds: float, clock: float, sm_count: int) -> float:
    """Share of the issue slots of `seconds` at `clock` MHz that `issued` warp instructions leave idle, at least 0."""
    return max(0.0, 1.0 - issued / (seconds * clock * 1e6 * SCHEDULERS * sm_count))


def idle_issue_slots(
    kernel: Kernel, problem: Problem, loop: Loop | None, seconds: Quantity, clock: Quantity, sm_count: int
) -> Quantity:
    """The figure `idle_issue_slots` of a rung from its time in s and clock in MHz; the loop is None without machine code."""
    issued = fewest_instructions(kernel, problem) if loop is None else warp_instructions(kernel, problem, loop)
    counted = "multiply-adds and memory instructions" if loop is None else "instructions of the machine code"
    value = idle_share(issued, seconds.value, clock.value, sm_count)
    return Quantity(value, "", "estimated", reference=f"1 - {counted} / (cycles x {SCHEDULERS} schedulers x SMs)")
