"""The whole attack: everything that may come in, damaged in every way that we could think of.

    python benchmarks/attack.py                 10,000 cases a kind, 1,000 kills: about an hour
    python benchmarks/attack.py --cases 300 --kills 20

Each part is a script that can be run by itself, with a seed that makes it repeatable. Parts that end in compiled code
run with every read and write checked (NUMBA_BOUNDSCHECK=1), and with plain versions of what is written in LLVM
(PATER_PLAIN=1), which that check does not see. docs/reliability.md shows the results.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent


def parts(cases: int, kills: int, seed: int) -> dict[str, tuple[list[str], bool]]:
    """The command of each part, and whether every read and write of its compiled code is checked."""
    seeded = ["--seed", str(seed)]
    return {
        "texts and columnar files": (["fuzz.py", "--text", str(cases), *seeded], True),
        "damaged data and model files": (["fuzz.py", "--cases", str(cases), *seeded], False),
        "forged sparse matrices": (["forge_csr.py", "--cases", str(cases), *seeded], True),
        "forged model files": (["forge_models.py", "--cases", str(cases), *seeded], True),
        "kills": (["kills.py", "--kills", str(kills), *seeded], False),
        "kills of a service": (["serve_kills.py", "--kills", str(kills), *seeded], False),
    }


def run(command: list[str], checked: bool) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as cache:
        environment = dict(os.environ)
        if checked:
            environment |= {"NUMBA_BOUNDSCHECK": "1", "PATER_PLAIN": "1", "NUMBA_CACHE_DIR": cache}
        script = [sys.executable, str(HERE / command[0]), *command[1:]]
        done = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout if done.returncode == 0 else done.stdout[-2000:] + done.stderr[-4000:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000, help="of each kind; of texts, of each format")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/attack.json"), help="where to save")
    options = parser.parse_args()
    results, failed = {}, []
    for name, (command, checked) in parts(options.cases, options.kills, options.seed).items():
        start = time.monotonic()
        code, told = run(command, checked)
        results[name] = {"command": " ".join(command), "seconds": round(time.monotonic() - start), "ended": code}
        print(f"{name}: {'held' if code == 0 else 'BROKEN'}, {results[name]['seconds']} s\n{told}", flush=True)
        failed += [name] * (code != 0)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=1))
    sys.exit(f"broken: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
