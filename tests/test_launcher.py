"""The launcher, run for real by /bin/sh, with every program that it calls faked: nothing is fetched and nothing is installed.

The fakes keep their state in files, so that a package "installed" by the faked apt-get is there for the next look.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

REAL_TOOLS = "cat cksum date dirname grep mkdir mktemp mv readlink rm rmdir sed sleep tail tr".split()

PYTHON = """#!/bin/sh
echo "python $*" >>"$STATE/log"
case "$1 $2" in
    '-c '*) cat "$STATE/python" ;;
    '-I -S') cut -d' ' -f1 "$STATE/python" ;;
    '-m venv')
        mkdir -p "$3/bin" "$3/lib/python3.12/site-packages" && : >"$3/pyvenv.cfg"
        [ ! -f "$STATE/venv-dies" ] || { rm "$STATE/venv-dies"; kill -9 $PPID; exit 1; }
        cp "$0" "$3/bin/python"
        ;;
    '-m pip')
        [ "$3" != --version ] || { echo 'pip 25.0 from somewhere (python 3.12)'; exit 0; }
        [ ! -f "$STATE/pip-says" ] || cat "$STATE/pip-says"
        [ ! -f "$STATE/pip-dies" ] || { rm "$STATE/pip-dies"; kill -9 $PPID; exit 1; }
        [ ! -f "$STATE/pip-says" ]
        ;;
    *roofline.py*) shift; echo "in $PWD:"; printf '<%s>' "$@"; echo ;;
