"""The subject `attention`: forward attention unfused, fused, and on the tensor cores, with the memory that each takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from kernels.attention.ladder import ARGUMENTS, LADDER
from kernels.attention.problem import HEAD_DIM, Attention
from kernels.build import build_program
from kernels.catalogue import KernelError, Program, Routine
from kernels.launch import device_arch, load_function
from measure import attention_check, attention_vendor, bf16, contest, verify
from measure.contest import Contender, LaunchInfo, launch_info, refused
from measure.errors import Unsupported
from measure.ladder_record import line_record, rung_record
from measure.records import Ladder, Level, Measurements, Quantity, Source, Traffic
from measure.subject import Bench, Context, Raw, Subject
from measure.timing import summarise

QUICK_PROBLEM = Attention(1, 8, 2048)
SEED = 8
MEMORY_SHARE = 0.4
ORACLE = (
    "softmax attention in float64 on the GPU from the same bf16 inputs, one query of each 64 that follow each other in every "
    "head, error over |O| + 4 |p v| (root of the sum of squares over the keys), all of the output finite, output and square "
    f"poisoned with NaN; and {len(attention_check.SMALL)} small problems, most of odd sizes, two of them causal, each with two "
    "spreads of the weights"
)
TRAFFIC: Mapping[Level, tuple[Source, str]] = {
    "load_path": ("derived", "wavefronts x 128 B of the products' reads of shared memory, and of what is staged there"),
    "l2": ("derived", "a block fetches its queries, and every tile of K and V; the square goes by"),
    "dram": ("estimated", "each pass over the square, the inputs once and the output once: L2 holds the K and V of a head"),
    "algorithmic": ("derived", "Q, K and V read once, the output written once"),
}

Arrays = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A rung ready to run: `run(arrays)` enqueues its launches; `arrays` has Q, K, V, O and, where it is needed, square."""

    run: Callable[[Arrays], None]
    launches: tuple[LaunchInfo, ...]


def fitting(problem: Attention, free: int) -> Attention:
    """The problem with as many heads as fit, square and all, into a share of the free memory (B).  Raises Unsupported."""
    heads = problem.heads
    while heads >= 1:
        for batch in (problem.batch, 1):
            smaller = Attention(batch, heads, problem.seq, problem.causal)
            if smaller.square_bytes + smaller.compulsory_bytes <= MEMORY_SHARE * free:
                return smaller
        heads //= 2
    raise Unsupported(
        f"one head's square of {problem.seq} x {problem.seq} does not fit into {free / 1e9:.1f} GB of free memory"
    )


def load(routine: Routine[Attention], problem: Attention) -> Loaded:
    """Build a rung for the current GPU.  Raises KernelError where it cannot be built or launched."""
    import numpy

    launches, infos = [], []
    for step in routine.steps(problem):
        launch = step.launch
        program = Program(routine.name, routine.source, (step.entry,), launch.constants, routine.min_arch, routine.feature_arch)
        launches.append((load_function(program, step.entry, launch.dynamic_shared), launch, ARGUMENTS[step.entry]))
        infos.append(launch_info(step.entry, launch, build_program(program, device_arch()), routine.sha256))
    seq = numpy.int32(problem.seq)
    made: dict[tuple[int, ...], tuple[Any, ...]] = {}

    def arguments(arrays: Arrays, names: tuple[str, ...]) -> tuple[Any, ...]:
        if routine.operands is None:
            return (*(arrays[name] for name in names), seq)
        places = tuple(arrays[name].data.ptr for name in names)
        if places not in made:  # once for the same arrays, so that no launch waits for the driver
            made.clear()
            made[places] = routine.operands(problem, arrays)
        return made[places]

    def run(arrays: Arrays) -> None:
        for function, launch, names in launches:
            function(launch.grid, launch.block, arguments(arrays, names), shared_mem=launch.dynamic_shared)

    return Loaded(run, tuple(infos))


