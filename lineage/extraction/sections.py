"""Kinds of the sections of an agent's notes, by their English and Portuguese headings (format: Books)."""

from difflib import get_close_matches

from lineage.core.base.normalize import tokenize

# Headings without accents, by the kind of the entries below them.
SECTIONS: dict[str, tuple[str, ...]] = {
    "decision": (
        "decision", "decisions", "technical decisions", "key decisions", "design decisions", "architecture decisions",
        "decisions made", "decisao", "decisoes", "decisoes tecnicas", "decisoes de arquitetura", "decisoes tomadas",
    ),
    "lesson": (
        "lesson", "lessons", "lessons learned", "learnings", "findings", "insights", "notes", "session notes",
        "aprendizado", "aprendizados", "licao", "licoes", "licoes aprendidas", "descobertas", "notas",
        "notas de sessao", "notas da sessao",
    ),
    "preference": (
        "preference", "preferences", "user preferences", "preferencia", "preferencias", "preferencias do usuario",
    ),
    "task": (
        "task", "tasks", "open tasks", "todo", "todos", "to do", "next steps", "tarefa", "tarefas", "tarefas abertas",
        "pendencias", "proximos passos",
    ),
    "context": ("context", "contexto"),
    "project": (
        "project", "projects", "project context", "contexto de projeto", "contexto do projeto", "projeto", "projetos",
    ),
    "handoff": ("handoff", "handoffs", "last session", "session summary", "ultima sessao", "resumo da sessao"),
}  # fmt: skip

_KINDS = {name: kind for kind, names in SECTIONS.items() for name in names}
_LONGEST_FIRST = sorted(_KINDS, key=lambda name: (-len(name), name))
_MIN_SIMILARITY = 0.85


def find_section_kind(title: str) -> tuple[str, bool] | None:
    """Return the kind of a section by its heading, and whether the heading says nothing else; None for no kind.

    A name within a longer heading counts, and so does a misspelt one.

    >>> (find_section_kind("📌 Decisões Técnicas:"), find_section_kind("Decisions about the cache"),
    ... find_section_kind("The cache"))
    (('decision', True), ('decision', False), None)
    >>> find_section_kind("Decisons")
    ('decision', False)
    """
    text = " ".join(tokenize(title))
    if text in _KINDS:
        return _KINDS[text], True
    names = [name for name in _LONGEST_FIRST if f" {name} " in f" {text} "]
    names = names or get_close_matches(text[:80], _KINDS, n=1, cutoff=_MIN_SIMILARITY)
    return (_KINDS[names[0]], False) if names else None
