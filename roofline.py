"""The command line.  A verb imports what it needs when it runs, so that help is instant and measuring needs no Manim."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import click

from audio.asked import Asked, steered

if TYPE_CHECKING:
    from measure.dataset import Dataset
    from scenes.render.make import Request

OUT = Path("out")


class Failed(click.ClickException):
    """A run that failed: one line, exit code 1."""


class Refused(Failed):
    """Bad input: one line, exit code 2."""

    exit_code = 2


class Verbs(click.Group):
    """Lists the verbs in the order of use; every error is one line, with the exit code that belongs to it."""

    later: ClassVar[dict[str, str]] = {
        "compare": "measure.compare_verb",
        "check": "scenes.render.check_verb",
        "page": "scenes.page.verb",
    }  # imported late

    def list_commands(self, context: click.Context) -> list[str]:
        names = list(self.commands)
        at = names.index("preview")
        return [*names[:at], *self.later, *names[at:]]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.later:
            return super().get_command(context, name)
        found: click.Command = getattr(importlib.import_module(self.later[name]), name)
        return found

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        try:
            code = super().main(*args, **{**kwargs, "standalone_mode": False})
        except (click.Abort, KeyboardInterrupt):
            self.leave(130, "stopped; what is finished is kept, and the same command goes on from there")
        except click.ClickException as error:
            self.leave(error.exit_code, error.format_message())
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] in ("audio", "kernels", "measure", "scenes"):
                raise
            self.leave(2, f"the library {error.name} is not installed: start ./roofline, which installs what a verb needs")
        except Exception as error:
            known = _exit_code(error)
            if known is None:
                raise
            self.leave(known, str(error))
        sys.exit(code if isinstance(code, int) else 0)

    def leave(self, code: int, why: str) -> NoReturn:
        click.echo(f"roofline: {' '.join(why.split())}", err=True)
        sys.exit(code)


def _exit_code(error: Exception) -> int | None:
    """2 for bad input, 1 for a failed run, None for a bug.  Looks only at modules that a verb has already imported."""
    failed = {
        "measure.errors": ("VerificationError",), "kernels.catalogue": ("KernelError",),
        "scenes.render.errors": ("RenderError",), "cupy_backends.cuda.api.runtime": ("CUDARuntimeError",),
    }  # fmt: skip
    refused = {
        "measure.errors": ("MeasureError",), "scenes.render.errors": ("RequestError",), "scenes.film": ("UnknownSceneError",),
        "scenes.stage.clock": ("OverrunError",), "audio.timeline": ("TimelineError",), "audio.tracks": ("TrackError",),
        "audio.decode": ("DecodeError",), "audio.beats": ("BeatError",), "audio.song.speech": ("VoiceError",),
    }  # fmt: skip
    for code, table in ((1, failed), (2, refused)):
        for module, names in table.items():
            kinds = tuple(getattr(sys.modules[module], name) for name in names) if module in sys.modules else ()
            if isinstance(error, kinds):
                return code
    return None


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def main() -> None:
    """A music video about GPU kernels climbing the roofline, drawn from kernels that really ran.

    Everything it makes goes to out/ unless told otherwise.
    """


quality = click.option(
    "-q", "--quality", type=click.Choice(["l", "m", "h", "k"]), default="h", show_default=True,
    help="Manim's letters: l 854x480 at 15 frames a second, m 1280x720 at 30, h 1920x1080 at 60, k 3840x2160 at 60.",
)  # fmt: skip
measurements = click.option(
    "--measurements", "specs", multiple=True, metavar="FILE|NAME",
    help="Measurement file to draw from; may be given more than once, later ones lie over earlier ones.",
)  # fmt: skip
track_option = click.option(
    "--track", metavar="FILE|NAME",
    help="Any sound file instead of the project's song: with its timeline beside it, or else its beats are heard.",
)  # fmt: skip


def request_for(
    scenes: Sequence[str], letter: str, fps: int | None, specs: Sequence[str], track: str | None, asked: Asked
) -> Request:
    """What a render or a still is asked for."""
    dataset = _looked_at(scenes, specs)
    from audio.beats.listen import listen
    from scenes import fit

    music = listen(track, asked)
    rows, order = fit.over(scenes, music.track.timeline)
    from scenes.render.make import Request
    from scenes.render.quality import QUALITIES

    return Request(rows, QUALITIES[letter].at(fps), dataset, music.track, order, music.sound)


def _looked_at(scenes: Sequence[str], specs: Sequence[str]) -> Dataset:
    """The measurements that are asked for; mistakes in their names or in those of scenes are told before much is imported."""
    from scenes import film

    film.order_with(scenes)
    from measure.dataset import Dataset

    return Dataset.open(specs)


@main.command()
@click.argument("scenes", nargs=-1, metavar="[SCENE ...]")
@quality
@click.option("--fps", type=click.IntRange(1, 240), help="Frames a second, instead of the quality's own.")
@measurements
@track_option
@steered
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The file to write.")
@click.option("--format", "form", type=click.Choice(["mp4", "webm", "gif", "webp", "mov-alpha"]),
              help="Default: mp4. A gif is at most 640 wide at 20 frames a second, a webp 960 at 30.")  # fmt: skip
@click.option("--loop", is_flag=True, help="One scene as a silent loop without sung words or a seam, for slides.")
@click.option("--jobs", type=click.IntRange(1), help="Processes to draw with (default: one a core).")
@click.option("--dry-run", is_flag=True, help="Only list the segments: which are already drawn, which are not, and why.")
def render(
    scenes: tuple[str, ...], quality: str, fps: int | None, specs: tuple[str, ...], track: str | None, asked: Asked,
    output: Path | None, form: str | None, loop: bool, jobs: int | None, dry_run: bool,
) -> None:  # fmt: skip
    """Render scenes by name, or the whole film, with sound; the film with all that it is posted with.

    `stage-reel` is a film of its own. Over a track of yours the film is laid anew: it cuts where the music changes.
    """
    request = request_for(scenes, quality, fps, specs, track, asked)
    from scenes.render.publish import verb

    click.echo(verb.planned(request) if dry_run else verb.deliver(request, scenes, OUT, output, form, loop, jobs))


@main.command()
@click.argument("scene")
@click.argument("moment", metavar="BAR[:BEAT]")
@quality
@measurements
@track_option
@steered
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="PNG", help="The picture to write.")
def still(
    scene: str, moment: str, quality: str, specs: tuple[str, ...], track: str | None, asked: Asked, output: Path | None
) -> None:
    """One frame of a scene as a PNG: bars and beats count from 1 inside of it, a beat may be a fraction, as in 3:2.5."""
    bar, beat = _moment(moment)
    request = request_for([scene], quality, None, specs, track, asked)
    from scenes.render.make import still as write_still

    if len(request.rows) > 1:
        raise Refused(f"{scene} is a film of {len(request.rows)} scenes: name one of them, such as {request.rows[0].name}")
    target = output or OUT / f"{scene}-{moment.replace(':', '-')}.png"
    frame = write_still(request, bar, beat, target)
    click.echo(f"{target}: frame {frame} of the film")


def _moment(text: str) -> tuple[int, float]:
    bar, _, beat = text.partition(":")
    with contextlib.suppress(ValueError):
        return int(bar), float(beat or 1)
    raise Refused(f"{text!r} is no moment: expected BAR or BAR:BEAT, such as 3 or 3:2.5")


@main.command()
@track_option
@steered
def scenes(track: str | None, asked: Asked) -> None:
    """The scenes of the film: name, bars, seconds, idea; with --track as they are laid over it."""
    from audio.beats.listen import listen
    from scenes import fit
    from scenes.render import report

    timeline = listen(track, asked).track.timeline
    click.echo(report.scenes(fit.over((), timeline)[0], timeline))


@main.command()
@click.argument("track", metavar="TRACK")
@steered
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
              help="The timeline to write (.json), or Audacity labels of the beats to mend (.txt).")  # fmt: skip
def beats(track: str, asked: Asked, output: Path | None) -> None:
    """Hear a song's beats, bars and parts, say how sure they are, and write its timeline: for render --beats."""
    from audio.beats import listen
    from audio.timeline import TimelineError
    from scenes import fit

    found = listen.listen(track, asked)
    target = output or OUT / f"{Path(track).stem}.timeline.json"
    listen.write(found.track.timeline, target)
    click.echo(f"{listen.summary(found)}\n{target}")
    try:
        fit.over((), found.track.timeline)
    except TimelineError as error:
        click.echo(f"roofline: {error}", err=True)


@main.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The measurement file to write.")
@click.option("--only", multiple=True, metavar="SUBJECT", help="Measure this subject only; may be given more than once.")
@click.option("--quick", is_flag=True, help="Fewer samples: to see that everything runs, not to publish.")
@click.option("--keep-raw", type=click.Path(path_type=Path), metavar="FILE", help="Write the raw samples too, as a recording.")
@click.option(
    "--replay", type=click.Path(path_type=Path), metavar="FILE", help="Take a recording's samples instead of this GPU's."
)
def measure(output: Path | None, only: tuple[str, ...], quick: bool, keep_raw: Path | None, replay: Path | None) -> None:
    """Measure this machine's NVIDIA GPU and write its measurement file; a file that is there already is gone on with."""
    from measure.backend import Recorded
    from measure.dataset import Dataset
    from measure.show import table
    from measure.suite import measure as take

    path = take(output, only, quick, Recorded(replay) if replay else None, keep_raw)
    click.echo(f"{table(Dataset.open([path]))}\n\nwritten to {path}")


png = click.option("--png", type=click.Path(path_type=Path), metavar="PNG", help="Also draw a roofline chart to this file.")


@main.command()
@click.argument("spec", required=False, metavar="[FILE|NAME]")
@png
def show(spec: str | None, png: Path | None) -> None:
    """A measurement file as a table, or those the film is drawn from: figures with unit and source.

    With --png as a roofline, too: named levels, ridges, every ladder, hot and cold.
    """
    from measure import show as tables
    from measure.dataset import Dataset
    from measure.tables import emit

    dataset = Dataset.open([spec] if spec else ())
    emit(tables.tables(dataset))
    if png is not None:
        from measure import chart, chart_data

        chart.draw([chart_data.view(dataset.main)], png)
        click.echo(f"\n{png}")


