"""`deploy/` is consistent: the commands, options and folders named there exist."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from patience import WAIT

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "deploy" / "pater.service"
CONTAINER = ROOT / "deploy" / "Containerfile"
INSTRUCTIONS = {
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "RUN",
    "STOPSIGNAL",
    "USER",
    "VOLUME",
    "WORKDIR",
}


def unit():
    class Repeated(dict):
        """Keys of a unit may be repeated; their values are joined."""

        def __setitem__(self, key, value):
            super().__setitem__(key, [*self[key], *value] if isinstance(value, list) and key in self else value)

    parser = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",), dict_type=Repeated)
    parser.optionxform = str
    parser.read(UNIT)
    return parser


def instructions():
    text = re.sub(r"\\\n", " ", CONTAINER.read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(None, 1)) for line in lines]


def of(name):
    return [rest for instruction, rest in instructions() if instruction == name]


@pytest.fixture(scope="module")
def options():
    help_ = subprocess.run(
        [sys.executable, "-m", "pater", "serve", "--help"], capture_output=True, text=True, check=True
    ).stdout
    return set(re.findall(r"--[a-z][a-z-]+", help_))


def check_command(command, options):
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert Path(command[0]).name in scripts
    assert command[1] == "serve"
    assert {word for word in command if word.startswith("--")} <= options


def test_the_unit_starts_the_service(options):
    service = unit()["Service"]
    command = shlex.split(service["ExecStart"])
    assert command[0].startswith("/")
    check_command(command, options)
    assert command[command.index("--state") + 1] == f"%S/{service['StateDirectory']}"
    assert f"NUMBA_CACHE_DIR=%C/{service['CacheDirectory']}" in service["Environment"]
    assert command[command.index("--tokens") + 1] == "%d/" + service["LoadCredential"].partition(":")[0]
    assert command[command.index("--host") + 1] == "127.0.0.1"


def test_the_unit_restarts_and_is_hardened():
    service = unit()["Service"]
    assert service["Restart"] == "always"
    for name in ("DynamicUser", "NoNewPrivileges", "PrivateTmp", "ProtectHome", "RestrictNamespaces"):
        assert service[name] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    assert "MemoryDenyWriteExecute" not in service  # compiled code is written and then executed


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path):
    here = tmp_path / "pater.service"  # without an installation, any program will do
    here.write_text(UNIT.read_text().replace("/opt/pater/bin/pater", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", str(here)], capture_output=True, text=True, timeout=WAIT)
    assert [line for line in done.stderr.splitlines() if "pater.service" in line] == []


def test_the_container_is_written_in_words_that_exist():
    assert {name for name, _ in instructions()} <= INSTRUCTIONS
    assert instructions()[0][0] == "FROM"
    for image in of("FROM"):
        assert re.fullmatch(r"[a-z]+:[\w.-]+( AS \w+)?", image)
    for sources in of("COPY"):
        if not sources.startswith("--from"):
            assert all((ROOT / source).exists() for source in sources.split()[:-1])


def test_the_container_starts_the_service_as_nobody_of_note(options):
    command = json.loads(of("ENTRYPOINT")[0])
    check_command(command, options)
    assert of("USER") == ["10001"]
    assert "--uid 10001" in of("RUN")[-1]
    port = command[command.index("--port") + 1]
    assert of("EXPOSE") == [port]
    (volume,) = of("VOLUME")
    assert command[command.index("--state") + 1].startswith(volume + "/")
    assert f"NUMBA_CACHE_DIR={volume}/" in of("ENV")[0]
    extras = set(re.search(r"\[(.+?)\]", of("RUN")[0])[1].split(","))
    assert extras <= set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def test_the_check_of_health_is_a_command_that_can_be_run():
    (check,) = of("HEALTHCHECK")
    command = json.loads(check.partition("CMD")[2])
    assert command[:2] == ["python", "-c"]
    compile(command[2], "healthcheck", "exec")
    port = re.search(r"127\.0\.0\.1:(\d+)/healthz", command[2])[1]
    assert of("EXPOSE") == [port]
