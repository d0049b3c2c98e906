"""The child of `library`: asks the model that it is started with, prints one JSON object. It stands alone.

`{"text": …, "tokens": …}`, `tokens` null where the model does not count them, or `{"error": …}` in a word or two.
"""

import contextlib
import json
import sys

import llm


def ask_model(name: str, prompt: str) -> dict[str, object]:
    """The model's answer to a prompt, as it is printed."""
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
    """What plug-ins print goes to stderr: stdout is for the answer."""
    given = sys.stdin.buffer.read().decode("utf-8", "replace")
    with contextlib.redirect_stdout(sys.stderr):
        answer = ask_model(sys.argv[1], given)
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
