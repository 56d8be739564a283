"""Who may import whom. Read from the sources, so that an import inside a function counts as well."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGES = ("kernels", "measure", "audio", "scenes")

MAY_IMPORT = {
    "kernels": ("kernels",),
    "measure": ("measure", "kernels"),
    "audio": ("audio",),
    # The reading side of the measurements, and the timeline with the ways to load it.
    "scenes": (
        "scenes",
        "measure.records",
        "measure.dataset",
        "measure.roofline_model",
        "measure.errors",
        "measure.doctor",  # what a measurement needs, told beside what a render needs
        "measure.finding",
        "measure.machine.package",
        "audio.timeline",
        "audio.timeline_file",
        "audio.tracks",
        "audio.decode",
        "audio.lyrics",
    ),
}

HEAVY = ("cupy", "cupyx", "pynvml", "manim", "manimpango", "numba", "scipy", "av", "pydub", "PIL", "cuda", "matplotlib")
"""What a machine lacks that has only the base packages."""


def sources(root: Path, package: str) -> list[Path]:
    return sorted((root / package).rglob("*.py"))


def imports(path: Path, root: Path) -> Iterator[tuple[ast.stmt, str]]:
    """Every imported module of a source, as an absolute dotted name; `from a import b` gives `a.b`."""
    package = path.relative_to(root).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node, f"{module}.{alias.name}"


def at_module_level(path: Path) -> set[int]:
    """The lines of the imports that run when the module is imported: those in no function and under no TYPE_CHECKING."""
    lines: set[int] = set()
    queue: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while queue:
        node = queue.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            queue.extend(node.orelse)
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            lines.add(node.lineno)
        queue.extend(ast.iter_child_nodes(node))
    return lines


def within(name: str, allowed: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in allowed)


@pytest.mark.parametrize("package", PACKAGES)
def test_arrows_point_one_way(root: Path, package: str) -> None:
    ours = (*PACKAGES, "roofline", "tests")
    wrong = [
        f"{path.relative_to(root)}:{node.lineno} imports {name}"
        for path in sources(root, package)
        for node, name in imports(path, root)
        if name.split(".")[0] in ours and not within(name, MAY_IMPORT[package])
    ]
    assert wrong == []


def test_cupy_is_imported_only_inside_functions(root: Path) -> None:
    wrong = [
        f"{path.relative_to(root)}:{node.lineno}"
        for path in [*(path for package in PACKAGES for path in sources(root, package)), root / "roofline.py"]
        for node, name in imports(path, root)
        if name.split(".")[0] in ("cupy", "cupyx") and node.lineno in at_module_level(path)
    ]
    assert wrong == []


def test_base_packages_are_enough_for_kernels_measure_and_the_command_line(root: Path) -> None:
    modules = ["roofline"]
    for package in ("kernels", "measure"):
        for path in sources(root, package):
            parts = path.relative_to(root).with_suffix("").parts
            if parts[-1] != "__main__" and not any(part[0].isdigit() for part in parts):
                modules.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    program = f"""
import sys
sys.modules.update(dict.fromkeys({HEAVY!r}))  # importing one of them raises ImportError
import importlib
for module in {modules!r}:
    importlib.import_module(module)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_readers_of_imports_see_what_they_should(tmp_path: Path) -> None:
    """The two readers above, against a source whose imports are known."""
    (tmp_path / "scenes" / "stage").mkdir(parents=True)
    path = tmp_path / "scenes" / "stage" / "one.py"
    path.write_text(
        "import cupy\n"
        "from .. import film\n"
        "from measure.suite import run\n"
        "def late():\n    import cupyx\n"
        "class Holder:\n    import kernels.build as build\n"
        "if TYPE_CHECKING:\n    import audio\n"
    )
    found = {name: node.lineno for node, name in imports(path, tmp_path)}
    assert found == {"cupy": 1, "scenes.film": 2, "measure.suite.run": 3, "cupyx": 5, "kernels.build": 7, "audio": 9}
    assert at_module_level(path) == {1, 2, 3, 7}
