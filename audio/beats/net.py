"""BeatNet's three networks in numpy: what they hear -> how likely each frame is a beat, a downbeat, or neither.

Each is a convolution over the bands, a dense layer and two LSTM layers (Heydari, Cwitkowitz and Duan, "BeatNet", ISMIR 2021),
run forwards in time. The weights are the authors' (CC BY 4.0, see NOTICE), kept in half precision: `python -m
audio.beats.weights WHEEL` takes them from BeatNet's wheel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audio.beats.features import Floats

HERE = Path(__file__).parent / "weights"
MODELS = (1, 2, 3)
Weights = Mapping[str, NDArray[np.float32]]
Told = Callable[[float], None]


@cache
def load(model: int) -> Weights:
    """The weights of one of the networks, single precision, by the names that PyTorch gave them."""
    with np.load(HERE / f"beatnet-{model}.npz") as kept:
        return {name: kept[name].astype(np.float32) for name in kept.files}


def activations(heard: Floats, told: Told = lambda share: None) -> NDArray[np.float64]:
    """Features (frames, n) -> probabilities (models, frames, 2) of a beat that is no downbeat, and of a downbeat.

    `told` hears the share done, from 0 to 1.
    """
    out = np.empty((len(MODELS), len(heard), 2))
    for k, model in enumerate(MODELS):
        out[k] = probabilities(load(model), heard)[:, :2]
        told((k + 1) / len(MODELS))
    return out


def probabilities(weights: Weights, heard: Floats) -> Floats:
    """Features (frames, n) -> probabilities (frames, 3) of beat, downbeat and neither."""
    kernel = weights["conv1.weight"]  # (2, 1, taps)
    windows = np.lib.stride_tricks.sliding_window_view(heard, kernel.shape[2], axis=1)
    convolved = np.maximum(np.einsum("tnk,ck->tcn", windows, kernel[:, 0]) + weights["conv1.bias"][None, :, None], 0.0)
    pairs = convolved.shape[2] // 2
    pooled = convolved[:, :, : 2 * pairs].reshape(len(heard), kernel.shape[0], pairs, 2).max(axis=3).reshape(len(heard), -1)
    x = pooled @ weights["linear0.weight"].T + weights["linear0.bias"]
    for layer in (0, 1):
        x = lstm(x, *(weights[f"lstm.{name}_l{layer}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")))
    scores = x @ weights["linear.weight"].T + weights["linear.bias"]
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float32)


def lstm(x: Floats, w_in: Floats, w_back: Floats, b_in: Floats, b_back: Floats) -> Floats:
    """An LSTM layer (Hochreiter and Schmidhuber 1997), (frames, n) -> (frames, m), its gates ordered as in PyTorch."""
    size = w_back.shape[1]
    driven = x @ w_in.T + (b_in + b_back)
    back = np.ascontiguousarray(w_back.T)
    hidden, cell = np.zeros(size, np.float32), np.zeros(size, np.float32)
    out = np.empty((len(x), size), np.float32)
    half = np.full(4 * size, 0.5, np.float32)  # a logistic gate is a hyperbolic tangent of half its input, moved to 0..1
    half[2 * size : 3 * size] = 1.0
    for t in range(len(x)):
        gates = np.tanh((driven[t] + hidden @ back) * half)
        enter, forget, leave = (0.5 + 0.5 * gates[k * size : (k + 1) * size] for k in (0, 1, 3))
        cell = forget * cell + enter * gates[2 * size : 3 * size]
        hidden = leave * np.tanh(cell)
        out[t] = hidden
    return out
