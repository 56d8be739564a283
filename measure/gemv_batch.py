"""The subject `gemv_batch`: a matrix times sixteen vectors, int4 weights beside cuBLAS with fp16 ones.

Sixteen vectors cost a matrix product of 16 columns, for which a library reads two bytes a weight.  It is asked in both forms,
X W^T and W X, as which is faster is a matter of its version; the ratio is to the faster one of the same contest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kernels.catalogue import KernelError
from kernels.gemv.batch import BATCH_LADDER, SIXTEEN
from kernels.gemv.problem import FP16, INT4_CHUNKED, GemvProblem
from kernels.gemv.streamed import VECTORS, batch_bytes
from measure import contest, gemv, verify
from measure.contest import refused
from measure.ladder_record import line_record, rung_record
from measure.records import Ladder, Measurements, Quantity, Roof
from measure.subject import Bench, Context, Raw, Subject
from measure.timing import summarise

SEED = 5
LINES = {"cublas_fp16_rows": "cuBLAS fp16, X times W transposed", "cublas_fp16_columns": "cuBLAS fp16, W times X transposed"}
FORMATS = (FP16, INT4_CHUNKED)
ORACLE = (
    "float64 products on the GPU of the vectors with the weights as stored (dequantised), normal weights, vectors uniform in "
    f"[-1, 1) in fp16, output poisoned with NaN; and {len(gemv.SHAPES)} small products of odd sizes"
)


def collect(bench: Bench) -> Raw:
    """The kernel and cuBLAS in both forms, in one contest."""
    import cupy

    free = cupy.cuda.Device().mem_info[0]
    problem = gemv.fitting(gemv.QUICK_PROBLEM if bench.quick else BATCH_LADDER.problem, free)
    data = gemv.operands(cupy, problem, FORMATS, SEED, VECTORS)
    y = cupy.empty((VECTORS, problem.rows), dtype=cupy.float32)
    contenders = []
    try:
        launch, info = gemv.load(SIXTEEN, problem)
        facts = {
            "tolerance": SIXTEEN.tolerance(problem),
            "odd_sizes": lambda: all(verify.passes(*one) for one in gemv.small_shape_errors(SIXTEEN, INT4_CHUNKED, VECTORS)),
            "launches": (info,),
        }
        turns = gemv.copies(problem, INT4_CHUNKED, bench.hardware.l2_size)
        contenders.append(gemv.contender(SIXTEEN.name, launch, data, INT4_CHUNKED, turns, y, data.x, **facts))
    except KernelError as error:
        contenders.append(refused(SIXTEEN.name, str(error)))
    turns = gemv.copies(problem, FP16, bench.hardware.l2_size)
    x = cupy.ascontiguousarray(data.x[:, : problem.cols])
    rows = cupy.empty((VECTORS, problem.rows), dtype=cupy.float16)
    columns = cupy.empty((problem.rows, VECTORS), dtype=cupy.float16)
    vendors = {
        "cublas_fp16_rows": (lambda weights, x, y: cupy.matmul(x, weights[0].T, out=y), x, rows),
        "cublas_fp16_columns": (
            lambda weights, x, y: cupy.matmul(weights[0], x, out=y.T),
            cupy.ascontiguousarray(x.T),
            columns.T,
        ),
    }
    for name, (run, given, out) in vendors.items():
        contenders.append(gemv.contender(name, run, data, FP16, turns, out, given, tolerance=None))
    return {"problem": [problem.rows, problem.cols], "vectors": VECTORS, **contest.hold(bench, contenders)}


def record(found: Measurements, raw: Raw, context: Context) -> Measurements:
    """The ladder of one rung, with its bandwidth, and its speed over the library's."""
    problem, seen = GemvProblem(*raw["problem"]), raw["contenders"]
    work = raw["vectors"] * problem.flop
    rung = rung_record(
        seen[SIXTEEN.name],
        name=SIXTEEN.name,
        title=SIXTEEN.title,
        change=SIXTEEN.change,
        work=work,
        traffic=gemv.traffic(SIXTEEN, problem),
        oracle=ORACLE,
        context=context,
        figures=figures(seen, problem, found.roofs.get("dram")),
    )
    lines = (line_record(seen[name], name=name, title=title, work=work) for name, title in LINES.items() if name in seen)
    ladder = Ladder(
        title=BATCH_LADDER.title,
        problem=str(problem),
        dtype=BATCH_LADDER.dtype,
        work=Quantity(work, "FLOP", "derived", reference="2 x rows x cols x vectors: a multiplication and an addition each"),
        math_roof=BATCH_LADDER.math_roof,
        level=None,
        rungs=(rung,),
        lines=tuple(line for line in lines if line is not None),
        reference=f"weights of less than {gemv.FITS_NOT} times L2 take turns with copies: every launch reads device memory",
    )
    return replace(found, ladders={**found.ladders, BATCH_LADDER.name: ladder})


def figures(seen: Mapping[str, Any], problem: GemvProblem, read: Roof | None) -> dict[str, Quantity]:
    """Bandwidth, its share of the roof of reading, error of the result, and how much faster than the faster cuBLAS form."""
    raw = seen[SIXTEEN.name]
    if not raw["hot"]:
        return {}
    needed = batch_bytes(problem)
    rates = [needed / second / 1e12 for second in raw["hot"]]
    result = {
        "bandwidth": summarise(rates, "TB/s", "weights, scales and vectors read once, outputs written once, over the time"),
        "quantisation_error": Quantity(
            raw["extra"]["quantisation_error"],
            "",
            "measured",
            reference="|Y - Y64| / |Y64| in the 2-norm, Y64 the float64 products of the weights before rounding",
        ),
    }
    if read is not None and read.measured is not None:
        share = result["bandwidth"].value / read.measured.value
        result["read_share"] = Quantity(share, "", "derived", reference="bandwidth over the roof of reading device memory")
    theirs = [summarise(seen[name]["hot"], "s") for name in LINES if name in seen and seen[name]["hot"]]
    if theirs:
        ours, best = summarise(raw["hot"], "s"), min(theirs, key=lambda one: one.value)
        result["over_cublas_fp16"] = Quantity(
            best.value / ours.value,
            "",
            "derived",
            low=(best.low or best.value) / (ours.high or ours.value),
            high=(best.high or best.value) / (ours.low or ours.value),
            reference="median time of cuBLAS with fp16 weights, the faster of both forms, over this one's",
        )
    return result


SUBJECT = Subject(
    name=BATCH_LADDER.name,
    title="Matrix times sixteen vectors, int4 weights",
    key=f"ladders.{BATCH_LADDER.name}",
    sources=(SIXTEEN.source,),
    collect=collect,
    record=record,
    steps=lambda plan: contest.steps(1 + len(LINES), plan.rounds),
)
