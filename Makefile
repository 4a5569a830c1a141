# Everything runs in .venv, which the first target makes; a fresh machine needs Python 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check install --quiet --constraint constraints.txt
# Tests share the cores: one thread each, as many workers as cores. MACHINE=SSE4.2, or another set of tests/portable.py,
# runs them as such a machine would round; COVERAGE=1 counts the lines that they reach, over all targets until `coverage`.
PYTEST := $(if $(MACHINE),python tests/portable.py --under "$(MACHINE)",pytest)
COUNT := $(if $(COVERAGE),--cov --cov-append --cov-report=)
TEST := OMP_NUM_THREADS=1 $(BIN)/$(PYTEST) -n auto --dist worksteal $(COUNT)

.PHONY: demo test test-full test-rest test-figures test-portable test-rounding test-lowest coverage lint hooks \
	release-check fuzz docs pictures bench-speed bench-accuracy results results-full results-pages clean

demo: .venv/.installed
	$(BIN)/vmtl demo

.venv/.made:
	$(PYTHON) -m venv .venv
	touch $@

.venv/.installed: .venv/.made pyproject.toml constraints.txt
	$(PIP) torch
	$(PIP) --editable '.[cli,report]'
	touch $@

.venv/.tested: .venv/.installed
	$(PIP) --editable '.[test]'
	touch $@

.venv/.released: .venv/.tested
	$(PIP) --editable '.[release]'
	touch $@

.venv/.fuzzed: .venv/.tested
	$(PIP) --editable '.[fuzz]'
	touch $@

lint: .venv/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --offline --quiet --pedantic .github
	$(BIN)/check-jsonschema --builtin-schema custom.github-workflows-require-timeout .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

# The linters before every commit, from .venv.
hooks: .venv/.tested
	$(PIP) pre-commit
	$(BIN)/pre-commit install

# The short form, for every change: a few minutes on two cores.
test: lint
	$(TEST) -m "not slow"

# Everything, and which lines it reaches: the short form, then the rest.
test-full:
	rm -f .coverage
	$(MAKE) test COVERAGE=1
	$(MAKE) test-rest COVERAGE=1
	$(MAKE) coverage

test-rest: .venv/.tested
	$(TEST) -m "slow and not figures and not release"

# The gallery prints what its pages say. On another processor numbers may differ, so nothing but a release waits for it.
test-figures: .venv/.tested
	$(TEST) -m figures

coverage: .venv/.tested
	$(BIN)/coverage report --skip-covered --fail-under=95

# The tests of numbers with the rounding of other machines; it says which ones this machine can play.
test-portable: .venv/.tested
	OMP_NUM_THREADS=1 $(BIN)/python tests/portable.py -n auto --dist worksteal

# The default's mathematics with the rounding of another machine, which any machine can play.
test-rounding: .venv/.tested
	OMP_NUM_THREADS=1 $(BIN)/python tests/portable.py --under "other rounding" -n auto --dist worksteal -q \
		-m "not slow and not system" tests/gp tests/_utils tests/reliability/test_bad_classes.py tests/reliability/test_determinism.py

# The oldest versions that pyproject.toml allows, in an environment of their own.
test-lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip --disable-pip-version-check install --quiet --constraint constraints-lowest.txt --editable '.[cli,report,tables]' pytest pytest-xdist hypothesis
	OMP_NUM_THREADS=1 .venv-lowest/bin/pytest -q -m "not slow and not system" \
		$(addprefix tests/estimators/test_,base.py classifier.py contract.py regressor.py sample_weight.py scikit_learn_tools.py)

# What a release consists of: built, checked, listed, and the wheel tried in an empty environment. Nothing is published.
release-check: .venv/.released
	rm -rf build dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/python -m zipfile --list dist/*.whl
	$(BIN)/python recipe/render.py
	VMTL_DIST=dist $(BIN)/pytest -q -m "release or not slow" tests/project/test_wheel.py

# Every target of fuzz/ for so many seconds; what it finds is in fuzz/findings.
SECONDS ?= 60
fuzz: .venv/.fuzzed
	$(BIN)/python fuzz/run.py --seconds $(SECONDS)

docs: .venv/.tested
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Every picture of README and docs; the report's needs Chromium and its driver, the gallery's the data that it names.
pictures: .venv/.tested
	$(BIN)/python docs/architecture.py
	$(BIN)/python docs/report_image.py
	$(BIN)/python docs/gallery.py
	$(BIN)/python -m benchmarks.paper.collapse write

bench-speed: .venv/.installed
	$(BIN)/python -m benchmarks.speed

bench-accuracy: .venv/.tested
	$(BIN)/python -m benchmarks.paper.accuracy

# RESULTS.md, its figures and docs/claims.md from the records in benchmarks/paper/records; VMTL_DATA names the folder of the
# data. What has no record is computed first: about four hours of processor time for all of it (benchmarks/README.md);
# every half minute it says how long the rest takes. Killed and started again, it goes on. `results-full` adds the runs of
# the paper's full length, four more hours; `results-pages` computes nothing.
RECORDS := --out benchmarks/paper/records
RUN := $(BIN)/python -m benchmarks.paper run --workers 2 $(RECORDS)

results: .venv/.tested
	$(RUN) results
	$(MAKE) results-pages

results-full: .venv/.tested
	$(RUN) results full_length
	$(MAKE) results-pages

results-pages: .venv/.tested
	$(BIN)/python -m benchmarks.paper show results full_length $(RECORDS) --results-md RESULTS.md \
		--figures docs/images/results > /dev/null
	$(BIN)/python -m benchmarks.peers --half test --show --markdown
	$(BIN)/python -m benchmarks.paper.claims --write

clean:
	rm -rf .venv .venv-lowest build dist site .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis
