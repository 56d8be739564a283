"""The check of attention: it lets roundings pass, and nothing that leaves a part of the keys out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from kernels.attention.problem import Attention, tolerance
from measure import attention_check, bf16
from measure.verify import passes

LONG = Attention(1, 1, 8192)
LIMIT = tolerance(LONG)


@pytest.fixture(scope="module")
def tensors() -> tuple[Any, Any, Any]:
    return attention_check.inputs(np, LONG, attention_check.SPREAD, seed=3)


@pytest.fixture(scope="module")
def sample(tensors: tuple[Any, Any, Any]) -> attention_check.Sample:
    return attention_check.reference(np, LONG, *tensors, seed=3)


def weights_of(tensors: tuple[Any, Any, Any], rows: Any, keys: slice) -> Any:
    """exp(score - maximum) in float64, not yet divided by their sum."""
    q, k, _ = (bf16.from_bf16(np, one[0]).astype(np.float64) for one in tensors)
    scores = q[rows] @ k[keys].T / math.sqrt(128)
    return np.exp(scores - scores.max(axis=1, keepdims=True))


def output(rows: Any, values: Any) -> Any:
    """A whole output in bf16 that is right only in the sampled rows, finite elsewhere."""
    out = np.zeros((1, LONG.seq, 128), dtype=np.uint16)
    out[0, rows] = bf16.to_bf16(np, values.astype(np.float32))
    return out


def attended(tensors: tuple[Any, Any, Any], rows: Any, keys: slice, rounded: bool) -> Any:
    weights = weights_of(tensors, rows, keys)
    total = weights.sum(axis=1, keepdims=True)
    if rounded:
        weights = bf16.from_bf16(np, bf16.to_bf16(np, weights.astype(np.float32))).astype(np.float64)
    return weights @ bf16.from_bf16(np, tensors[2][0, keys]).astype(np.float64) / total


@pytest.mark.parametrize("rounded", [False, True])
def test_what_is_only_rounded_passes(tensors: tuple[Any, Any, Any], sample: attention_check.Sample, rounded: bool) -> None:
    rows = sample.rows[0]
    found = attention_check.error(np, output(rows, attended(tensors, rows, slice(None), rounded)), sample)
    assert 0.1 * LIMIT < found <= LIMIT


@pytest.mark.parametrize("keys", [slice(0, 8160), slice(64, None)], ids=["without the last tile", "without the first tile"])
def test_a_tile_of_keys_that_is_left_out_is_found_out(
    tensors: tuple[Any, Any, Any], sample: attention_check.Sample, keys: slice
) -> None:
    """32 or 64 of 8192 keys: a half or one percent of the weights."""
    rows = sample.rows[0]
    found = attention_check.error(np, output(rows, attended(tensors, rows, keys, rounded=True)), sample)
    assert found > 2 * LIMIT


def test_zeros_nan_and_another_shape_are_found_out(tensors: tuple[Any, Any, Any], sample: attention_check.Sample) -> None:
    rows = sample.rows[0]
    right = output(rows, attended(tensors, rows, slice(None), rounded=False))
    assert attention_check.error(np, np.zeros_like(right), sample) > 4 * LIMIT
    unwritten = right.copy()
    unwritten[0, (set(range(LONG.seq)) - set(rows.tolist())).pop(), 5] = bf16.NAN
    for wrong in (unwritten, right[:, :, :64], right[0], np.concatenate([right, right])):
        assert attention_check.error(np, wrong, sample) == math.inf
        assert not passes(attention_check.error(np, wrong, sample), LIMIT)


@pytest.mark.parametrize("causal", [False, True])
def test_the_reference_is_attention(causal: bool) -> None:
    """Against SciPy's softmax, for two heads of few keys, all of whose rows are checked."""
    problem = Attention(2, 1, 9, causal)
    q, k, v = attention_check.inputs(np, problem, 4.0, seed=5)
    found = attention_check.reference(np, problem, q, k, v, seed=5)
    assert found.rows.tolist() == [list(range(9))] * 2
    for head in range(2):
        wide = [bf16.from_bf16(np, one[head]).astype(np.float64) for one in (q, k, v)]
        scores = wide[0] @ wide[1].T / math.sqrt(128)
        weights = softmax(np.where(np.tri(9) > 0, scores, -np.inf) if causal else scores, axis=1)
        assert found.exact[head] == pytest.approx(weights @ wide[2], rel=1e-12)
        spread = np.sqrt((weights[:, :, None] ** 2 * wide[2][None] ** 2).sum(axis=1))
        assert found.scale[head] == pytest.approx(np.abs(weights @ wide[2]) + 4 * spread, rel=1e-12)


def test_inputs_fill_their_range_and_are_the_same_for_one_seed() -> None:
    problem = Attention(1, 2, 500)
    q, k, v = (bf16.from_bf16(np, one) for one in attention_check.inputs(np, problem, 4.0, seed=1))
    assert q.shape == k.shape == v.shape == (2, 500, 128)
    for one, largest in ((q, 4.0), (k, 1.0), (v, 1.0)):
        assert one.min() < -0.99 * largest and 0.99 * largest < one.max() <= largest and abs(one.mean()) < 0.02 * largest
    again = attention_check.inputs(np, problem, 4.0, seed=1)
    assert all((bf16.from_bf16(np, a) == b).all() for a, b in zip(again, (q, k, v), strict=True))


def test_no_tile_of_queries_goes_unseen() -> None:
    for seq in (513, 1000, 8192):
        rows = attention_check.sampled_rows(np, Attention(1, 3, seq), seed=2)
        for head in rows:
            assert set(range(-(-seq // 64))) == {int(row) // 64 for row in head}
            assert head.max() < seq
        assert len({tuple(head) for head in rows.tolist()}) == 3
