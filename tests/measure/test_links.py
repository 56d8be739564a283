"""The trial of copies between GPUs: what it says is read right, and it never keeps anyone waiting."""

from __future__ import annotations

import importlib.util
import json
import sys
import time

import pytest

from measure.links import ONE_GPU, read_trial, try_peers

RIGHT: list[dict[str, object]] = [
    {"pair": "0-1", "right": True, "one_way": [380.0, 381.0]},
    {"pair": "1-0", "right": True, "one_way": [379.0]},
    {"pair": "0-1", "both_ways": [750.0]},
    {"done": True},
]


def lines(words: list[dict[str, object]]) -> str:
    return "\n".join(json.dumps(word) for word in words)


def printing(words: list[dict[str, object]], then: str = "") -> tuple[str, ...]:
    return sys.executable, "-c", f"import sys, time\nprint({lines(words)!r}, flush=True)\n{then}"


def test_a_whole_trial_has_no_reason() -> None:
    found = try_peers(30, printing(RIGHT))
    assert found == {
        "reason": "",
        "wrong": [],
        "one_way": {"0-1": [380.0, 381.0], "1-0": [379.0]},
        "both_ways": {"0-1": [750.0]},
    }


def test_a_copy_that_hangs_is_given_up_on_and_what_came_before_is_kept() -> None:
    began = time.monotonic()
    found = try_peers(1.0, printing(RIGHT[:1], "time.sleep(60)"))
    assert time.monotonic() - began < 20
    assert found["reason"].startswith("copies between GPUs did not end within 1 s: is an IOMMU or PCIe access control (ACS)")
    assert found["one_way"] == {"0-1": [380.0, 381.0]} and "\n" not in found["reason"]


def test_a_copy_that_arrives_wrong_is_named() -> None:
    found = read_trial(lines([{"pair": "0-1", "right": False, "one_way": [1.0]}, {"done": True}]), "", "", 0)
    assert found["wrong"] == ["0-1"] and found["reason"] == "copies between GPUs 0-1 arrived wrong"


def test_a_trial_that_breaks_off_says_its_last_word() -> None:
    found = try_peers(30, printing(RIGHT[:2], "raise RuntimeError('the bus fell off')"))
    assert found["reason"] == "the trial of copies between GPUs broke off: RuntimeError: the bus fell off"
    assert read_trial("", "", "", -11)["reason"] == "the trial of copies between GPUs broke off: exit code -11"


def test_a_reason_of_the_trial_itself_comes_first() -> None:
    assert read_trial(lines([{"reason": ONE_GPU}]), "", "", 0)["reason"] == ONE_GPU


def test_lines_of_others_and_half_lines_are_passed_over() -> None:
    found = read_trial('a warning\n7\n{"pair": "0-1", "rig', "hung", "", None)
    assert found == {"reason": "hung", "wrong": [], "one_way": {}, "both_ways": {}}


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="there may be GPUs here")
def test_the_real_trial_without_a_gpu_is_one_line() -> None:
    found = try_peers(60)
    assert "cupy" in found["reason"] and found["one_way"] == {} and "\n" not in found["reason"]
