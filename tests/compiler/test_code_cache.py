"""Compiled code is kept if a folder is writable, is compiled again if none is, and never outlives its source.

Each test runs a copy of the package in separate processes. For an administrator every folder is writable, so these
processes give up that privilege first.
"""

from __future__ import annotations

import ast
import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import pater
from pater.compiler import code_cache

# A kernel in another module than the rule that it calls.
PERCEPTRON = """
import numpy as np
from pater.kernels.rules import RULES
from pater.kernels.run import IN_ORDER, KINDS, NOTHING
from pater.kernels.memory import SCALARS, Home
from pater.models.spec import RECORD
X, codes, margins, home = np.array([[1.0, 2.0]]), np.ones(1, np.int64), np.zeros((1, 0)), Home(np.zeros((1, 2, 2)))
model, settings = np.zeros(1, SCALARS), np.zeros(1, RECORD)
settings["rule"], settings["positive"], settings["alpha_pos"] = RULES["perceptron"].code, 1, 1
learn = KINDS["none"][0].learn
learn(home, (X,), IN_ORDER, codes, NOTHING, margins, model, settings, 0, 1, 0, 1)
stats = learn.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), home.vectors[0, 0].tolist())
"""

SMALL = """
import numpy as np
from pater.kernels.doors import form
sound = form(np.array([0, 1], "u4"), np.array([0], "u4"), np.uint32(0))
print(sound, sum(form.stats.cache_hits.values()), sum(form.stats.cache_misses.values()))
"""

# A kernel that raises with values, of which one is an array: each needs what Numba keeps beside the code.
RAISING = """
import gc
import numpy as np
from raising import outer
print(outer(np.zeros(1), 1), sum(outer.stats.cache_hits.values()))
gc.collect()
others = [[1] * 3 for _ in range(1000)]
for k in (5, 7):
    try:
        outer(np.zeros(1), k)
    except ValueError as error:
        print(error.args[0], len(error.args))
"""
RAISES = """
from pater.compiler.decorators import allocating, exact_kernel, exact_part
@exact_part
@allocating
def part(x, k):
    if k == 5:
        raise ValueError("too large", k)
    if k == 7:
        raise ValueError("with an array", x, k)
    return k
@exact_kernel
@allocating
def outer(x, k):
    return part(x, k) + 1
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the core modules, without compiled code."""
    source, copy = Path(pater.__file__).parent, tmp_path / "installed" / "pater"
    copy.mkdir(parents=True)
    for module in source.rglob("*.py"):
        (copy / module.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(module, copy / module.relative_to(source))
    yield copy
    for place in (tmp_path, *tmp_path.rglob("*")):
        if place.is_dir():
            place.chmod(0o755)


def heed_permissions():
    """Give up the administrator's right to write anywhere (PR_CAPBSET_DROP, CAP_DAC_OVERRIDE on Linux)."""
    ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)


def process(script, environment):
    as_others = {"preexec_fn": heed_permissions} if os.geteuid() == 0 and sys.platform == "linux" else {}
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False, **as_others
    )


def run(script, package, home):
    """The three things that the script prints, run where the permissions of folders count."""
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")},
        "HOME": str(home),
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if not os.access(package, os.W_OK) or not (package.stat().st_mode & 0o200):
        done = process(f"open({str(package / 'probe')!r}, 'w')", environment)
        if done.returncode == 0:
            (package / "probe").unlink()
            pytest.skip("every folder is writable here")
    done = process(script, environment)
    assert done.returncode == 0, done.stderr
    return [word.strip() for word in done.stdout.split(maxsplit=2)]


