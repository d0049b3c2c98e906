"""Any sentence model as ONNX: token numbers in, one vector for each text out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime


class OnnxEncoder:
    """The encoder of an ONNX file. Raises ValueError for one that takes anything but token numbers, masks and types."""

    def __init__(self, file: Path, *, is_mean: bool) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # texts are short: more threads only wait for each other
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the library raises kinds of its own, of no common base
            raise ValueError(f"{file.name} is no model") from error
        if self._session.get_outputs()[0].shape[-1] == 1:
            raise ValueError(f"{file.name} ranks texts and makes no vectors")
        self._inputs = [each.name for each in self._session.get_inputs()]
        self._is_mean = is_mean
        if unknown := {*self._inputs} - {"input_ids", "attention_mask", "token_type_ids"}:
            raise ValueError(f"{file.name} takes {', '.join(unknown)}")

    def encode(self, texts: Sequence[Sequence[int]]) -> Any:
        """Return a row of length 1 for each text: what the model gives, or the mean or first of what its tokens get."""
        longest = max(map(len, texts))
        tokens = np.array([[*text, *[0] * (longest - len(text))] for text in texts], dtype=np.int64)
        mask = np.array([[1] * len(text) + [0] * (longest - len(text)) for text in texts], dtype=np.int64)
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        try:
            outputs = self._session.run(None, {name: given[name] for name in self._inputs})
        except Exception as error:
            raise ValueError("the model refuses its tokenizer's numbers") from error
        rows = next((each for each in outputs if each.ndim == 2), None)
        if rows is None:
            rows = (outputs[0] * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1)[:, None]
            rows = rows if self._is_mean else outputs[0][:, 0]
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
