"""Damaged inputs and damaged model files: each must end in a model or in an error that names the file.

    python benchmarks/fuzz.py --cases 10000
    python benchmarks/fuzz.py --text 10000 --bounds

`--cases`: valid files of every format, plain and compressed, are mutated byte by byte, line by line and with words that
parsers stumble over, and learned from; model files of `pater train` and of an estimator are mutated and loaded.
Failures are: an exception that is not ours, an error that does not say where, a case that takes too long, more memory
than the bound.

The other kinds of cases are modules of their own, listed in `KINDS`. Each has a function `cases` that takes a folder, a
count and a seed, and gives the name and number of each case and what runs it. `--bounds` runs everything in a separate
process in which compiled code checks every read and write. The tests run a few hundred cases of each kind.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import pater
from pater import AutoPATERClassifier
from pater.files.model_file import ModelFileError
from pater.formats.errors import Hint
from pater.stream import InputError, load, train

sys.path.append(str(Path(__file__).parent))
import fuzz_text

KINDS = {"text": fuzz_text.cases}
SECONDS = 20
MEGABYTES = 900  # of address space in use at the end: two models of the largest width that is allowed, and the program
TEXTS = (
    rb"inf nan -nan 1e999 1e-999 0x10 99999999999999999999 4194303 -1 : :: | || # , ,, 1:1 1:1:1 qid:3 'tag |a:b |a:1"
    rb" +1 1e 1e+ . - +. 0.1234567890123456789012 ? NA"
)
BYTES = (b'"', b'""', b"\r", b"\r\n", b"\n", b"\n\n", b"\t", b" ", b"\x00", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf")
WORDS = [*TEXTS.split(), *BYTES]
MODELS = MODEL, ESTIMATOR = "model.pater", "estimator.pater"


def _libsvm(rows: int = 40) -> bytes:
    r = random.Random(1)
    lines = [
        f"{r.choice(['+1', '-1', '1.0'])} "
        + " ".join(f"{j}:{r.gauss(0, 1):.4g}" for j in sorted(r.sample(range(1, 60), 6)))
        for _ in range(rows)
    ]
    return "\n".join(lines).encode() + b"\n"


def _vw() -> bytes:
    r = random.Random(2)
    return b"".join(
        f"{r.choice([1, -1])} {r.choice(['', '2 '])}'t{k}|user a:{r.random():.3f} b |item:2 c{k % 7} d:1e-3\n".encode()
        for k in range(40)
    )


def _csv(delimiter: str = ",") -> bytes:
    r = random.Random(3)
    rows = [("age", "city", "note", "label")]
    rows += [(f"{r.gauss(40, 9):.2f}", r.choice("ABC"), '"a ""b""\nc"', r.choice(["yes", "no"])) for _ in range(40)]
    return "\n".join(delimiter.join(row) for row in rows).encode() + b"\n"


def _table() -> pa.Table:
    return pa.table(
        {"a": [k / 7 for k in range(60)], "c": ["xyz"[k % 3] for k in range(60)], "y": [k % 2 for k in range(60)]}
    )


def _parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(_table(), out, row_group_size=25)
    return out.getvalue()


def _arrow() -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_file(out, _table().schema) as writer:
        writer.write_table(_table(), max_chunksize=25)
    return out.getvalue()


SEEDS: dict[str, Callable[[], bytes]] = {
    "rows.svm": _libsvm,
    "rows.vw": _vw,
    "rows.csv": _csv,
    "rows.tsv": lambda: _csv("\t"),
    "rows.parquet": _parquet,
    "rows.arrow": _arrow,
    "rows.svm.gz": lambda: gzip.compress(_libsvm(), mtime=0),
}


def mutated(content: bytes, r: random.Random) -> bytes:
    """One to four changes of the kinds that files suffer."""
    text = bytearray(content)
    for _ in range(r.choice((1, 1, 2, 4))):
        at, size = r.randrange(len(text) + 1), r.choice((1, 1, 2, 8, 40))
        kind = r.randrange(7)
        if kind == 0 and text:
            text[at % len(text)] ^= 1 << r.randrange(8)
        elif kind == 1:
            text[at : at + size] = r.randbytes(size)
        elif kind == 2:
            del text[at : at + size]
        elif kind == 3:
            text[at:at] = r.choice(WORDS)
        elif kind == 4:
            text[at:at] = text[at : at + size] * r.choice((1, 3))
        elif kind == 5:
            del text[at:]
        else:
            start = text.rfind(b"\n", 0, at) + 1
            end = text.find(b"\n", at) + 1
            text[at:at] = text[start:end]
    return bytes(text)


# Faults of a file as a whole.
WHOLE = ("no row to learn from", "no column", "is empty", "compressed", "different values", "but is read as")


class WrongError(Exception):
    """A case that did not end as it should."""


def _too_long(*_: Any) -> None:
    raise WrongError("took too long")


def learn(path: Path, on_error: str, model: Path | None) -> str:
    """Learn from a damaged file: "model", or "error" if one says where. Half of the tables are encoded."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Hint)
            train(
                path,
                algo="pater-i",
                on_error=on_error,
                model=model,
                label="label" if path.suffix in (".csv", ".tsv") else None,
                encoding="plain" if on_error == "stop" else None,
            )
    except (InputError, ModelFileError) as error:
        if path.name not in str(error):
            raise WrongError(f"the error does not name the file: {error}") from None
        if path.suffix in (".svm", ".vw", ".csv", ".tsv") and not any(word in str(error) for word in ("line ", *WHOLE)):
            raise WrongError(f"the error does not say where: {error}") from None
        return "error"
    return "model"


