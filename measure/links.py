"""The ways between GPUs: who may reach whose memory, what NVML says of NVLink, and copies that are tried out.

`python -m measure.links` is the trial: it copies between all pairs, checks what arrives and prints a line of JSON each.  It is
run in a process of its own with a time limit, as on a machine whose IOMMU or PCIe access control is in the way a copy may hang
for ever, or arrive wrong (NVIDIA/nccl-tests issue 117).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from measure.device import explain, with_nvml

SECONDS = 90.0
SIZE = 256 << 20
REPEATS = 5
COPIES = 4
NVLINK_LINKS = 18  # NVML_NVLINK_MAX_LINKS
ONE_GPU = "one GPU only: there is no peer to copy to"
HUNG = "copies between GPUs did not end within {:.0f} s: is an IOMMU or PCIe access control (ACS) in their way?"


def peer_matrix() -> list[list[bool]]:
    """`[a][b]`: whether GPU a may read and write the memory of GPU b, by CUDA.  Needs CuPy."""
    from cupy.cuda import runtime

    count = runtime.getDeviceCount()
    return [[a == b or bool(runtime.deviceCanAccessPeer(a, b)) for b in range(count)] for a in range(count)]


def enable_peers(devices: Iterable[int]) -> None:
    """Let each of these GPUs reach the memory of the others; a pair that is enabled already stays so.  Needs CuPy."""
    import cupy

    listed = tuple(devices)
    for one in listed:
        with cupy.cuda.Device(one):
            for other in listed:
                try:
                    if one != other:
                        cupy.cuda.runtime.deviceEnablePeerAccess(other)
                except cupy.cuda.runtime.CUDARuntimeError as error:
                    if "PeerAccessAlreadyEnabled" not in str(error):
                        raise


def nvlink(device: int) -> dict[str, Any]:
    """NVLink of one GPU by NVML: `links`, how many are `active`, MB/s of one each way; what it does not say is left out."""
    import cupy

    with cupy.cuda.Device(device):
        states = with_nvml(_link_states)
        speed = with_nvml(_link_speed)
    found: dict[str, Any] = {}
    if states:
        found |= {"links": len(states), "active": sum(states)}
    if speed:
        found["link_mb_s"] = speed
    return found


def _link_states(nvml: Any, handle: Any) -> list[bool]:
    states = []
    for link in range(NVLINK_LINKS):
        try:
            states.append(bool(nvml.nvmlDeviceGetNvLinkState(handle, link)))
        except nvml.NVMLError:  # beyond the last link, or a GPU without NVLink
            break
    return states


def _link_speed(nvml: Any, handle: Any) -> int:
    value = nvml.nvmlDeviceGetFieldValues(handle, [nvml.NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON])[0]
    return int(value.value.uiVal) if value.nvmlReturn == 0 else 0


# the trial, and the process that it runs in


def try_peers(seconds: float = SECONDS, command: Sequence[str] = ()) -> dict[str, Any]:
    """Run the trial and wait for it.

    `reason` is empty if every pair's copies arrived right, else one line; `wrong` lists pairs whose copies did not; `one_way`
    and `both_ways` hold samples in GB/s by pair (`0-1`).  What was found before a hang is kept.
    """
    root = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    process = subprocess.Popen(
        command or (sys.executable, "-m", "measure.links"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    hung = False
    try:
        output, complaints = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        hung = True
        process.kill()
        try:
            output, complaints = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:  # stuck inside of the driver, where nothing ends it
            output, complaints = "", ""
    return read_trial(output, HUNG.format(seconds) if hung else "", complaints, process.returncode)


def read_trial(output: str, hung: str, complaints: str, code: int | None) -> dict[str, Any]:
    """What a trial's lines say, and why it is not complete if it is not."""
    found: dict[str, Any] = {"reason": hung, "wrong": [], "one_way": {}, "both_ways": {}}
    done = False
    for line in output.splitlines():
        try:
            word = json.loads(line)
        except ValueError:
            continue  # a line that was cut, or somebody else's
        if not isinstance(word, Mapping):
            continue
        done = done or bool(word.get("done"))
        found["reason"] = found["reason"] or str(word.get("reason", ""))
        if word.get("right") is False:
            found["wrong"].append(word["pair"])
        for way in ("one_way", "both_ways"):
            if way in word:
                found[way][word["pair"]] = word[way]
    if found["wrong"] and not found["reason"]:
        found["reason"] = f"copies between GPUs {', '.join(found['wrong'])} arrived wrong"
    if not done and not found["reason"]:
        lines = [line for line in complaints.splitlines() if line.strip()] or [f"exit code {code}"]
        found["reason"] = f"the trial of copies between GPUs broke off: {lines[-1].strip()}"
    return found


