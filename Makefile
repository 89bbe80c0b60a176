# Two commands: `make lab` opens the first notebook, `make test` runs every test. Both set everything up first.
PYTHON ?= python3
LAB_ARGS ?=
PYTEST_ARGS ?=
WORKERS ?= 2
CORPUS ?=
SQL_CORPUS ?=
HOSTILE_ARGS ?= --levels 2 3 --abi 1

export PATH := $(CURDIR)/.venv/bin:$(PATH)
pytest = pytest -n $(WORKERS) --no-loadscope-reorder $(PYTEST_ARGS)

.PHONY: setup lab test test-full test-unit test-cases test-embedded test-browser test-frontend test-hostile test-hostile-sql lint pins clean

setup:
	@$(PYTHON) scripts/set_up.py

lab: setup
	@python scripts/lab.py $(LAB_ARGS)

test: lint test-frontend browser
	$(pytest) -m "not slow"

# Each law on 5,000 random runs, not on some hundreds.
test-full: lint test-frontend browser
	REFLECT_LAB_LAW_RUNS=5000 $(pytest)

# The layers, each runnable alone.
test-unit: setup
	$(pytest) -m "not slow and not browser and not embedded" --ignore=tests/cases

test-cases: setup
	$(pytest) -m "not slow" tests/cases

test-embedded: setup
	$(pytest) -m embedded

test-browser: browser
	$(pytest) -m browser

test-frontend: setup
	npm --prefix labextension test

# Hostile programs through the sandbox, in a cage of its own (needs root), CORPUS names other folders of them: see
# CONTRIBUTING.md.
test-hostile: setup
	python scripts/hostile.py $(CORPUS) $(HOSTILE_ARGS)

# Hostile queries at levels 1 to 3, SQL_CORPUS names other files of them.
test-hostile-sql: setup
	python scripts/hostile_sql.py $(SQL_CORPUS)

lint: setup
	ruff check .
	ruff format --check .
	mypy
	lint-imports
	npm --prefix labextension run check

.PHONY: browser
browser: setup
	@sh scripts/ensure_browser.sh

# Writes constraints.txt anew from the newest releases that pyproject.toml allows.
pins:
	@$(PYTHON) scripts/pin.py

# Removes all that set-up made. Traces stay.
clean:
	rm -rf .venv .setup labextension/node_modules labextension/lib reflect_lab/labextension reflect_lab/static