@main.command()
@click.argument("scenes", nargs=-1, metavar="[SCENE ...]")
@click.option("-q", "--quality", type=click.Choice(["l", "m", "h", "k"]), default="l", show_default=True,
              help="Of the drafts; single frames are drawn in h, or in k.")  # fmt: skip
@click.option("--fps", type=click.IntRange(1, 240), help="Frames a second, instead of the quality's own.")
@measurements
@track_option
@steered
@click.option("--port", type=click.IntRange(1, 65535), help="The page's port (default: 8460, or the next that is free).")
@click.option("--no-open", is_flag=True, help="Do not open the page in the browser.")
def preview(
    scenes: tuple[str, ...], quality: str, fps: int | None, specs: tuple[str, ...], track: str | None, asked: Asked,
    port: int | None, no_open: bool,
) -> None:  # fmt: skip
    """Play drafts of the scenes on a page of this machine, and draw them again as their sources are saved.

    The page steps by beat and by frame, and says which scenes are stale and why. Only this machine can open it.
    """
    dataset = _looked_at(scenes, specs)
    from audio.beats.listen import listen

    music = listen(track, asked)
    from scenes.preview import start
    from scenes.render.quality import QUALITIES

    session = start.session_of(scenes, QUALITIES[quality].at(fps), dataset.specs, music.track)
    start.start(session, port, not no_open)


@main.command()
def doctor() -> None:
    """Check everything that a render or a measurement needs, and say how to cure what is missing."""
    from scenes.render import doctor as check

    sys.exit(check.main())


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[PYTEST ARGUMENT ...]")
def test(arguments: tuple[str, ...]) -> None:
    """Lint, type check and run the tests."""
    import subprocess

    root = Path(__file__).resolve().parent
    codes = []
    spread = ["-n", "auto", "--dist", "loadfile"]  # a file's tests stay together: they share what they rendered
    for command in (["ruff", "check", "."], ["mypy"], ["pytest", *spread, *arguments]):
        click.echo(f"$ {' '.join(command)}")
        codes.append(subprocess.run([sys.executable, "-m", *command], cwd=root, check=False).returncode)
    if any(codes):
        raise Failed("ruff, mypy and pytest ended with " + ", ".join(str(code) for code in codes))


@main.command()
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), default=OUT, metavar="DIR",
              help="Folder to write the sound and its timeline to.")  # fmt: skip
def song(output: Path) -> None:
    """Synthesise the project's own song again from its score: sung, instrumental, stems, timeline and captions.

    Speaking the lines takes longest; they are kept in DIR, so that the same command goes on where it was stopped.
    """
    from audio.song.__main__ import write

    try:
        paths = write(output)
    except OSError as error:
        raise Refused(f"{output}: the song cannot be written there: {(error.strerror or str(error)).lower()}") from None
    click.echo("\n".join(str(path) for path in paths))


if __name__ == "__main__":
    main(prog_name="roofline")
