# Tasks for people who work on onlinear. `just` lists them; it comes with pip install -e ".[dev]".

python := env("PYTHON", if path_exists(".venv/bin/python") == "true" { ".venv/bin/python" } else { "python" })

_tasks:
    @{{just_executable()}} --list --unsorted

# lint, formatting, types, spelling and the layers of the package: seconds
check:
    {{python}} -m ruff check
    {{python}} -m ruff format --check
    {{python}} -m mypy
    {{python}} -m codespell_lib
    {{python}} -m pytest -q tests/repository/test_layers.py

# the tests that need less than two minutes once compiled; says what it leaves out
test-fast *options:
    {{python}} -m pytest -q -n 2 --dist worksteal --fast {{options}}

# every test, with the examples in docstrings and documents: ten minutes on two cores, cold
test *options:
    {{python}} -m pytest -q -n 2 --dist worksteal {{options}}

# what continuous integration does: a new environment, and the README's test command
ci:
    bash .ci/run

# the site, at http://127.0.0.1:8000
docs:
    {{python}} -m mkdocs serve

# the site, as files in site/; any warning is an error
docs-build:
    {{python}} -m mkdocs build --strict

# every benchmark of speed; writes docs/speed.md and wants an idle machine
bench:
    {{python}} benchmarks/all.py

# one benchmark by its name in benchmarks/: just benchmark keyed
benchmark name *options:
    {{python}} benchmarks/{{name}}.py {{options}}

# a wheel with compiled code for machines like this one, in dist/; needs a C compiler
wheels:
    {{python}} native/build.py dist/_native.abi3.so
    ONLINEAR_LIBRARY=dist/_native.abi3.so {{python}} -m pip wheel -q --no-deps -w dist .

# the tests with code that Numba compiles, instead of code compiled ahead of time
test-jit *options:
    ONLINEAR_NATIVE=0 {{python}} -m pytest -q -n 2 --dist worksteal {{options}}

# tests of learners, engine and wrappers as plain Python, without compiled code: slow
test-plain *options:
    NUMBA_DISABLE_JIT=1 {{python}} -m pytest -q -n 2 --dist worksteal tests/engine/test_without_jit.py tests/algorithms/test_golden.py tests/algorithms/test_oracles.py {{options}}

# code compiled ahead of time has the bits of Numba's: every learner, every level of processors
test-native:
    {{python}} native/build.py dist/_native.abi3.so
    NATIVE_LEARNERS=all NATIVE_OLD=dist/_native.abi3.so {{python}} -m pytest -q tests/native

# state files and predictions of this version, for the tests of later ones: once per release
release-data:
    {{python}} tests/data/releases/write.py