esac
"""

APT = """#!/bin/sh
echo "apt-get $*" >>"$STATE/log"
[ ! -f "$STATE/apt-fails" ] || { echo "E: Unable to locate package $STATE"; exit 100; }
[ "$1" = update ] || { echo 3.12 yes yes >"$STATE/python"; touch "$STATE/cairo"; }
"""

PIP_OFFLINE = """\
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(': Failed to establish a new connection')'
ERROR: Could not find a version that satisfies the requirement attrs==26.1.0 (from versions: none)
ERROR: No matching distribution found for attrs==26.1.0
"""

DEBIAN_11 = 'PRETTY_NAME="Debian GNU/Linux 11 (bullseye)"\nVERSION_ID="11"\nVERSION_CODENAME=bullseye\nID=debian\n'
DEBIAN_12 = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\nID=debian\n'
UBUNTU_22 = 'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nVERSION_CODENAME=jammy\nID=ubuntu\nID_LIKE=debian\nUBUNTU_CODENAME=jammy\n'
MINT_21 = (
    'PRETTY_NAME="Linux Mint 21.3"\nID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_CODENAME=virginia\nUBUNTU_CODENAME=jammy\n'
)
FEDORA = 'NAME="Fedora Linux"\nVERSION_ID=43\nID=fedora\nPRETTY_NAME="Fedora Linux 43 (Container Image)"\n'
ARCH = 'NAME="Arch Linux"\nPRETTY_NAME="Arch Linux"\nID=arch\nBUILD_ID=rolling\n'
ALPINE = 'NAME="Alpine Linux"\nID=alpine\nVERSION_ID=3.22.0\nPRETTY_NAME="Alpine Linux v3.22"\n'


@dataclass(frozen=True, slots=True)
class Machine:
    """A faked machine with a checkout of the project, its path holding a space."""

    home: Path

    @property
    def checkout(self) -> Path:
        return self.home / "a checkout"

    @property
    def venv(self) -> Path:
        return self.checkout / ".venv"

    def set(self, name: str, text: str = "") -> None:
        (self.home / "state" / name).write_text(text)

    def unset(self, name: str) -> None:
        (self.home / "state" / name).unlink()

    def program(self, name: str, text: str) -> None:
        path = self.home / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def release(self, text: str) -> None:
        (self.home / "os-release").write_text(text)

    def run(self, *arguments: str, launcher: Path | None = None, cwd: Path | None = None, **env: str) -> tuple[int, str, str]:
        """Exit code, output and errors of `./roofline ARGUMENTS`."""
        done = subprocess.run(
            ["/bin/sh", str(launcher or self.checkout / "roofline"), *arguments],
            cwd=cwd or self.home,
            env={
                "PATH": str(self.home / "bin"),
                "STATE": str(self.home / "state"),
                "ROOFLINE_OS_RELEASE": str(self.home / "os-release"),
                **env,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def calls(self, start: str) -> list[str]:
        """The calls of the faked programs so far whose text begins with `start`."""
        log = self.home / "state" / "log"
        return [line for line in log.read_text().splitlines() if line.startswith(start)] if log.exists() else []

    def installs(self) -> list[str]:
        """The requirements files that pip was given so far."""
        return [Path(line).name for line in self.calls("python -m pip install")]


@pytest.fixture
def machine(tmp_path: Path, root: Path) -> Machine:
    """Debian 12 as root, with Python 3.12, compilers, Cairo and Pango."""
    new = Machine(tmp_path)
    for folder in ("bin", "state", "a checkout"):
        (tmp_path / folder).mkdir()
    for tool in [*REAL_TOOLS, "cp", "cut", "touch"]:
        found = shutil.which(tool)
        assert found, tool
        (tmp_path / "bin" / tool).symlink_to(found)
    new.program("python3", PYTHON)
    new.program("apt-get", APT)
    new.program("pkg-config", '#!/bin/sh\n[ -f "$STATE/cairo" ]\n')
    new.program("id", '#!/bin/sh\ncat "$STATE/uid"\n')
    new.program("uname", '#!/bin/sh\ncat "$STATE/uname"\n')
    for compiler in ("cc", "c++"):
        new.program(compiler, "#!/bin/sh\n")
    new.set("python", "3.12 yes yes\n")
    new.set("uid", "0\n")
    new.set("uname", "Linux\n")
    new.set("cairo")
    new.release(DEBIAN_12)
    for path in [root / "roofline", *root.glob("requirements-*.txt")]:
        shutil.copy(path, new.checkout)
    (new.checkout / "roofline.py").touch()
    return new


def bare(machine: Machine) -> None:
    """Takes away Python, the compilers, Cairo and Pango, as on a fresh container."""
    machine.program("python3", PYTHON.replace("'-c '*) cat", "'-c '*) grep -v none"))
    machine.set("python", "none\n")
    machine.unset("cairo")


# ---- what a verb takes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        ([], "base"),
        (["--help"], "base"),
        (["show", "nvidia-h200"], "base"),
        (["show", "nvidia-h200", "--png", "roofline.png"], "plot"),
        (["compare", "a.json", "b.json"], "base"),
        (["compare", "a.json", "b.json", "--png=both.png"], "plot"),
        (["doctor"], "base"),
        (["no-such-verb"], "base"),
        (["render", "--help"], "base"),
        (["measure", "-h"], "base"),
        (["render"], "film"),
        (["render", "indexing", "-q", "l"], "film"),
        (["still", "roof", "9:2"], "film"),
        (["scenes"], "film"),
        (["song"], "song"),
        (["test"], "dev"),
    ],
)
def test_verb_takes_its_own_packages(machine: Machine, arguments: list[str], extra: str) -> None:
    code, _, errors = machine.run(*arguments)
    assert (code, machine.installs()) == (0, [f"requirements-{extra}.txt"]), errors


@pytest.mark.parametrize(
    ("header", "extra"),
    [
        ("| NVIDIA-SMI 550.54.14    Driver Version: 550.54.14    CUDA Version: 12.4     |", "gpu-cuda12"),
        ("| NVIDIA-SMI 580.159      Driver Version: 580.159      CUDA Version: 13.0     |", "gpu-cuda13"),
        ("| NVIDIA-SMI 999.1        Driver Version: 999.1        CUDA Version: 14.2     |", "gpu-cuda13"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "gpu-cuda13"),
    ],
)
def test_measuring_takes_the_cupy_of_the_driver_and_no_manim(machine: Machine, header: str, extra: str) -> None:
    machine.program("nvidia-smi", f'#!/bin/sh\necho "{header}"\n')
    machine.unset("cairo")  # measuring needs nothing that Manim builds on
    code, _, errors = machine.run("measure", "--quick")
    assert (code, machine.installs()) == (0, [f"requirements-{extra}.txt"]), errors
    pins = (machine.checkout / f"requirements-{extra}.txt").read_text()
    assert "\ncupy-cuda" in pins
    assert "manim" not in pins


def test_measuring_without_a_driver_or_with_an_old_one_installs_nothing(machine: Machine) -> None:
    code, _, errors = machine.run("measure")
    assert (code, errors.count("\n"), machine.installs()) == (2, 1, [])
    assert "nvidia-smi" in errors
    machine.program("nvidia-smi", "#!/bin/sh\necho 'CUDA Version: 11.8'\n")
    code, _, errors = machine.run("measure")
    assert (code, machine.installs()) == (2, [])
    assert "CUDA 11" in errors
    assert machine.run("measure", ROOFLINE_CUDA="12")[0] == 0
    assert machine.installs() == ["requirements-gpu-cuda12.txt"]
    assert machine.run("measure", ROOFLINE_CUDA="13")[0] == 2  # two CuPys in one environment break each other
    assert machine.run("measure", ROOFLINE_CUDA="eleven")[0] == 2


def test_silent_install_says_how_long_it_takes_and_when_it_is_done(machine: Machine) -> None:
    _, _, errors = machine.run("render")  # stderr is no terminal here
    start, end = errors.splitlines()
    assert "requirements-film.txt" in start and "(once, about 2 minutes)" in start
    assert re.fullmatch(r"roofline: installed in \d+ s", end)


def test_second_call_only_passes_the_verb_on(machine: Machine) -> None:
    assert machine.run("render")[0] == 0
    before = machine.calls("")
    code, _, errors = machine.run("scenes")
    assert (code, errors) == (0, "")
    assert [call for call in machine.calls("")[len(before) :] if "-m" in call.split() or "apt-get" in call] == []


def test_larger_sets_cover_the_smaller_ones(machine: Machine) -> None:
    machine.run("test")
    for verb in ("render", "song", "show"):
        assert machine.run(verb)[0] == 0
    assert machine.installs() == ["requirements-dev.txt"]


def test_new_pins_are_installed_by_the_next_call(machine: Machine) -> None:
    machine.run("render")
    pins = machine.checkout / "requirements-film.txt"
    pins.write_text(pins.read_text() + "# a newer release\n")
    machine.run("render")
    assert machine.installs() == ["requirements-film.txt"] * 2


# ---- where it is called from ----------------------------------------------------------------------------------------


def test_link_other_folder_and_odd_arguments(machine: Machine) -> None:
    (machine.home / "links").mkdir()
    (machine.home / "links" / "first").symlink_to("../a checkout/roofline")
    (machine.home / "second").symlink_to("links/first")
    elsewhere = machine.home / "else where"
    elsewhere.mkdir()
    code, output, errors = machine.run("show", "two words", "", "*", launcher=machine.home / "second", cwd=elsewhere)
    assert code == 0, errors
    assert output == f"in {elsewhere}:\n<show><two words><><*>\n"
    assert machine.venv.is_dir()


def test_every_program_of_the_environment_sees_the_checkout(machine: Machine) -> None:
    machine.run("show", ROOFLINE_VENV="other/env")
    tie = machine.home / "other/env/lib/python3.12/site-packages/roofline.pth"
    assert tie.read_text() == f"{machine.checkout}\n"
    assert not machine.venv.exists()
    tie.write_text("elsewhere\n")
    machine.run("show", ROOFLINE_VENV="other/env")
    assert tie.read_text() == f"{machine.checkout}\n"


def test_moved_checkout_gets_a_new_environment(machine: Machine) -> None:
    machine.run("show")
    moved = machine.home / "moved"
    machine.checkout.rename(moved)
    code, _, errors = machine.run("show", launcher=moved / "roofline")
    assert code == 0
    assert "anew" in errors
    assert (moved / ".venv/roofline-stamps/made").read_text().splitlines()[0] == str(moved / ".venv")


# ---- what was left half-done ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("death", ["venv-dies", "pip-dies"])
def test_interrupted_environment_is_made_anew(machine: Machine, death: str) -> None:
    machine.set(death)
    machine.set("pip-says", "Installing collected packages: mdurl, attrs\n")
    assert machine.run("show")[0] == -9
    (machine.home / "state/pip-says").unlink()
    code, _, errors = machine.run("show")
    assert code == 0
    assert "anew" in errors
    assert len(machine.calls("python -m venv")) == 2
    assert machine.run("show")[2] == ""


def test_environment_whose_python_was_removed_or_upgraded_is_made_anew(machine: Machine) -> None:
    machine.run("show")
    (machine.venv / "bin/python").unlink()
    assert machine.run("show")[0] == 0
    machine.set("python", "3.13 yes yes\n")
    (machine.venv / "lib/python3.12").rename(machine.venv / "lib/python3.13")
    assert "anew" in machine.run("show")[2]


def test_no_network_is_one_line_and_leaves_what_was_there(machine: Machine) -> None:
    machine.run("show")
    machine.set("pip-says", PIP_OFFLINE)
    code, _, errors = machine.run("render")
    assert code == 1
    assert "could not fetch attrs==26.1.0" in errors.splitlines()[-1]
    assert machine.run("show") == (0, f"in {machine.home}:\n<show>\n", "")
    machine.unset("pip-says")
    assert machine.run("render")[0] == 0
    assert len(machine.calls("python -m venv")) == 1


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "not the one pinned"),
        ("WARNING: Retrying after 'SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate'", "PIP_CERT"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "No space left on device"),
    ],
)
def test_failure_of_pip_is_told_in_one_line(machine: Machine, said: str, told: str) -> None:
    machine.set("pip-says", f"{said}\n")
    code, _, errors = machine.run("show")
    assert (code, errors.count("\n")) == (1, 2)  # what is begun, and how it ended
    assert told in errors


def test_lock_of_a_dead_launcher_is_taken_over(machine: Machine) -> None:
    lock = machine.checkout / ".venv.lock"
    lock.mkdir()
    gone = subprocess.Popen(["true"])
    gone.wait()
    (lock / "pid").write_text(f"{gone.pid}\n")
    assert machine.run("show")[0] == 0
    assert not lock.exists()


# ---- what is not ours is left alone ---------------------------------------------------------------------------------


def test_folder_that_is_no_environment_is_kept(machine: Machine) -> None:
    (machine.home / "films").mkdir()
    (machine.home / "films/one.mp4").write_text("film")
    code, _, errors = machine.run("show", ROOFLINE_VENV=str(machine.home / "films"))
    assert (code, errors.count("\n")) == (2, 1)
    assert (machine.home / "films/one.mp4").read_text() == "film"


def test_environment_made_by_hand_is_used_and_never_removed(machine: Machine) -> None:
    for folder in ("bin", "lib/python3.12/site-packages"):
        (machine.venv / folder).mkdir(parents=True)
    (machine.venv / "pyvenv.cfg").touch()
    shutil.copy(machine.home / "bin/python3", machine.venv / "bin/python")
    (machine.venv / "mine").touch()
    assert machine.run("show")[0] == 0
    (machine.venv / "bin/python").unlink()
    code, _, errors = machine.run("show")
    assert code == 2
    assert "did not make" in errors
    assert (machine.venv / "mine").exists()


def test_place_that_cannot_be_written_is_one_line(machine: Machine) -> None:
    code, _, errors = machine.run("show", ROOFLINE_VENV="/dev/null/env")
    assert (code, errors.count("\n")) == (2, 1)
    assert "ROOFLINE_VENV" in errors


# ---- what the system lacks ------------------------------------------------------------------------------------------

APT_INSTALL = "apt-get install -y --no-install-recommends "
BUILD = "build-essential pkg-config libcairo2-dev libpango1.0-dev"


def test_root_on_bare_debian_needs_nothing_but_the_launcher(machine: Machine) -> None:
    bare(machine)
    (machine.home / "bin/c++").unlink()
    code, _, errors = machine.run("render")
    # The faked apt-get brings no compiler: what is missing after an install is said, not met again in pip.
    assert code == 1
    assert errors.splitlines()[-1].endswith("still this is missing: compiler")
    assert machine.calls("apt-get") == [
        "apt-get update",
        f"{APT_INSTALL}python3 python3-venv python3-dev {BUILD} -o DPkg::Lock::Timeout=300",
    ]
    machine.program("c++", "#!/bin/sh\n")
    assert machine.run("render")[0] == 0


def test_light_verb_asks_the_system_for_python_only(machine: Machine) -> None:
    bare(machine)
    assert machine.run("show")[0] == 0
    assert machine.calls(APT_INSTALL) == [f"{APT_INSTALL}python3 python3-venv -o DPkg::Lock::Timeout=300"]


def test_python_without_venv_gets_the_package_of_its_own_version(machine: Machine) -> None:
    machine.set("python", "3.12 no no\n")
    machine.unset("cairo")
    assert machine.run("render")[0] == 0
    wanted = "python3.12-venv python3.12-dev pkg-config libcairo2-dev libpango1.0-dev"
    assert machine.calls(APT_INSTALL) == [f"{APT_INSTALL}{wanted} -o DPkg::Lock::Timeout=300"]


def test_failed_system_install_gives_its_reason(machine: Machine) -> None:
    machine.unset("cairo")
    machine.set("apt-fails")
    code, _, errors = machine.run("render")
    assert code == 1
    assert "E: Unable to locate package" in errors
    assert machine.installs() == []


@pytest.mark.parametrize(
    ("release", "uid", "verb", "words"),
    [
        (DEBIAN_12, "1000", "render", f"sudo apt-get update && sudo {APT_INSTALL}python3 python3-venv python3-dev"),
        (UBUNTU_22, "1000", "render", f"sudo {APT_INSTALL}python3.11 python3.11-venv python3.11-dev"),
        (MINT_21, "1000", "show", f"sudo {APT_INSTALL}python3.11 python3.11-venv\n"),
        (DEBIAN_11, "0", "show", "Debian GNU/Linux 11 (bullseye) has no Python 3.11"),
        (
            FEDORA,
            "1000",
            "render",
            "  sudo dnf install python3 python3-devel gcc gcc-c++ pkgconf-pkg-config cairo-devel pango-devel\n",
        ),
        (FEDORA, "0", "show", "  dnf install python3\n"),
        (ARCH, "1000", "test", "  sudo pacman -S --needed python base-devel cairo pango\n"),
        (ARCH, "0", "show", "  pacman -S --needed python\n"),
        (ALPINE, "0", "render", "missing on Alpine Linux v3.22: python kit headers libraries."),
    ],
)
def test_missing_parts_are_named_in_one_line(machine: Machine, release: str, uid: str, verb: str, words: str) -> None:
    bare(machine)
    machine.release(release)
    machine.set("uid", uid)
    code, _, errors = machine.run(verb)
    assert (code, errors.count("\n"), machine.calls("apt-get")) == (2, 1, [])
    assert words in errors


def test_macos_names_its_tools_one_after_the_other(machine: Machine) -> None:
    bare(machine)
    machine.set("uname", "Darwin\n")
    machine.set("uid", "501\n")
    code, _, errors = machine.run("render")
    assert (code, errors.splitlines()[0].split("  ")[-1]) == (2, "xcode-select --install")
    machine.program("xcode-select", "#!/bin/sh\n")
    code, _, errors = machine.run("render")
    assert (code, errors.splitlines()[0].split("  ")[-1]) == (2, "brew install python@3.13 pkgconf cairo pango")


@pytest.mark.parametrize("release", [DEBIAN_11, FEDORA, ARCH, ALPINE])
def test_nothing_is_named_where_nothing_is_missing(machine: Machine, release: str) -> None:
    machine.release(release)
    machine.set("uid", "1000")
    code, _, errors = machine.run("render")
    assert (code, machine.installs()) == (0, ["requirements-film.txt"]), errors


def test_named_python_that_will_not_do_is_refused(machine: Machine) -> None:
    machine.program("old-python", "#!/bin/sh\nexit 1\n")
    code, _, errors = machine.run("show", ROOFLINE_PYTHON="old-python")
    assert (code, errors.count("\n")) == (2, 1)
    assert "old-python" in errors
