"""Measurement files of GPUs that do not exist, with every subject: what tables, charts and comparisons are tried on.

Nothing here was measured.  Rates are set beforehand, and samples lie around them with a given spread.
"""

from __future__ import annotations

import random
from dataclasses import replace

from measure.records import (
    AllReduce,
    AllReduceRun,
    Device,
    DivergenceTrace,
    IndexTrace,
    Ladder,
    Latency,
    LaunchTrace,
    Level,
    Measurements,
    Memory,
    Quantity,
    ReferenceLine,
    Roof,
    Run,
    Rung,
    Series,
    SubjectRun,
    Sweep,
    Traces,
    Traffic,
    Verification,
)
from measure.roofline_model import binding_level
from measure.timing import summarise

GEMM_FP32 = (
    # name, title, share of the fp32 roof, FLOP/B at the load path, at L2, at DRAM
    ("uncoalesced", "Uncoalesced", 0.0076, 0.0151, 8.0, 16.0),
    ("coalesced", "Coalesced", 0.092, 0.25, 8.4, 32.0),
    ("shared", "Shared-memory tile", 0.134, 0.305, 8.5, 16.0),
    ("tile_1d", "1D tiling", 0.264, 0.674, 18.0, 119.0),
    ("tile_2d", "2D tiling", 0.512, 1.35, 34.0, 293.0),
    ("vectorised", "Vectorised loads", 0.637, 1.99, 34.0, 402.0),
    ("double_buffered", "Double buffer", 0.70, 2.0, 34.0, 400.0),
    ("warp_tile", "Warp tile", 0.80, 2.7, 66.0, 420.0),
    ("register_tile", "Register tile", 0.86, 3.4, 66.0, 430.0),
)
GEMM_BF16 = (
    ("naive", "Naive mma", 0.05, 1.9, 60.0, 200.0),
    ("shared", "Swizzled shared memory", 0.24, 15.0, 60.0, 500.0),
    ("pipelined", "Three stages", 0.55, 27.0, 120.0, 700.0),
    ("warp_tile", "Warp tile 64 x 64", 0.78, 33.0, 120.0, 900.0),
    ("grouped", "Grouped blocks", 0.93, 33.0, 128.0, 1500.0),
)
ATTENTION = (
    ("unfused", "Unfused, the square is written", 0.30, 1.4, 12.0, 5.2),
    ("fused", "Fused, online softmax", 0.62, 1.9, 50.0, 900.0),
    ("tensor_cores", "Fused on tensor cores", 0.42, 14.0, 120.0, 1000.0),
)
GEMV = (
    ("fp32", "fp32", 0.5),
    ("fp16", "fp16", 1.0),
    ("int8", "int8, scales of 128", 1.94),
    ("int4", "int4, scales of 128", 3.76),
)


