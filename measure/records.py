"""The records of a measurement file: frozen dataclasses, one JSON document a GPU.

A quantity is never a bare number: it carries its unit, its spread and where it comes from.  What was not measured is
None or listed in `Measurements.absent` with the reason; nothing is filled in.

Units used in the files: TFLOP/s and TB/s for rates and roofs, GB/s for links, B for sizes and traffic, FLOP for work, FLOP/B
for intensity, s for times, ns and cycles in traces, MHz for clocks, the empty string for counts and ratios.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

SCHEMA_VERSION = 2

Source = Literal["measured", "datasheet", "published", "derived", "estimated"]
Level = Literal["load_path", "l2", "dram", "algorithmic"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure with its unit and source.  `low`/`high` are the quartiles of `n` samples where it was measured.

    `reference` is the citation of a datasheet or published figure, or the formula of a derived one.
    """

    value: float
    unit: str
    source: Source
    low: float | None = None
    high: float | None = None
    n: int | None = None
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """Device memory as the picture needs it: `kind` such as HBM3e or GDDR6X, `packages` = stacks or chips around the die, on
    its side of the board."""

    kind: str | None = None
    packages: int | None = None
    size: Quantity | None = None
    bandwidth: Quantity | None = None
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Device:
    """The GPU a file belongs to.  No serial number or UUID is stored."""

    name: str
    slug: str
    compute_capability: str | None = None
    sm_count: Quantity | None = None
    fp32_lanes_per_sm: Quantity | None = None
    warp_size: Quantity | None = None
    l2_size: Quantity | None = None
    boost_clock: Quantity | None = None
    memory: Memory = field(default_factory=Memory)
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SubjectRun:
    """How one subject was measured: when, for how long, from which code, and what held the clock down meanwhile."""

    date: str
    seconds: float
    sources_sha256: str = ""
    quick: bool = False
    throttle_reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """How and when a file was measured; every version that can change a figure."""

    date: str
    driver: str | None = None
    cuda_driver: str | None = None
    cuda_runtime: str | None = None
    nvrtc: str | None = None
    cupy: str | None = None
    numpy: str | None = None
    python: str | None = None
    system: str | None = None
    kernels_sha256: str | None = None
    quick: bool = False
    seconds: float | None = None
    clock: Quantity | None = None
    throttled: bool = False
    notes: tuple[str, ...] = ()
    subjects: Mapping[str, SubjectRun] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Latency:
    """How long one load waits: `cycles` of the SM's clock, `time` in ns, and the `clock` in MHz that relates the two."""

    cycles: Quantity
    time: Quantity | None = None
    clock: Quantity | None = None


@dataclass(frozen=True, slots=True)
class Roof:
    """A ceiling.  `kind` is math (TFLOP/s) or memory (TB/s).  `measured` is our probe, `datasheet` the vendor's figure,
    `computed` = units x width x clock."""

    title: str
    kind: Literal["math", "memory"]
    measured: Quantity | None = None
    computed: Quantity | None = None
    datasheet: Quantity | None = None
    published: Quantity | None = None
    samples: tuple[float, ...] = ()

    @property
    def best(self) -> Quantity | None:
        """What a chart draws: measured, else published, else the datasheet's, else computed."""
        return self.measured or self.published or self.datasheet or self.computed

    @property
    def best_field(self) -> str | None:
        """Name of the field that `best` returns."""
        for name in ("measured", "published", "datasheet", "computed"):
            if getattr(self, name) is not None:
                return name
        return None


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that one launch moves at a level: by the warp-access model and, where permitted, by hardware counters."""

    model: Quantity | None = None
    counters: Quantity | None = None

    @property
    def best(self) -> Quantity | None:
        return self.counters or self.model


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of checking a kernel against float64, before and after it was timed.

    error = max |out - ref| / (|A||B|) over the checked elements; it passes when finite and at most `tolerance`."""

    passed: bool
    error: float
    error_after: float
    tolerance: float
    oracle: str


