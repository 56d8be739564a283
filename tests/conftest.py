"""What every test shares: the repository's root, and an environment that the person's own settings do not reach."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder that holds pyproject.toml."""
    return ROOT


@pytest.fixture(autouse=True)
def no_personal_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes ROOFLINE_... variables, so that a test sees the defaults."""
    for name in [name for name in os.environ if name.startswith("ROOFLINE_")]:
        monkeypatch.delenv(name)
