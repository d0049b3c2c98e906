"""A BERT encoder in numpy: token numbers in, one vector for each text out."""

import json
import mmap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

_TYPES = {"F32": "<f4", "F16": "<f2"}
_HEADER_BYTES = 8  # the length of the JSON header, little-endian
_MASKED_SCORE = -1e9


class BertEncoder:
    """The encoder of a `model.safetensors` file.

    Raises ValueError, KeyError or OSError for a file without an encoder or without one of its layers.
    """

    def __init__(self, file: Path, *, layers: int, heads: int, epsilon: float, is_mean: bool) -> None:
        self._weights = _load_tensors(file)
        self._heads, self._epsilon, self._is_mean = heads, epsilon, is_mean
        self._layers = [f"encoder.layer.{number}." for number in range(layers)]
        for name in (f"{layer}output.LayerNorm.weight" for layer in self._layers):
            self._weights[name]

    def encode(self, texts: Sequence[Sequence[int]]) -> Any:
        """Return a row of length 1 for each text: the mean of its tokens, or its first token."""
        longest = max(map(len, texts))
        tokens = np.array([[*text, *[0] * (longest - len(text))] for text in texts])
        # The mask keeps the padding of shorter texts out of attention and mean.
        mask = np.array([[1.0] * len(text) + [0.0] * (longest - len(text)) for text in texts], dtype=np.float32)
        states = self._embed(tokens)
        for layer in self._layers:
            states = self._apply_layer(layer, states, (1.0 - mask)[:, None, None, :] * _MASKED_SCORE)
        pooled = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1)[:, None] if self._is_mean else states[:, 0]
        return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)

    def _embed(self, tokens: Any) -> Any:
        words, positions, types = (
            self._weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        )
        return self._layer_norm("embeddings.", words[tokens] + positions[: tokens.shape[1]] + types[0])

    def _apply_layer(self, layer: str, states: Any, mask: Any) -> Any:
        attended = self._attention(f"{layer}attention.self.", states, mask)
        attended = self._linear(f"{layer}attention.output.dense", attended)
        states = self._layer_norm(f"{layer}attention.output.", attended + states)
        inner = _gelu(self._linear(f"{layer}intermediate.dense", states))
        return self._layer_norm(f"{layer}output.", self._linear(f"{layer}output.dense", inner) + states)

    def _attention(self, prefix: str, states: Any, mask: Any) -> Any:
        count, length, width = states.shape
        query, key, value = (
            self._linear(prefix + name, states).reshape(count, length, self._heads, -1).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(-1, -2) / np.float32(np.sqrt(width / self._heads)) + mask
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))  # softmax, without overflow
        weights /= weights.sum(axis=-1, keepdims=True)
        return (weights @ value).transpose(0, 2, 1, 3).reshape(count, length, width)

    def _linear(self, name: str, states: Any) -> Any:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        rows = states.reshape(-1, states.shape[-1]) @ weight.T
        return (rows + bias).reshape(*states.shape[:-1], -1)

    def _layer_norm(self, prefix: str, states: Any) -> Any:
        centred = states - states.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        return centred / scale * self._weights[f"{prefix}LayerNorm.weight"] + self._weights[f"{prefix}LayerNorm.bias"]


def _gelu(states: Any) -> Any:
    """Return x · Φ(x), with the error function by Abramowitz and Stegun 7.1.26, exact to 1.5e-7."""
    scaled = np.abs(states) * np.float32(0.5**0.5)
    near = 1 / (1 + np.float32(0.3275911) * scaled)
    series = np.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * near + np.float32(factor)
    error = 1 - series * near * np.exp(-scaled * scaled)
    return states * (1 + np.copysign(error, states)) * np.float32(0.5)


def _load_tensors(file: Path) -> Mapping[str, Any]:
    """Return the tensors of a safetensors file by name, mapped from disk."""
    with file.open("rb") as opened:
        data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    start = _HEADER_BYTES + int.from_bytes(data[:_HEADER_BYTES], "little")
    header = json.loads(data[_HEADER_BYTES:start])
    tensors = {}
    for name, tensor in header.items():
        if tensor.get("dtype") in _TYPES:
            first, last = tensor["data_offsets"]
            kind = np.dtype(_TYPES[tensor["dtype"]])
            flat = np.frombuffer(data, kind, (last - first) // kind.itemsize, start + first)
            aligned = np.require(flat, np.float32, "A")  # numpy multiplies unaligned arrays without BLAS
            tensors[name.removeprefix("bert.")] = aligned.reshape(tensor["shape"])
    return tensors