def lock(place):
    for path in (place, *place.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


def compiled(place):
    return sorted(path.name for path in place.rglob("*.nbc"))


@pytest.mark.slow
def test_without_any_folder_to_write_to(package, tmp_path):
    """Neither the package's nor the user's: compiled every time, without a message."""
    lock(package.parent)
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    for _ in range(2):
        assert run(SMALL, package, home) == ["0", "0", "1"]
    assert compiled(tmp_path) == []


@pytest.mark.slow
def test_in_the_user_s_cache_when_the_package_is_read_only(package, tmp_path):
    lock(package.parent)
    home = tmp_path / "home"
    home.mkdir()
    assert run(SMALL, package, home) == ["0", "0", "1"]
    assert compiled(home)
    assert compiled(package.parent) == []
    assert run(SMALL, package, home) == ["0", "1", "0"]


@pytest.mark.slow
def test_beside_the_package_when_that_can_be_written(package, tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    assert run(SMALL, package, home) == ["0", "0", "1"]
    assert compiled(package)
    assert run(SMALL, package, home) == ["0", "1", "0"]


@pytest.mark.slow
def test_a_change_in_one_module_is_seen_by_the_kernels_of_another(package, tmp_path):
    """Numba only looks at the file of a kernel: `run.py` would keep using yesterday's `rules.py`."""
    home = tmp_path / "home"
    home.mkdir()
    hits, misses, weights = run(PERCEPTRON, package, home)
    assert (hits, misses) == ("0", "1")
    assert run(PERCEPTRON, package, home) == ["1", "0", weights]
    rules = package / "kernels" / "rules.py"
    before = rules.read_text()
    after = before.replace("return 1.0 if margin <= 0.0 else 0.0", "return 8.0 if margin <= 0.0 else 0.0")
    assert after != before
    rules.write_text(after)
    hits, misses, changed = run(PERCEPTRON, package, home)
    assert (hits, misses) == ("0", "1")
    assert ast.literal_eval(weights) == [1.0, 2.0]
    assert ast.literal_eval(changed) == [8.0, 16.0]


def test_every_constant_of_a_kernel_is_in_a_file_that_kernels_depend_on():
    folder = Path(pater.__file__).parent
    depended_on = {"compiler", "kernels"}
    sources = {path: path.read_text() for path in folder.rglob("*.py")}
    texts = {
        ".".join(("pater", *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__"): text
        for path, text in sources.items()
        if path.relative_to(folder).parts[0] in depended_on or "compiler.decorators import" in text
    }
    assert len(texts) > 50
    for name, text in texts.items():
        module = importlib.import_module(name)
        kernels = [getattr(each, "py_func", None) for each in vars(module).values()]
        used = {word for kernel in kernels if kernel for word in kernel.__code__.co_names}
        for statement in ast.walk(ast.parse(text)):
            if isinstance(statement, ast.ImportFrom) and statement.level:
                above = "." * statement.level + (statement.module or "")
                origin = importlib.util.resolve_name(above, module.__package__)
                for each in statement.names:
                    value = getattr(module, each.asname or each.name)
                    if each.name in used and not callable(value) and not isinstance(value, ModuleType):
                        assert origin in texts, f"{name}: {each.name} is from {origin}"


@pytest.mark.slow
def test_a_change_elsewhere_compiles_nothing_anew(package, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    run(SMALL, package, home)
    plots = package / "estimators" / "plots.py"
    plots.write_text(plots.read_text() + "\n# a remark\n")
    assert run(SMALL, package, home) == ["0", "1", "0"]


def test_a_kernel_from_the_cache_raises_what_it_raised_when_it_was_compiled(tmp_path):
    (tmp_path / "raising.py").write_text(RAISES)
    path = os.pathsep.join([str(tmp_path), str(Path(pater.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for hits in "01":
        done = process(RAISING, environment)
        assert done.stdout.splitlines() == [f"2 {hits}", "too large 2", "with an array 3"], done.stderr


def cut(content):
    return content[: len(content) // 2]


def flipped(share):
    def flip(content):
        place = min(int(share * len(content)), len(content) - 1)
        return content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]

    return flip


DAMAGES = (cut, lambda content: b"", *map(flipped, (0, 0.5, 1)))


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_as_good_as_none(tmp_path, kind, damage):
    cache = code_cache._SoundFiles(str(tmp_path), "kernel", "stamp")
    cache.save("key", "machine code")
    (path,) = tmp_path.glob(f"*.{kind}")
    path.write_bytes(damage(path.read_bytes()))
    assert cache.load("key") is None
    cache.save("key", "machine code")
    assert cache.load("key") == "machine code"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_damaged_file_is_thrown_away(package, tmp_path, kind):
    """Whatever has happened to a cache file, the kernel runs, and the next process finds a sound file again."""
    home = tmp_path / "home"
    home.mkdir()
    assert run(SMALL, package, home) == ["0", "0", "1"]
    (path,) = (path for path in package.rglob(f"*.{kind}") if ".form-" in path.name)
    sound = path.read_bytes()
    for damage in DAMAGES:
        path.write_bytes(damage(sound))
        assert run(SMALL, package, home) == ["0", "0", "1"]
        assert run(SMALL, package, home) == ["0", "1", "0"]


def test_the_code_of_another_kernel_is_not_run(tmp_path):
    caches = [code_cache._SoundFiles(str(tmp_path), name, "stamp") for name in ("one", "other")]
    for cache in caches:
        cache.save("key", f"machine code of {cache._index_name}")
    (one,), (other,) = (list(tmp_path.glob(f"{name}.*.nbc")) for name in ("one", "other"))
    shutil.copy(one, other)
    assert [cache.load("key") for cache in caches] == ["machine code of one.nbi", None]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_what_cannot_be_read_or_written_is_done_without(package, tmp_path, kind):
    home = tmp_path / "home"
    home.mkdir()
    run(SMALL, package, home)
    for path in package.rglob(f"*.{kind}"):
        path.unlink()
        path.mkdir()
    for _ in range(2):
        assert run(SMALL, package, home) == ["0", "0", "1"]


def test_processes_that_compile_at_the_same_time_never_run_what_the_other_has_written(tmp_path):
    """Both have read the same, empty index; their signatures must not share a file."""
    both = [code_cache._SoundFiles(str(tmp_path), "kernel", "stamp") for _ in range(2)]
    index = both[0]._load_index()
    for cache, key in zip(both, ("of dense rows", "of sparse rows"), strict=True):
        cache._load_index = lambda: dict(index)
        cache.save(key, f"machine code {key}")
    fresh = code_cache._SoundFiles(str(tmp_path), "kernel", "stamp")
    assert fresh.load("of sparse rows") == "machine code of sparse rows"
    assert fresh.load("of dense rows") in (None, "machine code of dense rows")


FORMS = """
import sys
import numpy as np
from pater import SecondOrderPATERClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 9))
y = X[:, 0] + rng.normal(size=300) > 1
for form in sys.argv[1:]:
    print(form, SecondOrderPATERClassifier(form=form).fit(X, y).coef_[0, 0])
"""


@pytest.mark.slow
def test_what_different_processes_have_compiled_is_told_apart_when_a_third_loads_both(tmp_path):
    """Leaders and steps share their source: with one name for both, the linker confused them."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def told(*forms):
        command = [sys.executable, "-c", FORMS, *forms]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    leader, step = told("leader"), told("step")
    assert told("leader", "step") == leader + step
    assert told("step", "leader") == step + leader