def open_model(path: Path, _: str, __: Path | None) -> str:
    """Load a damaged model file: "error", or "model", which is right only for the model that was saved."""
    try:
        (pater.load if path.name == ESTIMATOR else load)(path)
    except ModelFileError as error:
        if path.name not in str(error):
            raise WrongError(f"the error does not name the file: {error}") from None
        return "error"
    return "model"


def cases(folder: Path, count: int, seed: int) -> Iterator[tuple[str, str, bytes]]:
    """Run cases and yield the name of each and how it ended. A failure is an exception that carries its cause."""
    r = random.Random(seed)
    contents = {name: make() for name, make in SEEDS.items()}
    sound = folder / "sound.svm"
    sound.write_bytes(_libsvm())
    train(sound, model=folder / MODEL, scale=True)
    X = [[k % 7 - 3.0, k % 5] for k in range(200)]
    AutoPATERClassifier(class_weight={"yes": 2}).fit(X, ["yes" if k % 7 > 4 else "no" for k in range(200)]).save(
        folder / ESTIMATOR
    )
    contents |= {name: (folder / name).read_bytes() for name in MODELS}
    for name, content in contents.items():  # compile everything before anything is timed
        (folder / name).write_bytes(content)
        (open_model if name in MODELS else learn)(folder / name, "stop", None)
    names = list(contents)
    before = signal.signal(signal.SIGALRM, _too_long)
    try:
        for k in range(count):
            name = names[k % len(names)]
            content = mutated(contents[name], r)
            path = folder / name
            path.write_bytes(content)
            signal.alarm(SECONDS)
            try:
                run = open_model if name in MODELS else learn
                ended = run(path, r.choice(("stop", "skip")), folder / "out.pater" if k % 10 == 0 else None)
            except BaseException as error:
                raise WrongError(f"case {k} of seed {seed}, {name}, {type(error).__name__}: {error}") from error
            finally:
                signal.alarm(0)
            if name in MODELS and ended == "model" and content != contents[name]:
                raise WrongError(f"case {k} of seed {seed}: a changed model file was loaded in silence")
            yield name, ended, content
    finally:
        signal.signal(signal.SIGALRM, before)


def run_kind(kind: str, folder: Path, count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Run the cases of a kind; yield the name of each and how it ended."""
    before = signal.signal(signal.SIGALRM, _too_long)
    try:
        for name, k, run in KINDS[kind](folder, count, seed):
            signal.alarm(SECONDS if k else 600)  # the first case of a name compiles what it needs
            try:
                yield name, run()
            except BaseException as error:
                raise WrongError(f"case {k} of seed {seed}, {kind}, {name}, {type(error).__name__}: {error}") from error
            finally:
                signal.alarm(0)
    finally:
        signal.signal(signal.SIGALRM, before)


def with_bounds(arguments: list[str]) -> int:
    """Run this script again, with every read and write of compiled code checked."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache}
        return subprocess.run([sys.executable, __file__, *arguments], env=environment, check=False).returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, help="damaged files and models; 10,000 if no kind is named")
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0, metavar="N", help="so many cases of each of its formats")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bounds", action="store_true", help="check every place that compiled code reads and writes")
    options = parser.parse_args()
    if options.bounds:
        sys.exit(with_bounds([argument for argument in sys.argv[1:] if argument != "--bounds"]))
    counts = {kind: getattr(options, kind) for kind in KINDS}
    files = options.cases if options.cases is not None else 0 if any(counts.values()) else 10_000
    start, ended = time.monotonic(), collections.Counter[tuple[str, str]]()
    with tempfile.TemporaryDirectory() as folder:
        for name, how, _ in cases(Path(folder), files, options.seed) if files else ():
            ended[name, how] += 1
        for kind, count in counts.items():
            for name, how in run_kind(kind, Path(folder), count, options.seed):
                ended[f"{kind}, {name}", how] += 1
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert megabytes < MEGABYTES, megabytes
    told = {f"{name}: {how}": n for (name, how), n in sorted(ended.items())}
    asked = {"cases": sum(ended.values()), "seconds": time.monotonic() - start, "peak_megabytes": megabytes}
    print(json.dumps({**asked, **told}, indent=1))


if __name__ == "__main__":
    main()
