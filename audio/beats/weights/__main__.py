"""Take BeatNet's weights from its wheel: `pip download --no-deps BeatNet`, then `python -m audio.beats.weights WHEEL`."""

from __future__ import annotations

import collections
import io
import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
Sizes = tuple[int, ...]
TYPES = {"FloatStorage": np.float32}


def tensors(data: bytes) -> dict[str, NDArray[np.float32]]:
    """The arrays of a PyTorch state file; nothing but arrays is unpickled.  Raises pickle.UnpicklingError."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    index = next(name for name in archive.namelist() if name.endswith("data.pkl"))
    root = index.removesuffix("data.pkl")

    def rebuild(
        store: NDArray[Any], offset: int, size: tuple[int, ...], stride: tuple[int, ...], *rest: object
    ) -> NDArray[Any]:
        steps = [step * store.itemsize for step in stride]
        return np.lib.stride_tricks.as_strided(store[offset:], size, steps).copy()

    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            known = {"_rebuild_tensor_v2": rebuild, "OrderedDict": collections.OrderedDict, **TYPES}
            if name not in known:
                raise pickle.UnpicklingError(f"{module}.{name} is no array")
            return known[name]

        def persistent_load(self, pid: Any) -> NDArray[Any]:
            return np.frombuffer(archive.read(f"{root}data/{pid[2]}"), pid[1])

    return dict(Reader(io.BytesIO(archive.read(index))).load())


def main(wheel: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for model in (1, 2, 3):
            kept = tensors(archive.read(f"BeatNet/models/model_{model}_weights.pt"))
            path = HERE / f"beatnet-{model}.npz"
            np.savez(path, **{name: value.astype(np.float16) for name, value in kept.items()})  # type: ignore[arg-type]
            print(f"{path}: {sum(value.size for value in kept.values())} weights in half precision")


if __name__ == "__main__":
    main(*sys.argv[1:])
