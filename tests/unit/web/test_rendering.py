"""Every value is escaped on its way into a page.

Fails without autoescape, and for a template that marks a value as safe.
"""

from pathlib import Path

import pytest

from lineage.errors import NotFoundError
from lineage.web.endpoints import render_error_page
from lineage.web.rendering import build_environment
from lineage.web.service import Service

HOSTILE = "<script>alert(1)</script>\"'&"


def test_a_value_is_text_wherever_it_stands() -> None:
    service = Service(root=Path("/nowhere"), run_in_workspace=lambda *_: None, clock=lambda: 0.0)
    page = bytes(render_error_page(service, NotFoundError(HOSTILE, hint=HOSTILE)).body).decode()
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 2


@pytest.mark.parametrize("name", sorted(build_environment().list_templates(extensions=["html"])))
def test_no_template_turns_escaping_off(name: str) -> None:
    environment = build_environment()
    assert environment.loader
    source = environment.loader.get_source(environment, name)[0]
    assert "|safe" not in source.replace(" ", "")
    assert "autoescape" not in source
