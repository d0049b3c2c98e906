"""A BERT encoder in numpy: numbers of a vocabulary in, one vector for each text out."""

import json
import mmap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

_TYPES = {"F32": "<f4", "F16": "<f2"}
_HEADER_BYTES = 8  # bytes that say how long the description of the tensors is
_MASKED_SCORE = -1e9


class BertEncoder:
    """The weights of an encoder, as `model.safetensors` holds them. Raises ValueError, KeyError and OSError for a file
    that is none, or lacks a layer."""

    def __init__(self, file: Path, *, layers: int, heads: int, epsilon: float, is_mean: bool) -> None:
        self._weights = _load_tensors(file)
        self._heads, self._epsilon, self._is_mean = heads, epsilon, is_mean
        self._layers = [f"encoder.layer.{number}." for number in range(layers)]
        for name in (f"{layer}output.LayerNorm.weight" for layer in self._layers):
            self._weights[name]

    def encode(self, texts: Sequence[Sequence[int]]) -> Any:
        """A row of length 1 for each text: the mean of its tokens, or its first. Shorter texts are padded, and the
        padding has no part in anything."""
        longest = max(map(len, texts))
        tokens = np.array([[*text, *[0] * (longest - len(text))] for text in texts])
        kept = np.array([[1.0] * len(text) + [0.0] * (longest - len(text)) for text in texts], dtype=np.float32)
        states = self._embed(tokens)
        for layer in self._layers:
            states = self._apply_layer(layer, states, (1.0 - kept)[:, None, None, :] * _MASKED_SCORE)
        pooled = (states * kept[:, :, None]).sum(axis=1) / kept.sum(axis=1)[:, None] if self._is_mean else states[:, 0]
        return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)

    def _embed(self, tokens: Any) -> Any:
        words, places, types = (
            self._weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        )
        return self._layer_norm("embeddings.", words[tokens] + places[: tokens.shape[1]] + types[0])

    def _apply_layer(self, layer: str, states: Any, mask: Any) -> Any:
        attended = self._attention(f"{layer}attention.self.", states, mask)
        states = self._layer_norm(
            f"{layer}attention.output.", self._linear(f"{layer}attention.output.dense", attended) + states
        )
        inner = _gelu(self._linear(f"{layer}intermediate.dense", states))
        return self._layer_norm(f"{layer}output.", self._linear(f"{layer}output.dense", inner) + states)

    def _attention(self, place: str, states: Any, mask: Any) -> Any:
        count, length, width = states.shape
        query, key, value = (
            self._linear(place + name, states).reshape(count, length, self._heads, -1).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(-1, -2) / np.float32(np.sqrt(width / self._heads)) + mask
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return (shares @ value).transpose(0, 2, 1, 3).reshape(count, length, width)

    def _linear(self, name: str, states: Any) -> Any:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        rows = states.reshape(-1, states.shape[-1]) @ weight.T
        return (rows + bias).reshape(*states.shape[:-1], -1)

    def _layer_norm(self, place: str, states: Any) -> Any:
        centred = states - states.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        return centred / scale * self._weights[f"{place}LayerNorm.weight"] + self._weights[f"{place}LayerNorm.bias"]


def _gelu(states: Any) -> Any:
    """x · Φ(x), with the error function by Abramowitz and Stegun 7.1.26: right to 1.5e-7."""
    scaled = np.abs(states) * np.float32(0.5**0.5)
    near = 1 / (1 + np.float32(0.3275911) * scaled)
    series = np.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * near + np.float32(factor)
    error = 1 - series * near * np.exp(-scaled * scaled)
    return states * (1 + np.copysign(error, states)) * np.float32(0.5)


def _load_tensors(file: Path) -> Mapping[str, Any]:
    """The tensors of a safetensors file by name, read from disk as they are used."""
    with file.open("rb") as opened:
        data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    start = _HEADER_BYTES + int.from_bytes(data[:_HEADER_BYTES], "little")
    described = json.loads(data[_HEADER_BYTES:start])
    found = {}
    for name, tensor in described.items():
        if tensor.get("dtype") in _TYPES:
            first, last = tensor["data_offsets"]
            kind = np.dtype(_TYPES[tensor["dtype"]])
            flat = np.frombuffer(data, kind, (last - first) // kind.itemsize, start + first)
            plain = np.require(flat, np.float32, "A")  # numpy multiplies what isn't aligned without BLAS
            found[name.removeprefix("bert.")] = plain.reshape(tensor["shape"])
    return found