def arrays_of(xp: Any, routine: Routine[Attention], problem: Attention) -> dict[str, Any]:
    """The arrays that a rung works on, unwritten: heads x seq x 128 bf16, and heads x seq x seq fp32 if it needs the square."""
    names = {name for step in routine.steps(problem) for name in ARGUMENTS[step.entry]}
    tensor = (problem.all_heads, problem.seq, HEAD_DIM)
    found = {name: xp.empty(tensor, dtype=xp.uint16) for name in sorted(names - {"square"})}
    if "square" in names:
        found["square"] = xp.empty((problem.all_heads, problem.seq, problem.seq), dtype=xp.float32)
    return found


def peak_memory(routine: Routine[Attention], loaded: Loaded, problem: Attention) -> int:
    """Bytes of device memory that are allocated while a rung runs: inputs, output and whatever lies between them."""
    import cupy

    pool = cupy.get_default_memory_pool()
    before = pool.used_bytes()
    arrays = arrays_of(cupy, routine, problem)
    for name in "QKV":
        arrays[name].fill(0)
    loaded.run(arrays)
    cupy.cuda.Device().synchronize()
    return int(pool.used_bytes() - before)


def collect(bench: Bench) -> Raw:
    """Every rung in one contest, on the same inputs."""
    import cupy

    problem = fitting(QUICK_PROBLEM if bench.quick else LADDER.problem, cupy.cuda.Device().mem_info[0])
    able: dict[str, tuple[Loaded, int]] = {}
    refusals: dict[str, str] = {}
    for routine in LADDER.rungs:
        try:
            loaded = load(routine, problem)
            able[routine.name] = loaded, peak_memory(routine, loaded, problem)
        except KernelError as error:
            refusals[routine.name] = str(error)
            continue

    arrays = arrays_of(cupy, LADDER.rungs[0], problem)
    arrays["Q"], arrays["K"], arrays["V"] = attention_check.inputs(cupy, problem, attention_check.SPREAD, SEED)
    sample = attention_check.reference(cupy, problem, arrays["Q"], arrays["K"], arrays["V"], SEED)

    def check(loaded: Loaded) -> float:
        return checked(cupy, loaded, arrays, sample)

    def contender(routine: Routine[Attention]) -> Contender:
        if routine.name in refusals:
            return refused(routine.name, refusals[routine.name])
        loaded, peak = able[routine.name]
        return Contender(
            routine.name,
            run=lambda: loaded.run(arrays),
            check=lambda: check(loaded),
            tolerance=routine.tolerance(problem),
            odd_sizes=lambda: small_problems_right(routine),
            launches=loaded.launches,
            extra={"peak_memory": peak},
        )

    size = [problem.batch, problem.heads, problem.seq, int(problem.causal)]
    vendors = {} if bench.quick else attention_vendor.runs(problem, arrays["Q"], arrays["K"], arrays["V"])
    lines = [Contender(name, run, lambda: 0.0, None) for name, run in vendors.items()]
    return {"problem": size, **contest.hold(bench, [*(contender(routine) for routine in LADDER.rungs), *lines])}


def checked(xp: Any, loaded: Loaded, arrays: Arrays, sample: attention_check.Sample) -> float:
    """Error of one run into a poisoned output, the square poisoned too."""
    arrays["O"].fill(bf16.NAN)
    if "square" in arrays:
        arrays["square"].fill(xp.nan)
    loaded.run(arrays)
    return attention_check.error(xp, arrays["O"], sample)


def small_problems_right(routine: Routine[Attention]) -> bool:
    """Whether a rung gets every small problem right, on the current GPU."""
    return all(verify.passes(error, tolerance) for error, tolerance in small_problem_errors(routine))


def small_problem_errors(routine: Routine[Attention]) -> list[tuple[float, float]]:
    """Error and tolerance of every small problem on the current GPU."""
    import cupy

    found = []
    for index, problem in enumerate(attention_check.SMALL):
        loaded, arrays = load(routine, problem), arrays_of(cupy, routine, problem)
        for spread in attention_check.SPREADS:
            q, k, v = attention_check.inputs(cupy, problem, spread, SEED + index)
            sample = attention_check.reference(cupy, problem, q, k, v, SEED + index)
            error = checked(cupy, loaded, {**arrays, "Q": q, "K": k, "V": v}, sample)
            found.append((error, routine.tolerance(problem)))
    return found


