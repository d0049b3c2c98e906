"""The child process of `library`: asks a model and prints one JSON object. It imports nothing of lineage.

The object is `{"text": …, "tokens": …}`, with `tokens` null if the model doesn't count them, or `{"error": …}`.
"""

import contextlib
import json
import sys

import llm


def ask_model(name: str, prompt: str) -> dict[str, object]:
    """Return the JSON object for the model's answer to a prompt."""
    try:
        response = llm.get_model(name).prompt(prompt)
        text, usage = response.text(), response.usage()
    except llm.UnknownModelError:
        return {"error": "unknown model"}
    except llm.NeedsKeyException:
        return {"error": "no key"}
    except Exception as error:  # noqa: BLE001  (a plug-in raises what it likes)
        return {"error": type(error).__name__}
    counted = [tokens for tokens in (usage.input, usage.output) if tokens is not None]
    return {"text": text, "tokens": sum(counted) if counted else None}


def main() -> None:
    """Answer the prompt on stdin with the model of the first argument."""
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    with contextlib.redirect_stdout(sys.stderr):  # plug-ins print, but stdout is for the answer
        answer = ask_model(sys.argv[1], prompt)
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
