"""The subject `gemv`: a matrix times a vector with the weights in fp32, fp16, int8 and int4.

The weights are many times the size of L2.  Where a format's are less than FITS_NOT times L2, copies of them take turns, so that
no launch finds in L2 what the one before has left there: every product streams its weights out of device memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from kernels.build import build_program
from kernels.catalogue import KernelError, Program, Routine
from kernels.gemv.ladder import FORMAT_OF, LADDER, NOMINAL, SUBNORMAL
from kernels.gemv.problem import FORMATS, FP16, FP32, GROUP, Format, GemvProblem
from kernels.gemv.quantise import Stored, store
from kernels.launch import device_arch, load_function
from measure import contest, verify
from measure.contest import Contender, launch_info, refused
from measure.errors import Unsupported
from measure.ladder_record import line_record, rung_record
from measure.records import Ladder, Level, Measurements, Quantity, Roof, Traffic
from measure.subject import Bench, Context, Raw, Subject
from measure.timing import summarise

QUICK_PROBLEM = GemvProblem(8192, 32768)
SEED = 3
CHUNK = 256  # rows; a multiple of every format's tile
FITS_NOT = 4
MEMORY_SHARE = 0.6
LEAST_ROWS = 1024
SHAPES = ((1, 1), (7, 3), (33, 257), (64, 129), (129, 300), (257, 1023), (128, 4096))
"""Rows and columns of the small products that a rung must get right too."""

LINES = {"cublas_fp32": FP32, "cublas_fp16": FP16}
ORACLE = (
    "float64 product on the GPU of x with the weights as stored (dequantised), normal weights, x uniform in [-1, 1) in fp16, "
    f"output poisoned with NaN; and {len(SHAPES)} small products of odd sizes; subnormal codes count as they are aligned"
)


@dataclass(frozen=True, slots=True)
class Weights:
    """One format's weights: the kernels' first arguments, the float64 product that they should give, and the scale |W||x|.

    `nominal`: what comes on top for the rungs in `SUBNORMAL`; 8 times the sum of x, which some subtract last, is less.
    """

    arrays: tuple[Any, ...]
    exact: Any
    scale: Any
    nominal: Any = 0.0

    def scale_of(self, name: str) -> Any:
        """What the errors of a rung are relative to."""
        return self.scale + self.nominal if name in SUBNORMAL else self.scale


@dataclass(frozen=True, slots=True)
class Operands:
    """What is multiplied: x (fp16), the weights by format name, and the float64 product of the weights before any rounding.

    Several vectors are rows of x, filled up with zeros to whole groups; their products are rows, too.
    """

    x: Any
    weights: Mapping[str, Weights]
    exact: Any


def operands(xp: Any, problem: GemvProblem, formats: Sequence[Format], seed: int, vectors: int = 1) -> Operands:
    """Weights from the standard normal distribution, as trained ones are nearly (Dettmers et al., QLoRA, 2023, appendix F).

    x is uniform in [-1, 1).  Works through the rows in chunks, so that no second copy of the matrix is needed.
    """
    generator = xp.random.default_rng(seed)
    size = problem.cols if vectors == 1 else (vectors, problem.cols)
    x = (generator.random(size, dtype=xp.float32) * 2 - 1).astype(xp.float16)
    wide = x.astype(xp.float64).T
    if vectors > 1:
        filled_x = xp.zeros((vectors, problem.groups * GROUP), dtype=xp.float16)
        filled_x[:, : problem.cols] = x
        x = filled_x
    plain = []
    parts: dict[str, list[tuple[Any, Any, Any]]] = {format.name: [] for format in formats}
    whole: dict[str, tuple[Any, ...]] = {}
    for first in range(0, problem.rows, CHUNK):
        rows = min(CHUNK, problem.rows - first)
        chunk = generator.standard_normal((rows, problem.cols), dtype=xp.float32)
        plain.append(chunk.astype(xp.float64) @ wide)
        for format in formats:
            stored = store(xp, chunk, format)
            if format.name not in whole:
                filled = -(-problem.rows // format.tile_rows) * format.tile_rows
                whole[format.name] = tuple(xp.empty((filled, *one.shape[1:]), dtype=one.dtype) for one in stored.arrays)
            for into, one in zip(whole[format.name], stored.arrays, strict=True):
                into[first : first + one.shape[0]] = one
            meant = stored.meant.astype(xp.float64)
            parts[format.name].append((meant @ wide, xp.abs(meant) @ xp.abs(wide), nominal_scale(xp, stored, wide, format)))
    weights = {
        name: Weights(whole[name], *(xp.concatenate([one[index] for one in found]).T for index in range(3)))
        for name, found in parts.items()
    }
    return Operands(x, weights, xp.concatenate(plain).T)


def nominal_scale(xp: Any, stored: Stored, wide: Any, format: Format) -> Any:
    """What tensor cores take a row's subnormal codes for: NOMINAL x scale x largest |x| of each group, summed (as `exact`)."""
    if not format.grouped:
        return xp.zeros((stored.meant.shape[0], *wide.shape[1:]))
    filled = xp.zeros((stored.scales.shape[1] * GROUP, *wide.shape[1:]))
    filled[: wide.shape[0]] = xp.abs(wide)
    return NOMINAL * (stored.scales.astype(xp.float64) @ filled.reshape(-1, GROUP, *wide.shape[1:]).max(axis=1))