def record(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """The ladder, with memory and speed-up beside each rate."""
    batch, heads, seq, causal = raw["problem"]
    problem, seen = Attention(batch, heads, seq, bool(causal)), raw["contenders"]
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
            figures=figures(seen, routine, problem),
            math_roof=routine.math_roof if routine.math_roof != LADDER.math_roof else "",
        )
        for routine in LADDER.rungs
        if routine.name in seen
    )
    lines = [
        line_record(seen[name], name=name, title=title, work=problem.flop)
        for name, (_, title) in attention_vendor.BACKENDS.items()
        if name in seen
    ]
    reference = "4 x heads x seq^2 x 128: a multiplication and an addition a product, in two products, without the softmax"
    ladder = Ladder(
        title=LADDER.title,
        problem=str(problem),
        dtype=LADDER.dtype,
        work=Quantity(problem.flop, "FLOP", "derived", reference=reference),
        math_roof=LADDER.math_roof,
        level=None,
        rungs=rungs,
        lines=tuple(line for line in lines if line),
    )
    return replace(found, ladders={**found.ladders, LADDER.name: ladder})


def figures(seen: Mapping[str, Any], routine: Routine[Attention], problem: Attention) -> dict[str, Quantity]:
    """What else is known of a rung that was timed: the memory it takes, the square it writes, its gain over the first."""
    raw, first = seen[routine.name], seen[LADDER.rungs[0].name]
    if not raw["hot"]:
        return {}
    taken = "allocated while it runs: inputs, output and whatever lies between"
    found = {"peak_memory": Quantity(raw["extra"]["peak_memory"], "B", "measured", reference=taken)}
    if any("square" in ARGUMENTS[step.entry] for step in routine.steps(problem)):
        found["square"] = Quantity(problem.square_bytes, "B", "derived", reference="heads x seq x seq scores in fp32")
    if first["hot"]:
        ours, theirs = summarise(raw["hot"], "s"), summarise(first["hot"], "s")
        found["speedup"] = Quantity(
            theirs.value / ours.value,
            "",
            "derived",
            low=(theirs.low or theirs.value) / (ours.high or ours.value),
            high=(theirs.high or theirs.value) / (ours.low or ours.value),
            reference=f"median time of the rung {LADDER.rungs[0].name} over this one's",
        )
    return found


def traffic(routine: Routine[Attention], problem: Attention) -> dict[Level, Traffic]:
    """Modelled bytes of one run by level."""
    moved = routine.traffic(problem)
    return {
        level: Traffic(model=Quantity(moved[level], "B", source, reference=reference))
        for level, (source, reference) in TRAFFIC.items()
        if level in moved
    }


SUBJECT = Subject(
    name=LADDER.name,
    title="Attention, unfused and fused",
    key=f"ladders.{LADDER.name}",
    sources=tuple(routine.source for routine in LADDER.rungs),
    collect=collect,
    record=record,
    steps=lambda plan: contest.steps(len(LADDER.rungs) + len(attention_vendor.BACKENDS), plan.rounds),
)


ENTRIES = {routine.name: tuple(step.entry for step in routine.steps(LADDER.problem)) for routine in LADDER.rungs}
"""Entry points of every rung, for the counters."""


def launch_all() -> None:
    """Every rung once, in order: what Nsight Compute counts."""
    import cupy

    problem = fitting(LADDER.problem, cupy.cuda.Device().mem_info[0])
    arrays = arrays_of(cupy, LADDER.rungs[0], problem)
    arrays["Q"], arrays["K"], arrays["V"] = attention_check.inputs(cupy, problem, attention_check.SPREAD, SEED)
    for routine in LADDER.rungs:
        with suppress(KernelError):  # what this GPU cannot run has no counters
            load(routine, problem).run(arrays)
        cupy.cuda.Device().synchronize()
