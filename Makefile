# Two commands are all a newcomer needs: `make demo` and `make test`. Both set up .uv and .venv inside the project.
PYTHON ?= python3
UV_VERSION := 0.13.9
UV := .uv/$(UV_VERSION)/bin/uv
BASE := .venv/.base
DEV := .venv/.dev
RUN := .venv/bin
ROOMS := quartermaster sql collector analytics simulator enforcer dashboards cli
ARGS ?=
export UV_PYTHON_DOWNLOADS := never
export UV_LINK_MODE := hardlink
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test coverage servers manifests cluster lint format docs bench soak lock wheel clean browser browser-all screenshots

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' Makefile | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

$(UV):
	@$(PYTHON) -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-deps --target .uv/$(UV_VERSION) uv==$(UV_VERSION)
	@touch $@

$(BASE): $(UV) requirements/base.txt pyproject.toml
	@test -x .venv/bin/python || $(UV) venv -q --python $(PYTHON) .venv
	@test -e $(DEV) || $(UV) pip sync -q --python $(RUN)/python --require-hashes requirements/base.txt
	@test -e $(DEV) || { site=$$($(RUN)/python -c 'import site; print(site.getsitepackages()[0])'); pwd > "$$site/quartermaster-checkout.pth"; }
	@touch $@

$(DEV): $(UV) requirements/dev.txt pyproject.toml
	@test -x .venv/bin/python || $(UV) venv -q --python $(PYTHON) .venv
	@$(UV) pip sync -q --python $(RUN)/python --require-hashes requirements/dev.txt
	@$(UV) pip install -q --python $(RUN)/python --no-deps --no-build-isolation -e .
	@touch $@ $(BASE)

demo: $(BASE)  ## a GPU cluster's week, from metrics to each team's bill, in about a minute
	@$(RUN)/python -m cli demo $(ARGS)

test: $(DEV)  ## the tests (ARGS="-k name -n0" to narrow them); with CI set those that take patience too
	@$(RUN)/python -m pytest -m "not soak$(if $(CI),, and not patient)" $(ARGS)

coverage: $(DEV)  ## all of CI's tests, with the lines and branches that none of them reaches: twice the time
	@$(RUN)/python -m pytest -m "not soak" --cov --cov-report=term:skip-covered $(ARGS)

browser: $(DEV)  ## every page in Chromium: roles, tones, widths and states of the ledger, each two together
	@QM_BROWSER=pairwise $(RUN)/python -m pytest -n0 tests/dashboards/test_matrix.py $(ARGS)

browser-all: $(DEV)  ## the same in every combination: half an hour and more
	@QM_BROWSER=all $(RUN)/python -m pytest -n0 tests/dashboards/test_matrix.py $(ARGS)

screenshots: $(DEV)  ## the pages of the demo's ledger as pictures, into docs/images
	@$(RUN)/python -m tests.dashboards.screenshots $(ARGS)

servers:  ## build the real servers that tests use, once a version, with Go (ARGS="etcd kwok" for some)
	@$(PYTHON) -S -m tests.servers.build $(ARGS)

manifests: $(DEV)  ## render deploy/kustomize from the Helm chart, with helm of make servers
	@$(RUN)/python -m tests.install.render

cluster: $(DEV)  ## a Kubernetes control plane with fake GPU nodes, until Ctrl-C (ARGS="--nodes 8 --kueue")
	@$(RUN)/python -m tests.servers.cluster $(ARGS)

lint: $(DEV)  ## style, types, room walls, SQL
	@$(RUN)/ruff check . && $(RUN)/ruff format --check -q .
	@$(RUN)/basedpyright --level error
	@$(RUN)/lint-imports --no-logo
	@$(RUN)/sqlfluff lint --disable-progress-bar sql

format: $(DEV)  ## put the code in the house style
	@$(RUN)/ruff check --fix -q . ; $(RUN)/ruff format -q .

docs: $(DEV)  ## build the docs into dist/site, without a warning
	@NO_MKDOCS_2_WARNING=1 $(RUN)/mkdocs build --strict --quiet

bench: $(DEV)  ## measure speed against peers, into docs/performance.md (BENCH=parse for one)
	@$(RUN)/python -m bench $(BENCH)

soak: $(DEV)  ## the long crash campaign and the long differential tests
	@$(RUN)/python -m pytest -m soak -n0 $(ARGS)

lock: $(UV)  ## refresh requirements/*.txt from pyproject.toml, and the JupyterHub of the tests
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes pyproject.toml --group dev -o requirements/dev.txt
	$(UV) pip compile -q --universal --python-version 3.11 --generate-hashes pyproject.toml -c requirements/dev.txt -o requirements/base.txt
	echo jupyterhub | $(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -o tests/servers/hub.txt -

wheel: $(DEV)  ## build the wheel into dist/
	@$(UV) build -q --wheel --no-build-isolation --python $(RUN)/python -o dist .

clean:  ## remove the environment, caches and build results
	rm -rf .venv .uv dist .pytest_cache .ruff_cache .coverage .coverage.* .hypothesis .import_linter_cache quartermaster-demo
