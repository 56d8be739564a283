"""Every subject of the suite, in the order in which they are measured; counters come last, as they add to the ladders."""

from __future__ import annotations

from measure import (
    all_reduce,
    attention,
    coalescing,
    counters,
    curves,
    gemm_bf16,
    gemv,
    gemv_batch,
    ladders,
    latency,
    latency_sizes,
    launches,
    roofs,
    streams,
    sweeps,
    trace,
)
from measure.subject import Subject

SUBJECTS: tuple[Subject, ...] = (
    roofs.SUBJECT,
    latency.SUBJECT,
    latency_sizes.SUBJECT,
    ladders.SUBJECT,
    gemm_bf16.SUBJECT,
    attention.SUBJECT,
    curves.SUBJECT,
    gemv.SUBJECT,
    gemv_batch.SUBJECT,
    trace.INDEX,
    trace.LAUNCH,
    launches.SUBJECT,
    trace.DIVERGENCE,
    sweeps.DIVERGENCE,
    coalescing.SUBJECT,
    streams.SUBJECT,
    all_reduce.VIRTUAL,
    all_reduce.SUBJECT,
    counters.SUBJECT,
)
