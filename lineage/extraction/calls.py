"""The tools of all harnesses by what they do: edit files, read them, run commands."""

from lineage.core.format.turns import Turn

EDITS = frozenset((
    "edit", "write", "multiedit", "notebookedit", "apply_patch", "write_file", "replace", "edit_file", "create_file",
    "text_editor", "search_replace", "str_replace", "strreplace", "editnotebook", "fileedit", "file_edit",
))  # fmt: skip
READS = frozenset({"read", "read_file", "view", "open_file"})
RUNS = frozenset((
    "bash", "shell", "exec_command", "run_shell_command", "local_shell", "run_command", "execute_command",
    "shell_command", "run_terminal_cmd",
))  # fmt: skip
_MULTI_FILE_TOOL = "apply_patch"  # the one tool that names several files in its input


def get_tool_name(turn: Turn) -> str:
    """Return the name of a call's tool in lower case; an extension puts its own before: `developer__shell`."""
    return turn.name.lower().rpartition("__")[2]


def list_call_files(turn: Turn) -> list[str]:
    """Return the files that the input of a call names, which edits or reads them."""
    return turn.input.split(", ") if get_tool_name(turn) == _MULTI_FILE_TOOL else [turn.input]