@dataclass(frozen=True, slots=True)
class Build:
    """What the compiler and one launch used; `shared_bytes` static and dynamic together."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    options: tuple[str, ...] = ()
    source_sha256: str | None = None
    entry: str = ""


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung of a ladder.  `rate` in TFLOP/s; `samples` are raw seconds a run; `builds` one a launch of the run.

    `absent` says why it was not run.  `math_roof` is the roof of the units it computes on, the ladder's where empty.  `figures`
    are what else was found: `bandwidth`, `speedup`, `quantisation_error`, `peak_memory`, `idle_issue_slots` and the like."""

    name: str
    title: str
    change: str
    rate: Quantity | None = None
    time: Quantity | None = None
    time_cold: Quantity | None = None
    traffic: Mapping[Level, Traffic] = field(default_factory=dict)
    verification: Verification | None = None
    builds: tuple[Build, ...] = ()
    math_roof: str = ""
    figures: Mapping[str, Quantity] = field(default_factory=dict)
    clock: Quantity | None = None
    throttled: bool = False
    throttle_reasons: tuple[str, ...] = ()
    samples: tuple[float, ...] = ()
    samples_cold: tuple[float, ...] = ()
    counters: Mapping[str, Quantity] = field(default_factory=dict)
    reference: str = ""
    absent: str = ""

    @property
    def verified(self) -> bool:
        return self.verification is not None and self.verification.passed


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A vendor library's rate beside a ladder; never a rung of ours."""

    title: str
    rate: Quantity
    samples: tuple[float, ...] = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class Ladder:
    """Kernels of one subject, each one idea faster than the last.  `level` is the memory level that the chart draws."""

    title: str
    problem: str
    dtype: str
    work: Quantity | None
    math_roof: str
    level: Level | None
    rungs: tuple[Rung, ...]
    lines: tuple[ReferenceLine, ...] = ()
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """One curve of a sweep: a figure for each value of the parameter, which is the key as text (`1`, `2`, ... `32`)."""

    name: str
    title: str
    values: Mapping[str, Quantity]


@dataclass(frozen=True, slots=True)
class Sweep:
    """One kernel over a range of a `parameter` in `unit` (empty for a count)."""

    title: str
    parameter: str
    unit: str
    kernel: str
    series: tuple[Series, ...]
    verification: Verification | None = None
    reference: str = ""


@dataclass(frozen=True, slots=True)
class IndexTrace:
    """Output of an index kernel: `values[b * threads + t]` is what thread t of block b wrote, -1 where `i < n` failed."""

    blocks: int
    threads: int
    n: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LaunchTrace:
    """Which SM ran each block and when.  Times in ns from the earliest start; `tick_ns` is the timer's step."""

    blocks: int
    threads: int
    kernel: str
    sm: tuple[int, ...]
    start_ns: tuple[int, ...]
    end_ns: tuple[int, ...]
    tick_ns: Quantity
    duration: Quantity
    launch_latency: Quantity | None = None
    blocks_per_sm: Quantity | None = None


@dataclass(frozen=True, slots=True)
class DivergenceTrace:
    """Per-lane start and end of the two sides of one `if`, in SM clock cycles from the earliest read.

    `uniform_cycles` is the same work with all lanes on one side; `slowdown` the divergent time over it."""

    condition: str
    start: tuple[int, ...]
    end: tuple[int, ...]
    cycles: Quantity
    uniform_cycles: Quantity
    slowdown: Quantity


@dataclass(frozen=True, slots=True)
class Traces:
    """The recordings that drive motion; each may be absent."""

    index: IndexTrace | None = None
    launch: LaunchTrace | None = None
    divergence: DivergenceTrace | None = None


@dataclass(frozen=True, slots=True)
class AllReduceRun:
    """One algorithm at one size: `bytes` of a rank's buffer, seconds a call, and the two bandwidths in GB/s."""

    algorithm: str
    bytes: Quantity
    time: Quantity
    algorithm_bandwidth: Quantity
    bus_bandwidth: Quantity
    verification: Verification | None = None


@dataclass(frozen=True, slots=True)
class AllReduce:
    """An all-reduce inside one server: `gpus` GPUs, each with links of `link_total` (both ways together), half of it each way.

    `bus_bandwidth` by algorithm (`ring`, `nvls`) is algorithm bandwidth x 2(n - 1)/n: the rate on the wire for a ring, and only
    a figure of comparison where the switch itself adds up (nccl-tests, doc/PERFORMANCE.md)."""

    title: str
    gpus: Quantity
    link_total: Quantity | None = None
    link_one_way: Quantity | None = None
    bus_bandwidth: Mapping[str, Quantity] = field(default_factory=dict)
    algorithm_bandwidth: Mapping[str, Quantity] = field(default_factory=dict)
    runs: tuple[AllReduceRun, ...] = ()
    p2p: Mapping[str, Quantity] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Measurements:
    """One measurement file.  `latencies` by level: shared, l1, l2, l2_far, dram; `sweeps` and `ladders` by their subject.

    `virtual_all_reduce` is the same algorithms among ranks that share one GPU's memory, never a link."""

    schema: int
    device: Device
    run: Run | None
    roofs: Mapping[str, Roof] = field(default_factory=dict)
    latencies: Mapping[str, Latency] = field(default_factory=dict)
    ladders: Mapping[str, Ladder] = field(default_factory=dict)
    sweeps: Mapping[str, Sweep] = field(default_factory=dict)
    traces: Traces = field(default_factory=Traces)
    all_reduce: AllReduce | None = None
    virtual_all_reduce: AllReduce | None = None
    absent: Mapping[str, str] = field(default_factory=dict)
    provenance: str = ""
