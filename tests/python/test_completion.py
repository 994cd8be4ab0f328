"""Tab in real shells: commands, options, values and files of ``arrowroot``."""

import os
import pty
import select
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.command import done_here, run_here

#: Words typed behind "arrowroot", and some of those that Tab offers.
CASES = {
    "pe": {"perf"},
    "t": {"tail", "tune"},
    "help sho": {"show"},
    "perf --or": {"--order"},
    "perf --order ": {"cluster", "entry"},
    "perf --strategy tree": {"treecache"},
    "ls ru": {"run7.root"},
    "perf --plot pi": {"picture.png"},
    "completion ": {"bash", "zsh", "fish"},
    "lab ru": {"run"},
    "lab show --": {"--help"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with some files, and the scripts."""
    folder = tmp_path_factory.mktemp("completion")
    for name in ("run7.root", "rumours.txt", "picture.png"):
        (folder / name).touch()
    for shell in OFFERS:
        (folder / f"script.{shell}").write_text(done_here("completion", shell))
    return folder


def program(shell: str) -> str:
    found = shutil.which(shell)
    if found is None and os.environ.get("CI"):
        pytest.fail(f"CI needs {shell}: apt-get install {shell}")
    if found is None:
        pytest.skip(f"{shell} is not installed: apt-get install {shell}")
    return found


def in_bash(folder: Path, typed: str) -> list[str]:
    words = ["arrowroot", *(shlex.split(typed)), *([""] if typed.endswith(" ") else [])]
    line = (
        f"source script.bash; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _arrowroot; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        [program("bash"), "--norc", "-c", line], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


def in_fish(folder: Path, typed: str) -> list[str]:
    line = f"source script.fish; complete -C {shlex.quote(f'arrowroot {typed}')}"
    done = subprocess.run(
        [program("fish"), "--no-config", "-c", line], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return [offer.partition("\t")[0] for offer in done.stdout.splitlines()]


def in_zsh(folder: Path, typed: str) -> list[str]:
    """Type it at a terminal, as zsh completes nowhere else, and read until it lists what is expected."""
    zsh = program("zsh")
    terminal, inside = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "PS1": "> ", "ZDOTDIR": str(folder), "COLUMNS": "200"}
    streams = {"stdin": inside, "stdout": inside, "stderr": inside}
    process = subprocess.Popen(
        [zsh, "-f", "-i"], cwd=folder, env=environment, start_new_session=True, **streams
    )
    os.close(inside)

    def words_until(expected: set[str], keys: str) -> list[str]:
        os.write(terminal, keys.encode())
        said = b""
        while not expected <= set(words := said.decode(errors="ignore").split()):
            ready, _, _ = select.select([terminal], [], [], 60)
            assert ready, said
            said += os.read(terminal, 1 << 16)
        return words

    try:
        setting = "LISTMAX=1000; autoload -Uz compinit; compinit -D -u; source script.zsh; bindkey '^T' list-choices"
        words_until({"ready"}, f"{setting}; echo re''ady\n")
        return words_until(CASES[typed], f"arrowroot {typed}\x14")
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


OFFERS = {"bash": in_bash, "zsh": in_zsh, "fish": in_fish}


@pytest.mark.parametrize("shell", OFFERS)
@pytest.mark.parametrize("typed", CASES)
def test_tab_offers_what_comes_next(folder: Path, shell: str, typed: str) -> None:
    offered = OFFERS[shell](folder, typed)
    assert set(offered) >= CASES[typed]
    # fish offers other files behind those that fit.
    assert "rumours.txt" not in (offered[:1] if shell == "fish" else offered)


def test_a_tree_behind_a_colon_is_no_file(folder: Path) -> None:
    assert in_bash(folder, "ls run7.root : pi") == []
    assert in_bash(folder, "perf --order = cl") == ["cluster"]


def test_a_shell_is_named() -> None:
    done = run_here("completion")
    assert (done.returncode, "shell" in done.stderr) == (2, True)
