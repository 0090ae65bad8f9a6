"""Forge model files and checkpoints: each must work, or be refused in one line that names the file.

    python benchmarks/forge_models.py --cases 10000
    NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(mktemp -d) python benchmarks/forge_models.py --cases 10000

Sound files of every family of learners are changed: bits, with and without a corrected checksum; values of the header,
each removed, doubled or replaced by odd values of every type; shapes, types and places of the arrays; numbers in them;
the text of the JSON itself. Then they are loaded by both loaders, inspected, used to predict, evaluated, trained
further, merged and resumed, in bounded memory. Failures are: an exception that is not ours, output that is not JSON, a
case that takes too long, memory that the file does not account for. The tests run some hundreds of these cases.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import hashlib
import io
import json
import math
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pater
from pater import AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier, TERClassifier, stream
from pater.cli import main as run_verb
from pater.files.model_file import ModelFileError

SECONDS = 20
ROOM = 3 << 30  # bytes of address space for a case, beyond those in use
LARGE = 1 << 28  # bytes: a state that claims more may not fit there

NUMBERS = (0, 1, -1, 2, 3, 7, 255, 1 << 31, (1 << 31) - 1, 1 << 32, 1 << 47, 1 << 53, 1 << 63, 1 << 64, 10**18)
NUMBERS += (10**400, 10**4000, -(10**400))
REALS = (0.0, -0.0, 0.5, 1.0, -1.0, 1e-320, 1e-30, 1e30, 1e200, 1.7e308, -1e308)
TEXTS = (
    "",
    "a",
    "pater-i",
    "pater-ii",
    "alma",
    "arow",
    "ter",
    "herd",
    "lanes",
    "split",
    "full",
    "diagonal",
    "balanced",
)
TEXTS += ("<i8", "<U99999", "|O", "|b1", "<f2", "F64", "I64", "hashed", "table", "\x1b[31m", "\ud800", "x" * 5000, "0")
ODD: tuple[Any, ...] = (None, True, False, [], {}, [[]], [None], {"a": 1}, [1, 2], ["a", "b"], [[1, 2]], [0.5, 0.5])
LITERALS = ("NaN", "Infinity", "-Infinity", "1e999", "[" * 5000, '{"a":' * 3000, "9" * 5000, '"\\ud800"', "1 2", "")
DOUBLES = (math.nan, math.inf, -math.inf, -0.0, 1e308, -1e308, 5e-324, 1.0, -1.0, 1e150, 2.0**600)
FINITE = (*(x for x in DOUBLES if math.isfinite(x)), 1e-8, 0.25, 3.0, 1e9)
WHOLE = (-1, 0, 1, 2, 1 << 31, 1 << 32, 1 << 53, (1 << 63) - 1, -(1 << 63), 600, 1200)

LIBSVM = "".join(f"{1 if k % 7 > 3 else -1} {1 + k % 5}:{k % 3 - 1.5} {9 + k % 4}:0.25\n" for k in range(60))
SEVERAL = "".join(f"{k % 3} {1 + k % 5}:{k % 3 - 1.5} {9 + k % 4}:0.25\n" for k in range(60))
SPARSE = "".join(f"{1 if k % 7 > 3 else -1} {1 + 997 * (k % 5)}:{k % 3 - 1.5}\n" for k in range(60))
TABLE = "a,b,label\n" + "".join(f"{k % 7 - 3},{k % 5},{'yes' if k % 7 > 3 else 'no'}\n" for k in range(60))
MIXED = "a,c,label\n" + "".join(f"{k % 7 - 3},{'xyz'[k % 3]},{k % 2}\n" for k in range(60))


class WrongError(Exception):
    """A case that did not end as it should."""


def _too_long(*_: Any) -> None:
    raise WrongError("took too long")


def _trained(text: str, ending: str, **settings: Any) -> Callable[[Path, Path], None]:
    def make(rows: Path, model: Path) -> None:
        rows.write_text(text)
        stream.train(rows, model=model, **settings)

    make.ending = ending  # type: ignore[attr-defined]
    return make


def _saved(estimator: Any, ending: str = ".svm") -> Callable[[Path, Path], None]:
    def make(rows: Path, model: Path) -> None:
        rows.write_text(SEVERAL if estimator.class_weight is None else LIBSVM)
        X = np.array([[k % 7 - 3.0, k % 5] for k in range(60)])
        y = (
            [k % 3 for k in range(60)]
            if estimator.class_weight is None
            else [1 if k % 7 > 3 else -1 for k in range(60)]
        )
        estimator.fit(X, y).save(model)

    make.ending = ending  # type: ignore[attr-defined]
    return make


def _checkpoint(rows: Path, model: Path) -> None:
    """The checkpoint of a run that was stopped after its only block."""
    rows.write_text(LIBSVM)
    (sound := model.with_name("sound")).unlink(missing_ok=True)
    checkpoint = Path(f"{sound}.checkpoint")

    def stop(run: Any) -> None:
        if run.learner.rows and checkpoint.exists():
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        stream.train(rows, model=sound, checkpoint_every=1, algo="auto", report=lambda run: None, show=stop, passes=3)
    model.write_bytes(checkpoint.read_bytes())
    checkpoint.unlink()


_checkpoint.ending = ".svm"  # type: ignore[attr-defined]

CHECKPOINT = "checkpoint"
SEEDS: dict[str, Any] = {
    "auto": _trained(LIBSVM, ".svm", scale=True),
    "classes": _trained(SEVERAL, ".svm", algo="pater-ii", average=True, probability=True),
    "sparse": _trained(SPARSE, ".svm", algo="pater-i"),
    "hashed": _trained(MIXED, ".csv", algo="pater-i", bits=8),
    "table": _trained(TABLE, ".csv", algo="pater-i", class_weight={"yes": 2.0}),
    "full": _trained(LIBSVM, ".svm", algo="arow"),
    "diagonal": _trained(LIBSVM, ".svm", algo="so-pater-i", covariance="diagonal"),
    "alma": _trained(LIBSVM, ".svm", algo="alma", average=True),
    "estimator": _saved(AutoPATERClassifier(class_weight={1: 2.0})),
    "means": _saved(SecondOrderPATERClassifier("II")),
    "one": _saved(PATERClassifier("I", class_weight="balanced", average=True)),
    "point": _trained(LIBSVM, ".svm", algo="pater-ii", operating_point={"max_fpr": 0.1}),
    "cost": _saved(
        AutoPATERClassifier(
            class_weight={1: 2.0}, operating_point={"cost": {"false_positive": 1.0, "false_negative": 5.0}}
        )
    ),
    "batch": _saved(TERClassifier()),
    CHECKPOINT: _checkpoint,
}


def apart(content: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """The header, the description of the arrays, and their bytes."""
    size = int.from_bytes(content[:8], "little")
    described = json.loads(content[8 : 8 + size])
    return json.loads(described.pop("__metadata__")["pater"]), described, content[8 + size :]


def together(header: Any, described: Any, data: bytes, edit: Callable[[str], str] = lambda told: told) -> bytes:
    told = edit(json.dumps(header))
    text = json.dumps({"__metadata__": {"pater": told}, **described}).encode()
    return signed(text, data)


def signed(text: bytes, data: bytes) -> bytes:
    """A file with this header and these bytes, with the right checksum if there is a place for one."""
    text += b" " * (-len(text) % 8)
    at = text.find(b"sha256:")
    start = len(text).to_bytes(8, "little")
    if at < 0:
        return start + text + data
    blank = text[: at + 7] + b"0" * 64 + text[at + 71 :]
    digest = hashlib.sha256(start + blank + data).hexdigest().encode()
    return start + text[: at + 7] + digest + text[at + 71 :] + data


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all parts of a JSON value."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from _places(each, (*path, key))


def odd(r: random.Random, value: Any = None) -> Any:
    """A value that does not belong there, often of the same type as the right one."""
    if r.random() < 0.5:
        if type(value) is int:
            return r.choice((value + 1, value - 1, 2 * value, -value, r.choice(NUMBERS)))
        if isinstance(value, float):
            return r.choice((-value, value + 1, r.choice(REALS)))
        if isinstance(value, str):
            return r.choice((value + "x", value[:-1], r.choice(TEXTS)))
        if isinstance(value, list) and value:
            return r.choice((value[:-1], value + value[-1:], value[::-1], value * 50))
    kind = r.randrange(4)
    return r.choice((NUMBERS, REALS, TEXTS, ODD)[kind])


def _edit(value: Any, r: random.Random) -> None:
    """Change one thing in a JSON value."""
    # Take only some of the many names and places in lists, so that single values are changed as often.
    places = list(_places(value))
    *path, key = r.choice([place for place in places if len(place) <= 3 or r.random() < 0.2] or places)
    inside = value
    for each in path:
        inside = inside[each]
    kind = r.randrange(6)
    if kind == 0:
        del inside[key]
    elif kind == 1 and isinstance(inside, dict):
        inside[r.choice(TEXTS)] = inside[key]
    elif kind == 2 and isinstance(inside, list):
        inside.insert(r.randrange(len(inside) + 1), odd(r, inside[key]))
    else:
        inside[key] = odd(r, inside[key])


def _edit_text(told: str, r: random.Random) -> str:
    """Change the text of the JSON itself: invalid literals, names that occur twice."""
    at = r.choice([k for k, c in enumerate(told) if c in ",:[{"])
    kind = r.randrange(3)
    if kind == 0:
        return told[: at + 1] + r.choice(LITERALS) + told[at + 1 :]
    if kind == 1:
        end = min((k for k in (told.find(c, at + 1) for c in ",]}") if k > 0), default=at + 1)
        return told[: at + 1] + r.choice(LITERALS) + told[end:]
    name = r.choice(("classes", "specs", "state", "counts", "format", "version", "scoring"))
    return told[:-1] + f', "{name}": {json.dumps(odd(r))}}}'


def _edit_arrays(described: dict[str, Any], data: bytes, r: random.Random) -> bytes:
    """Change the description of an array, or its content."""
    name = r.choice(list(described))
    place = described[name]
    kind = r.randrange(8)
    start, end = place["data_offsets"]
    if kind == 0:
        place["shape"] = r.choice(
            ([1 << 47, 1 << 47, 0], [1] * 100, [0], [], [10**8, 4, 0], [-1], [math.prod(place["shape"])], [1 << 63])
        )
        if 0 in place["shape"] and r.random() < 0.7:
            data = data[:start] + data[end:]
            place["data_offsets"] = [start, start]
            for other in described.values():
                if other["data_offsets"][0] >= end:
                    other["data_offsets"] = [n - end + start for n in other["data_offsets"]]
    elif kind == 1:
        place["dtype"] = r.choice(("F64", "I64", "F32", "U8", "BOOL", 3, None, ["F64"]))
    elif kind == 2:
        place["data_offsets"] = r.choice(([0, 0], [end, start], [start], [start, 1 << 60], [-8, end], None, "ab"))
    elif kind == 3:
        _edit(place, r)
    elif kind == 4:
        described[r.choice(("kept", "second", "history", "scaler.count", "more"))] = described.pop(name)
    elif kind == 5 and place["shape"]:
        at = r.randrange(len(place["shape"]))
        place["shape"][at] = odd(r, place["shape"][at])
    elif end > start:
        data = _edit_numbers(place, data, r, DOUBLES)
    return data


def _edit_numbers(place: Any, data: bytes, r: random.Random, doubles: tuple[float, ...]) -> bytes:
    changed = bytearray(data)
    start, end = place["data_offsets"]
    for _ in range(r.choice((1, 1, 4))):
        at = start + 8 * r.randrange((end - start) // 8)
        real = place["dtype"] == "F64"
        changed[at : at + 8] = struct.pack("<d", r.choice(doubles)) if real else struct.pack("<q", r.choice(WHOLE))
    return bytes(changed)


def forged(content: bytes, r: random.Random) -> bytes:
    """One to three changes to a sound file; changes to the header are signed correctly."""
    kind = r.randrange(14)
    if kind == 0:  # as disks damage files
        changed = bytearray(content)
        for _ in range(r.choice((1, 3))):
            changed[r.randrange(len(changed))] ^= 1 << r.randrange(8)
        return bytes(changed[: r.choice((len(changed), len(changed), r.randrange(len(changed))))])
    if kind == 1:  # the same, by someone who can sign
        size = int.from_bytes(content[:8], "little")
        changed = bytearray(content[8:])
        for _ in range(r.choice((1, 3))):
            changed[r.randrange(len(changed))] ^= 1 << r.randrange(8)
        return signed(bytes(changed[:size]), bytes(changed[size:]))
    header, described, data = apart(content)
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        if kind >= 10:  # plausible numbers, so that what comes after loading is reached
            place = described[r.choice([name for name, each in described.items() if math.prod(each["shape"])])]
            data = _edit_numbers(place, data, r, FINITE)
        elif kind < 6:
            _edit(header, r)
        elif kind < 9:
            with contextlib.suppress(KeyError, TypeError, IndexError, ValueError, AttributeError):  # of an earlier edit
                data = _edit_arrays(described, data, r)
    return together(header, described, data, (lambda told: _edit_text(told, r)) if kind == 9 else lambda told: told)


def claimed(content: bytes) -> float:
    """How many bytes of state a file claims, as far as it makes sense at all."""
    try:
        header, described, _ = apart(content)
        models = described["reals"]["shape"][0]
        return 8.0 * 24 * models * header["state"]["features"] + LARGE * ("arow" in str(header["specs"]))
    except Exception:
        return 0.0


def verb(*arguments: object) -> tuple[int, str, str]:
    """Run a verb in this process; return its exit code and its output."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run_verb([str(argument) for argument in arguments])
        except SystemExit as leave:
            return int(leave.code or 0), out.getvalue(), err.getvalue()
    raise WrongError("the verb did not end")


