"""Raw samples of two to eight GPUs, and of ranks on one, become records; what was wrong or missing says why."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from measure import all_reduce, links, schema
from measure.all_reduce import NAMES, SIZES, SUBJECT, VIRTUAL, blocked, sizes
from measure.all_reduce_nccl import SWITCH, keep_sums_out_of_the_switch
from measure.device import Hardware
from measure.errors import VerificationError
from measure.records import SCHEMA_VERSION, AllReduce, Device, Measurements
from measure.subject import Context
from measure.timing import FULL, QUICK

EMPTY = Measurements(schema=SCHEMA_VERSION, device=Device("Test GPU", "test-gpu"), run=None)
HARDWARE = Hardware("Test GPU", 90, 132, 50 << 20, 140 << 30, 1980.0, 3201.0, 6144, 2048, 65536, 228 << 10, 227 << 10)
CONTEXT = Context(HARDWARE, False)


def row(name: str, ranks: int, size: int, seconds: float, **changes: Any) -> dict[str, Any]:
    return {
        "algorithm": name,
        "ranks": ranks,
        "bytes": size,
        "blocks": 32,
        "threads": 512,
        "odd_sizes": True,
        "tolerance": 4.2e-7,
        "error": 2e-7,
        "error_after": 2e-7,
        "samples": [seconds, 2 * seconds, 3 * seconds],
        **changes,
    }


def server(gpus: int, **changes: Any) -> dict[str, Any]:
    """What `collect` gives on a machine of so many GPUs: 1 MiB in 20 us, 1 GiB in 10 ms, by every algorithm and NCCL."""
    pairs = [f"{a}-{b}" for a in range(gpus) for b in range(gpus) if a != b]
    rows = [row(name, gpus, size, t) for size, t in ((1 << 20, 1e-5), (1 << 30, 5e-3)) for name in (*NAMES, "nccl")]
    return {
        "gpus": gpus,
        "matrix": [[True] * gpus] * gpus,
        "trial": {
            "reason": "",
            "wrong": [],
            "one_way": {pair: [380.0, 381.0] for pair in pairs},
            "both_ways": {pair: [740.0, 750.0] for pair in pairs[: gpus // 2]},
        },
        "nvlink": [{"links": 18, "active": 18, "link_mb_s": 26562}] * gpus,
        "switch": "off (NCCL_NVLS_ENABLE=0)",
        "nccl": "2.28.3",
        "absent": {},
        "rows": rows,
        **changes,
    }


def recorded(raw: dict[str, Any]) -> AllReduce:
    found = SUBJECT.record(EMPTY, raw, CONTEXT).all_reduce
    assert found is not None
    return found


@pytest.mark.parametrize(("gpus", "factor"), [(2, 1.0), (3, 4 / 3), (4, 1.5), (8, 1.75)])
def test_bus_bandwidth_is_that_of_nccl_tests(gpus: int, factor: float) -> None:
    """doc/PERFORMANCE.md of nccl-tests: busbw = algbw x 2(n - 1)/n, algbw = bytes/time."""
    found = recorded(server(gpus))
    assert found.gpus.value == gpus and len(found.runs) == 10
    ring = next(run for run in found.runs if run.algorithm == "ring" and run.bytes.value == 1 << 30)
    assert ring.time.value == 10e-3 and ring.time.n == 3
    assert ring.algorithm_bandwidth.value == pytest.approx(107.3741824)
    assert ring.bus_bandwidth.value == pytest.approx(107.3741824 * factor)
    assert found.bus_bandwidth["ring"].value == ring.bus_bandwidth.value
    assert found.bus_bandwidth["ring"].reference.endswith("at 1 GiB")
    assert set(found.bus_bandwidth) == set(found.algorithm_bandwidth) == {*NAMES, "nccl"}


def test_links_and_copies_are_recorded_with_their_sources() -> None:
    found = recorded(server(8))
    assert found.link_one_way is not None and found.link_one_way.value == pytest.approx(478.116)
    assert found.link_total is not None and found.link_total.value == pytest.approx(956.232)
    assert found.link_one_way.reference == "NVML: 18 NVLinks x 26562 MB/s"
    assert (found.p2p["one_way"].value, found.p2p["one_way"].n, found.p2p["one_way"].unit) == (380.5, 112, "GB/s")
    assert found.p2p["both_ways"].value == 745.0 and "4 pairs" in found.p2p["both_ways"].reference
    assert found.facts["sums in the switch"] == "off (NCCL_NVLS_ENABLE=0)"
    assert found.facts["copies between GPUs"] == "right between all pairs" and found.facts["NCCL"] == "2.28.3"


def test_gpus_without_nvlink_have_no_line_rate() -> None:
    found = recorded(server(2, nvlink=[{}, {}]))
    assert found.link_one_way is None and found.link_total is None and "NVLink" not in found.facts


def test_where_peers_cannot_be_reached_nccl_alone_is_recorded_with_the_reason() -> None:
    reason = "GPUs 0-1 may not reach each other's memory, by CUDA"
    trial = {"reason": reason, "wrong": [], "one_way": {}, "both_ways": {}}
    raw = server(2, trial=trial, absent=dict.fromkeys(NAMES, reason), rows=[row("nccl", 2, 1 << 20, 1e-3, blocks=0)])
    found = recorded(raw)
    assert set(found.bus_bandwidth) == {"nccl"} and found.p2p == {}
    assert found.facts["ring not run"] == found.facts["copies between GPUs"] == reason
    assert found.runs[0].time.reference.endswith("launched by NCCL")


def test_without_nccl_its_reason_is_recorded() -> None:
    raw = server(2, nccl="", absent={"nccl": "NCCL cannot be loaded"}, rows=[row("ring", 2, 1024, 1e-5)])
    found = recorded(raw)
    assert "NCCL" not in found.facts and found.facts["nccl not run"] == "NCCL cannot be loaded"


WRONG = [
    ({"error": 1e-3}, r"ring among 4 ranks is wrong at 64 KiB: error 0\.001, at most 4\.2e-07 is rounding"),
    ({"error_after": 1e-3}, r"error 0\.001"),
    ({"error": None}, "not finite, or ranks that differ"),
    ({"odd_sizes": False}, "small calls of odd sizes, or calls that follow each other at once"),
]


@pytest.mark.parametrize("subject", [SUBJECT, VIRTUAL], ids=lambda subject: subject.name)
@pytest.mark.parametrize(("change", "words"), WRONG)
def test_a_wrong_one_of_ours_is_not_recorded_at_all(subject: Any, change: dict[str, Any], words: str) -> None:
    rows = [row("one_shot", 4, 1 << 16, 1e-5), row("ring", 4, 1 << 16, 1e-5, samples=[], **change)]
    with pytest.raises(VerificationError, match=words):
        subject.record(EMPTY, server(4, rows=rows), CONTEXT)


def test_a_wrong_nccl_is_left_out_and_said_so() -> None:
    rows = [row("ring", 2, 1024, 1e-5), row("nccl", 2, 1024, 1e-5, error=1.0, samples=[])]
    found = recorded(server(2, rows=rows))
    assert {run.algorithm for run in found.runs} == {"ring"} and found.facts["nccl not shown"] == "its result is wrong"


def virtual() -> Measurements:
    rows = [row(name, ranks, size, 1e-5) for ranks in (2, 8) for size in (1 << 10, 1 << 20) for name in NAMES]
    return VIRTUAL.record(EMPTY, {"rows": rows}, CONTEXT)


def test_virtual_ranks_are_never_a_link() -> None:
    found = virtual().virtual_all_reduce
    assert found is not None and virtual().all_reduce is None
    assert found.gpus.value == 1 and found.link_total is None and found.link_one_way is None and found.p2p == {}
    assert found.bus_bandwidth == {} and found.facts == {"link": "none"}
    assert "2, 8 virtual ranks" in found.title and "no link" in found.title
    assert {run.algorithm for run in found.runs} == {f"{name}_{ranks}" for name in NAMES for ranks in (2, 8)}
    assert all("no link" in run.bus_bandwidth.reference for run in found.runs)
    assert all(run.verification is not None and run.verification.passed for run in found.runs)
    assert found.algorithm_bandwidth["ring_8"].value == pytest.approx((1 << 20) / 2e-5 / 1e9)


def test_both_survive_a_file(tmp_path: Path) -> None:
    found = SUBJECT.record(virtual(), server(8), CONTEXT)
    schema.save(found, tmp_path / "gpu.json")
    assert schema.load(tmp_path / "gpu.json") == found


def test_sizes_are_powers_of_four_that_fit() -> None:
    assert SIZES[0] == 1024 and SIZES[-1] == 1 << 30 and all(b == 4 * a for a, b in pairwise(SIZES))
    assert sizes(False, 140 << 30, 8) == SIZES
    assert sizes(False, 8 << 30, 8)[-1] == 64 << 20  # 20 buffers of 256 MiB are more than 4.8 GiB
    assert set(sizes(True, 140 << 30, 8)) <= {1 << power for power in range(10, 25, 2)}


def test_steps_are_announced_as_many_as_come() -> None:
    assert SUBJECT.steps(FULL) == 1 + len(SIZES) and VIRTUAL.steps(FULL) == 3 * 6  # 1, 4, 16, 64, 256 MiB and 1 GiB
    assert SUBJECT.steps(QUICK) == 1 + len(all_reduce.QUICK_SIZES)


def test_pairs_that_may_not_reach_each_other_are_named() -> None:
    assert blocked([[True, True], [True, True]], [0, 1]) == ""
    matrix = [[True, True, False], [True, True, True], [True, True, True]]
    assert blocked(matrix, [0, 1, 2]) == "GPUs 0-2 may not reach each other's memory, by CUDA"


def test_sums_in_the_switch_are_off_unless_the_user_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    assert keep_sums_out_of_the_switch() == "off (NCCL_NVLS_ENABLE=0)"
    monkeypatch.setenv(SWITCH, "1")
    assert keep_sums_out_of_the_switch() == "as NCCL likes (NCCL_NVLS_ENABLE=1 was set)"


def test_copies_are_summed_up_over_all_pairs() -> None:
    assert links.SIZE == 256 << 20 and "256 MiB" in recorded(server(2)).p2p["one_way"].reference