def main() -> int:
    """Try all pairs and print what was found.  Returns 0; a reason is a line like any other."""
    try:
        import cupy

        count = cupy.cuda.runtime.getDeviceCount()
        if count < 2:
            _say(reason=ONE_GPU)
            return 0
        matrix = peer_matrix()
        for a in range(count):
            for b in range(count):
                if a != b and matrix[a][b]:
                    _one_way(a, b)
        for a in range(count):
            for b in range(a + 1, count):
                if matrix[a][b] and matrix[b][a]:
                    _both_ways(a, b)
        if not any(matrix[a][b] for a in range(count) for b in range(count) if a != b):
            _say(reason="no GPU may reach another's memory (CUDA says so of every pair)")
        _say(done=True)
    except Exception as error:  # whatever CUDA refuses is the finding
        _say(reason=explain(str(error)))
    return 0


def _say(**words: Any) -> None:
    print(json.dumps(words), flush=True)


def _one_way(a: int, b: int) -> None:
    import cupy

    enable_peers((a, b))
    with cupy.cuda.Device(a):
        source = cupy.random.default_rng(a + 1).integers(0, 1 << 30, SIZE // 4, dtype=cupy.uint32)
        sent = source.get()
        stream = cupy.cuda.Stream(non_blocking=True)
    with cupy.cuda.Device(b):
        target = cupy.full(SIZE // 4, 0xFFFFFFFF, cupy.uint32)
        cupy.cuda.runtime.deviceSynchronize()
    samples = [_seconds([(a, stream, lambda: _copy(b, target, a, source, stream))]) for _ in range(REPEATS)]
    with cupy.cuda.Device(b):
        right = bool((target.get() == sent).all())
    _say(pair=f"{a}-{b}", right=right, one_way=[SIZE * COPIES / seconds / 1e9 for seconds in samples[1:]])


def _both_ways(a: int, b: int) -> None:
    import cupy

    arrays, streams = {}, {}
    for device in (a, b):
        with cupy.cuda.Device(device):
            arrays[device] = (cupy.zeros(SIZE // 4, cupy.uint32), cupy.zeros(SIZE // 4, cupy.uint32))
            streams[device] = cupy.cuda.Stream(non_blocking=True)
            cupy.cuda.runtime.deviceSynchronize()
    work = [
        (one, streams[one], lambda one=one, other=other: _copy(other, arrays[other][1], one, arrays[one][0], streams[one]))
        for one, other in ((a, b), (b, a))
    ]
    samples = [_seconds(work) for _ in range(REPEATS)]
    _say(pair=f"{a}-{b}", both_ways=[2 * SIZE * COPIES / seconds / 1e9 for seconds in samples[1:]])


def _copy(to: int, target: Any, at: int, source: Any, stream: Any) -> None:
    from cupy.cuda import runtime

    runtime.memcpyPeerAsync(target.data.ptr, to, source.data.ptr, at, source.nbytes, stream.ptr)


def _seconds(work: Sequence[tuple[int, Any, Any]]) -> float:
    """Seconds of some copies on each of the streams at once, by the slower one."""
    import cupy

    events = []
    for device, stream, copy in work:
        with cupy.cuda.Device(device):
            start, stop = cupy.cuda.Event(), cupy.cuda.Event()
            start.record(stream)
            for _ in range(COPIES):
                copy()
            stop.record(stream)
            events.append((start, stop))
    for _, stop in events:
        stop.synchronize()
    return max(float(cupy.cuda.get_elapsed_time(start, stop)) for start, stop in events) * 1e-3


if __name__ == "__main__":
    sys.exit(main())