def norm_error(xp: Any, out: Any, exact: Any) -> float:
    """|y - y64| / |y64| in the 2-norm: what rounding the weights costs in the result."""
    return float(xp.linalg.norm(out.astype(xp.float64) - exact) / xp.linalg.norm(exact))


def fitting(problem: GemvProblem, free: int) -> GemvProblem:
    """The problem, its rows halved until all formats fit into a share of the free memory (B).  Raises Unsupported."""
    while problem.rows >= LEAST_ROWS:
        if sum(problem.weight_bytes(format) for format in FORMATS) <= MEMORY_SHARE * free:
            return problem
        problem = GemvProblem(problem.rows // 2, problem.cols)
    raise Unsupported(f"the weights do not fit into {free / 1e9:.1f} GB of free memory")


def copies(problem: GemvProblem, format: Format, l2_size: int) -> int:
    """How many copies of the weights have to take turns for L2 to be no help."""
    return max(1, -(-FITS_NOT * l2_size // problem.weight_bytes(format)))


Launch = Callable[[tuple[Any, ...], Any, Any], None]


def load(routine: Routine[GemvProblem], problem: GemvProblem) -> tuple[Launch, contest.LaunchInfo]:
    """A rung ready to run: `launch(weights, x, y)`.  Raises KernelError where it cannot be built or launched."""
    import numpy

    (step,) = routine.steps(problem)
    program = Program(routine.name, routine.source, (step.entry,), step.launch.constants, routine.min_arch)
    function = load_function(program, step.entry, step.launch.dynamic_shared)
    sizes = (numpy.int32(problem.rows), numpy.int32(problem.cols))

    def launch(weights: tuple[Any, ...], x: Any, y: Any) -> None:
        function(step.launch.grid, step.launch.block, (*weights, x, y, *sizes), shared_mem=step.launch.dynamic_shared)

    return launch, launch_info(step.entry, step.launch, build_program(program, device_arch()), routine.sha256)


def contender(name: str, launch: Launch, data: Operands, format: Format, turns: int, y: Any, x: Any, **facts: Any) -> Contender:
    """One that multiplies by turns with `turns` copies of its weights; its check goes through all of them."""
    import cupy

    weights = data.weights[format.name]
    rings = [weights.arrays, *(tuple(one.copy() for one in weights.arrays) for _ in range(turns - 1))]
    following: Iterator[tuple[Any, ...]] = itertools.cycle(rings)
    extra: dict[str, Any] = {"copies": turns}

    def check() -> float:
        errors = []
        for ring in rings:
            y.fill(cupy.nan)
            launch(ring, x, y)
            errors.append(verify.error(cupy, y, weights.exact, weights.scale_of(name)))
        extra["quantisation_error"] = norm_error(cupy, y, data.exact)
        return max(errors)

    return Contender(name, lambda: launch(next(following), x, y), check, extra=extra, **facts)


def collect(bench: Bench) -> Raw:
    """Every rung, and cuBLAS with the weights in fp32 and in fp16, in one contest."""
    import cupy

    free = cupy.cuda.Device().mem_info[0]
    problem = fitting(QUICK_PROBLEM if bench.quick else LADDER.problem, free)
    data = operands(cupy, problem, FORMATS, SEED)
    y = cupy.empty(problem.rows, dtype=cupy.float32)
    contenders = []
    for routine in LADDER.rungs:
        format = FORMAT_OF[routine.name]
        try:
            launch, info = load(routine, problem)
        except KernelError as error:
            contenders.append(refused(routine.name, str(error)))
            continue
        facts = {
            "tolerance": routine.tolerance(problem),
            "odd_sizes": lambda routine=routine: small_shapes_right(routine),
            "launches": (info,),
        }
        turns = copies(problem, format, bench.hardware.l2_size)
        contenders.append(contender(routine.name, launch, data, format, turns, y, data.x, **facts))
    for name, format in LINES.items():
        x, out = (data.x, y.astype(cupy.float16)) if format == FP16 else (data.x.astype(cupy.float32), y)
        turns = copies(problem, format, bench.hardware.l2_size)
        contenders.append(contender(name, vendor, data, format, turns, out, x, tolerance=None))
    return {"problem": [problem.rows, problem.cols], **contest.hold(bench, contenders)}


def vendor(weights: tuple[Any, ...], x: Any, y: Any) -> None:
    """The product by cuBLAS, through CuPy."""
    import cupy

    cupy.matmul(weights[0], x, out=y)


def small_shapes_right(routine: Routine[GemvProblem]) -> bool:
    """Whether a rung gets every small product right."""
    return all(verify.passes(*pair) for pair in small_shape_errors(routine, FORMAT_OF[routine.name]))


def small_shape_errors(routine: Routine[GemvProblem], format: Format, vectors: int = 1) -> list[tuple[float, float]]:
    """Error and tolerance of every small product on the current GPU."""
    import cupy

    found = []
    for index, size in enumerate(SHAPES):
        problem = GemvProblem(*size)
        data = operands(cupy, problem, (format,), SEED + index, vectors)
        weights = data.weights[format.name]
        y = cupy.full(problem.rows if vectors == 1 else (vectors, problem.rows), cupy.nan, dtype=cupy.float32)
        load(routine, problem)[0](weights.arrays, data.x, y)
        found.append((verify.error(cupy, y, weights.exact, weights.scale_of(routine.name)), routine.tolerance(problem)))
    return found


def record(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """The ladder, with bandwidth, speed-up and the error of the result beside each rate."""
    problem, seen = GemvProblem(*raw["problem"]), raw["contenders"]
    rungs = tuple(
        rung_record(
            seen[routine.name],
            name=routine.name,
            title=routine.title,
            change=routine.change,
            work=problem.flop,
            traffic=traffic(routine, problem),
            oracle=ORACLE,
            context=context,
            figures=figures(seen, routine.name, problem, found.roofs.get("dram")),
            math_roof=routine.math_roof if routine.math_roof != LADDER.math_roof else "",
        )
        for routine in LADDER.rungs
        if routine.name in seen
    )
    lines = (
        line_record(seen[name], name=name, title=f"cuBLAS {format.name}", work=problem.flop)
        for name, format in LINES.items()
        if name in seen
    )
    ladder = Ladder(
        title=LADDER.title,
        problem=str(problem),
        dtype=LADDER.dtype,
        work=Quantity(problem.flop, "FLOP", "derived", reference="2 x rows x cols: a multiplication and an addition a weight"),
        math_roof=LADDER.math_roof,
        level=None,
        rungs=rungs,
        lines=tuple(line for line in lines if line is not None),
        reference=f"weights of less than {FITS_NOT} times L2 take turns with copies, so that every launch reads device memory",
    )
    return replace(found, ladders={**found.ladders, LADDER.name: ladder})


def figures(seen: Mapping[str, Any], name: str, problem: GemvProblem, read: Roof | None) -> dict[str, Quantity]:
    """What else there is to say of a rung that was timed: bandwidth, both speed-ups over fp32, the error of the result.

    And the share of the rate at which memory can be read, where that roof was measured.
    """
    raw, first, format = seen[name], seen[LADDER.rungs[0].name], FORMAT_OF[name]
    if not raw["hot"]:
        return {}
    needed = problem.needed_bytes(format)
    rates = [needed / second / 1e12 for second in raw["hot"]]
    result = {
        "bandwidth": summarise(rates, "TB/s", "weights, scales and x read once, y written once, over the time"),
        "ideal_speedup": Quantity(
            FP32.bits / format.bits_with_scales,
            "",
            "derived",
            reference=f"32 bits over {format.bits_with_scales:g} bits a weight, scales included",
        ),
        "quantisation_error": Quantity(
            raw["extra"]["quantisation_error"],
            "",
            "measured",
            reference="|y - y64| / |y64| in the 2-norm, y64 the float64 product of the weights before rounding",
        ),
    }
    if read is not None and read.measured is not None:
        result["read_share"] = Quantity(
            result["bandwidth"].value / read.measured.value,
            "",
            "derived",
            reference="bandwidth over the roof of reading device memory",
        )
    if first["hot"]:
        ours, theirs = summarise(raw["hot"], "s"), summarise(first["hot"], "s")
        result["speedup"] = Quantity(
            theirs.value / ours.value,
            "",
            "derived",
            low=(theirs.low or theirs.value) / (ours.high or ours.value),
            high=(theirs.high or theirs.value) / (ours.low or ours.value),
            reference="median time of the fp32 rung over this one's",
        )
    return result


def traffic(routine: Routine[GemvProblem], problem: GemvProblem) -> dict[Level, Traffic]:
    """Bytes of one product by level: what has to be moved, which nothing but the caches' misses on x could exceed."""
    reference = "weights, scales and x read once, y written once"
    moved = routine.traffic(problem)
    levels: tuple[Level, ...] = ("dram", "algorithmic")
    return {level: Traffic(model=Quantity(moved[level], "B", "derived", reference=reference)) for level in levels}


ENTRIES = {routine.name: tuple(step.entry for step in routine.steps(LADDER.problem)) for routine in LADDER.rungs}
"""Entry points of every rung, for the counters."""


def launch_all() -> None:
    """Every rung that this GPU can run once, in order: what Nsight Compute counts."""
    import cupy

    problem = fitting(LADDER.problem, cupy.cuda.Device().mem_info[0])
    data = operands(cupy, problem, FORMATS, SEED)
    y = cupy.empty(problem.rows, dtype=cupy.float32)
    for routine in LADDER.rungs:
        with suppress(KernelError):
            load(routine, problem)[0](data.weights[FORMAT_OF[routine.name].name].arrays, data.x, y)
        cupy.cuda.Device().synchronize()


SUBJECT = Subject(
    name=LADDER.name,
    title="Matrix times vector with fewer bits a weight",
    key=f"ladders.{LADDER.name}",
    sources=tuple(routine.source for routine in LADDER.rungs),
    collect=collect,
    record=record,
    steps=lambda plan: contest.steps(len(LADDER.rungs) + len(LINES), plan.rounds),
)