def full(
    name: str = "Made-up 9000",
    fp32: float = 65.2,
    tensor: float = 660.0,
    path: float = 33.3,
    l2: float = 8.8,
    dram: float = 4.6,
    sms: int = 132,
    seed: int = 1,
    spread: float = 0.004,
    shift: float = 1.0,
) -> Measurements:
    """A file with every subject.  Roofs in TFLOP/s and TB/s; rates are multiplied by `shift`; samples vary by `spread`."""
    draw = random.Random(seed)

    def samples(value: float, n: int = 30) -> tuple[float, ...]:
        return tuple(value * (1 + spread * draw.gauss(0, 1)) for _ in range(n))

    def seen(value: float, unit: str, n: int = 30) -> Quantity:
        return summarise(samples(value, n), unit)

    def roof(title: str, value: float, sheet: float | None = None) -> Roof:
        math = value in (fp32, tensor)
        unit, values = ("TFLOP/s" if math else "TB/s"), samples(value * shift)
        printed = Quantity(sheet, unit, "datasheet", reference="Made-up 9000 datasheet") if sheet else None
        computed = Quantity(value * 1.02, unit, "derived", reference="units x width x clock")
        return Roof(title, "math" if math else "memory", summarise(values, unit), computed, printed, samples=values)

    def rung(
        name: str, title: str, work: float, rate: float, marks: dict[Level, float], unit: str = "", **figures: Quantity
    ) -> Rung:
        times, cold = samples(work / (rate * shift * 1e12)), samples(1.06 * work / (rate * shift * 1e12), 9)
        return Rung(
            name,
            title,
            f"what {title.lower()} changes",
            rate=summarise([work / time / 1e12 for time in times], "TFLOP/s"),
            time=summarise(times, "s"),
            time_cold=summarise(cold, "s"),
            traffic={level: Traffic(model=Quantity(work / mark, "B", "derived")) for level, mark in marks.items()},
            verification=Verification(True, 1e-7, 1e-7, 4e-6, "float64"),
            math_roof=unit,
            figures=figures,
            samples=times,
            samples_cold=cold,
        )

    roofs = {
        "fp32": roof("FMA units, fp32", fp32, fp32 * 1.03),
        "bf16_mma": roof("Tensor cores, bf16 (mma.sync)", tensor, tensor * 1.5),
        "load_path": roof("SM load path (shared memory)", path),
        "l1": roof("L1 cache", path * 1.0005),
        "l2": roof("L2 cache", l2),
        "dram": roof("Device memory, read", dram, dram * 1.04),
        "dram_copy": roof("Device memory, copy (read + write)", dram * 0.92),
    }
    work = 2 * 4096.0**3
    marks3: tuple[Level, ...] = ("load_path", "l2", "dram")
    ladders = {
        "gemm_fp32": Ladder(
            "Matrix multiply",
            "4096 x 4096 x 4096",
            "fp32 in, fp32 accumulation",
            Quantity(work, "FLOP", "derived"),
            "fp32",
            None,
            tuple(rung(n, t, work, s * fp32, dict(zip(marks3, m, strict=True))) for n, t, s, *m in GEMM_FP32),
            (
                ReferenceLine(
                    "cuBLAS fp32", seen(0.78 * fp32 * shift, "TFLOP/s"), samples(work / (0.78e12 * fp32 * shift)), "cublas"
                ),
            ),
        ),
        "gemm_bf16": Ladder(
            "Matrix multiply on tensor cores",
            "8192 x 8192 x 8192",
            "bf16 in, fp32 accumulation",
            Quantity(8 * work, "FLOP", "derived"),
            "bf16_mma",
            None,
            tuple(rung(n, t, 8 * work, s * tensor, dict(zip(marks3, m, strict=True))) for n, t, s, *m in GEMM_BF16),
            (ReferenceLine("cuBLAS bf16", seen(1.17 * tensor * shift, "TFLOP/s"), name="cublas"),),
        ),
        "attention": Ladder(
            "Attention, forward",
            "batch 2, 16 heads, 4096 x 128",
            "bf16 in, fp32 accumulation",
            Quantity(work, "FLOP", "derived"),
            "fp32",
            None,
            tuple(
                rung(
                    n,
                    t,
                    work,
                    s * (tensor if n == "tensor_cores" else fp32),
                    dict(zip(marks3, m, strict=True)),
                    "bf16_mma" if n == "tensor_cores" else "",
                    peak_memory=Quantity(2.1e9 / (1 + 9 * i), "B", "measured"),
                )
                for i, (n, t, s, *m) in enumerate(ATTENTION)
            ),
        ),
        "gemv": Ladder(
            "Quantised matrix-vector product",
            "16384 x 16384",
            "fp32 accumulation",
            Quantity(2 * 16384.0**2, "FLOP", "derived"),
            "fp32",
            None,
            tuple(
                rung(
                    n,
                    t,
                    2 * 16384.0**2,
                    0.93 * dram * mark,
                    {"dram": mark},
                    bandwidth=Quantity(0.93 * dram * 1000, "GB/s", "derived"),
                    speedup=Quantity(mark / 0.5, "", "derived"),
                    ideal_speedup=Quantity(mark / 0.5, "", "derived"),
                    quantisation_error=Quantity(0.01 * i, "", "measured"),
                )
                for i, (n, t, mark) in enumerate(GEMV)
            ),
        ),
    }
    ladders = {key: replace(ladder, level=binding_level(ladder, roofs)) for key, ladder in ladders.items()}
    waits = {"shared": 23.0, "l1": 32.0, "l2": 280.0, "l2_far": 524.0, "dram": 692.0}
    ways = ("1", "2", "4", "8", "16", "32")
    return Measurements(
        schema=2,
        device=Device(
            name,
            name.lower().replace(" ", "-"),
            "9.0",
            Quantity(sms, "", "measured"),
            Quantity(128, "", "datasheet", reference="guide"),
            memory=Memory(
                "HBM3e", 6, Quantity(150e9, "B", "measured"), Quantity(dram * 1.04, "TB/s", "datasheet", reference="sheet")
            ),
        ),
        run=Run(
            "2026-12-02",
            "580.1",
            "13.0",
            "13.0",
            "13.0",
            "14.2.0",
            clock=seen(1976.0, "MHz"),
            subjects={"roofs": SubjectRun("2026-12-02", 9.0), "gemv": SubjectRun("2026-12-02", 4.0)},
        ),
        roofs=roofs,
        latencies={
            key: Latency(seen(cycles, "cycles", 5), seen(cycles / 1.98, "ns", 5), seen(1980.0, "MHz", 5))
            for key, cycles in waits.items()
        },
        ladders=ladders,
        sweeps={
            "divergence": Sweep(
                "Divergence",
                "paths",
                "",
                "a warp that takes 1 to 32 ways",
                (
                    Series("branch", "with branches", {way: seen(2600.0 * float(way), "cycles") for way in ways}),
                    Series("predicated", "predicated", {way: seen(2650.0, "cycles") for way in ways}),
                ),
                Verification(True, 0.0, 0.0, 0.0, "closed form"),
            ),
            "coalescing": Sweep(
                "Strided reads",
                "stride",
                "elements",
                "one 4-byte load a lane",
                (
                    Series("bandwidth", "useful bytes", {way: seen(dram / float(way), "TB/s") for way in ways}),
                    Series(
                        "sectors", "sectors a request", {way: Quantity(4.0 * min(8, int(way)), "", "derived") for way in ways}
                    ),
                ),
            ),
        },
        traces=Traces(
            IndexTrace(2, 4, 7, (0, 1, 2, 3, 4, 5, 6, -1)),
            LaunchTrace(
                4,
                256,
                "k",
                (0, 1, 0, 1),
                (0, 0, 50, 50),
                (50, 50, 100, 100),
                Quantity(32, "ns", "measured"),
                Quantity(100, "ns", "measured"),
                seen(9e-6 * shift, "s"),
                Quantity(2, "", "measured"),
            ),
            DivergenceTrace(
                "threadIdx.x < 16",
                (100,) * 16 + (0,) * 16,
                (200,) * 16 + (100,) * 16,
                seen(200, "cycles", 21),
                seen(103, "cycles", 21),
                Quantity(1.94, "", "derived"),
            ),
        ),
        all_reduce=AllReduce(
            "All-reduce of 8 GPUs",
            Quantity(8, "", "measured"),
            Quantity(900, "GB/s", "datasheet", reference="sheet"),
            bus_bandwidth={"ring": seen(310, "GB/s")},
            algorithm_bandwidth={"ring": seen(310 / 1.75, "GB/s")},
            runs=tuple(
                AllReduceRun(
                    algorithm,
                    Quantity(size, "B", "derived"),
                    seen(size * 1.75 / 310e9, "s"),
                    seen(310 / 1.75, "GB/s"),
                    Quantity(310, "GB/s", "derived"),
                    Verification(True, 0.0, 0.0, 0.0, "exact sum"),
                )
                for algorithm in ("one_shot", "ring")
                for size in (1e6, 1e9)
            ),
        ),
        virtual_all_reduce=AllReduce(
            "4 ranks on one GPU",
            Quantity(4, "", "measured"),
            runs=(
                AllReduceRun(
                    "ring",
                    Quantity(1e6, "B", "derived"),
                    seen(1e-4, "s"),
                    seen(10, "GB/s"),
                    Quantity(15, "GB/s", "derived"),
                    Verification(True, 0.0, 0.0, 0.0, "exact sum"),
                ),
            ),
        ),
        absent={"counters": "ncu is not installed"},
        provenance="Made up.",
    )


def small() -> Measurements:
    """A laptop's GPU: slow, old, no tensor roof in the file, few subjects."""
    big = full("Made-up Mini", fp32=4.1, tensor=9.0, path=2.0, l2=0.7, dram=0.128, sms=14)
    roofs = {key: roof for key, roof in big.roofs.items() if key not in ("bf16_mma", "l1")}
    ladders = {key: big.ladders[key] for key in ("gemm_fp32", "gemv")}
    return replace(
        big,
        roofs=roofs,
        ladders=ladders,
        sweeps={},
        all_reduce=None,
        virtual_all_reduce=None,
        absent={"ladders.gemm_bf16": "needs compute capability 8.0; this GPU has 7.5"},
    )