def try_all(path: Path, rows: Path, content: bytes, r: random.Random) -> str:
    """Do everything with a file that can be done: "works" if it could be loaded, else "refused"."""
    folder = path.parent
    loaded = None
    for load in (pater.load, stream.load):
        try:
            loaded = load(path)
        except ModelFileError as error:
            if path.name not in str(error) or len(str(error)) > 1000:
                raise WrongError(f"an error of {len(str(error))} characters: {error}") from None
        except MemoryError as error:
            if claimed(content) < LARGE or "needs more memory" not in str(error):
                raise
            return "too large"
    resumed = folder / "resumed"
    Path(f"{resumed}.checkpoint").write_bytes(content)
    verbs: list[tuple[object, ...]] = [
        ("inspect", path, "--json"),
        ("inspect", path),
        ("predict", path, rows, "--margins", "-o", folder / "out.jsonl"),
        ("evaluate", rows, "-m", path, "--json"),
        ("train", rows, "-i", path, "-q", "-m", folder / "more"),
        ("merge", path, path, "-m", folder / "both"),
        ("train", rows, "-q", "--passes", "3", "--resume", "-m", resumed),
    ]
    for arguments in verbs if loaded is not None else [r.choice(verbs)]:
        for name in ("out.jsonl", "more", "both"):
            (folder / name).unlink(missing_ok=True)
        code, out, err = verb(*arguments)
        lines = err.splitlines()
        if code not in (0, 1) or (code == 1 and (not lines or not lines[-1].startswith("pater: ") or len(err) > 2000)):
            raise WrongError(f"{arguments[0]} ended with {code}: {err[:300]}")
        if "not enough memory" in err and claimed(content) < LARGE:
            raise WrongError(f"{arguments[0]} takes more memory than the file accounts for")
        if code == 0:
            texts = [out] if "--json" in arguments else []
            texts += (folder / "out.jsonl").read_text().splitlines() if arguments[0] == "predict" else []
            for text in texts:
                json.loads(text, parse_constant=_no_json)
            for name in ("more", "both"):
                if (folder / name).exists():
                    stream.load(folder / name)
    return "refused" if loaded is None else "works"


def _no_json(text: str) -> None:
    raise WrongError(f"{text} is not JSON")


@contextlib.contextmanager
def held_to(room: int) -> Iterator[None]:
    """Limit the process to this many more bytes of address space, where its current size is known."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + room, hard))
    except (OSError, ValueError):
        pass
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def cases(folder: Path, count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Run cases and yield the name of each and how it ended. A failed one says which it was, and its file is kept."""
    r = random.Random(seed)
    contents: dict[str, tuple[Path, bytes]] = {}
    for name, make in SEEDS.items():
        rows, model = folder / f"{name}{make.ending}", folder / name
        make(rows, model)
        contents[name] = rows, model.read_bytes()
        if try_all(model, rows, contents[name][1], r) != "works":  # which also compiles everything before it is timed
            raise WrongError(f"{name} does not work as it is")
    names = list(contents)
    before = signal.signal(signal.SIGALRM, _too_long)
    try:
        with warnings.catch_warnings(), held_to(ROOM):
            warnings.simplefilter("ignore")
            for k in range(count):
                name = names[k % len(names)]
                rows, sound = contents[name]
                content = forged(sound, r)
                path = folder / f"{name}.forged"
                path.write_bytes(content)
                signal.alarm(SECONDS)
                try:
                    how = try_all(path, rows, content, r)
                except Exception as error:
                    kept = Path(tempfile.gettempdir()) / f"forged-{seed}-{k}"
                    kept.write_bytes(content)
                    where = traceback.extract_tb(error.__traceback__)[-1]
                    how = f"WRONG, kept as {kept}: {type(error).__name__}: {error} ({where.name}, line {where.lineno})"
                finally:
                    signal.alarm(0)
                yield name, how
    finally:
        signal.signal(signal.SIGALRM, before)


def main(count: int = 10_000, seed: int = 0) -> dict[str, Any]:
    """Run cases and return how many ended in which way."""
    start, ended = time.monotonic(), collections.Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for name, how in cases(Path(folder), count, seed):
            ended[f"{name}: {how}"] += 1
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "cases": count,
        "seconds": round(time.monotonic() - start),
        "peak_megabytes": round(megabytes),
        **dict(sorted(ended.items())),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    told = main(options.cases, options.seed)
    print(json.dumps(told, indent=1))
    sys.exit(any("WRONG" in name for name in told))
