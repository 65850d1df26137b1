# Every target installs what it needs into .venv; all it takes is make and Python 3.11 or newer.
# Another Python, in an environment of its own: make PYTHON=/path/to/python3.13 VENV=.venv-3.13 test

PYTHON ?= python3
VENV ?= .venv
SECONDS ?= 60
NUMBER ?= 200
BIN := $(VENV)/bin
# BLAS threads only wait for one another where matrices are small or other processes share the cores.
# Tests start many processes: bytecode is kept, even where the environment says not to.
ONE := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
PIP_INSTALL := -m pip install --quiet --quiet --disable-pip-version-check --editable

.PHONY: demo lab npm test test-lab test-page test-page-full test-postgres test-postgres-full test-spark test-spark-full test-elsewhere lint test-full mutants mutations audits fuzz wheel oracles bench bench-ratios bench-scale bench-spark bench-als bench-sgd bench-top-n rivals tables picture docs clean

demo: $(VENV)/.curator      ## private recommenders on generated clicks, offline
	@rm -rf demo
	@$(ONE) $(BIN)/hushrec demo

test: $(VENV)/.dev          ## the fast tests, which need Python alone
	@$(ONE) $(BIN)/python -m pytest -m "not full and not page and not postgres and not spark" -n 2 --ignore tests/test_docs.py
	@echo "Left out: the documentation (make lint), the page in Node and Chromium, the site on nginx and Caddy (make test-page), PostgreSQL (make test-postgres), Spark (make test-spark), and long runs (make test-full)"

lab: $(VENV)/.lab           ## the laboratory: python -m lab reproduces papers, runs grids and benchmarks

test-lab: $(VENV)/.dev $(VENV)/.lab      ## the fast tests of the laboratory
	@$(ONE) $(BIN)/python -m pytest -m "not full" -n 2 lab/tests

PAGE_PACKAGES := tests/packages.sh node=nodejs npm=npm tsc=node-typescript esbuild=esbuild chromium=chromium /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf=fonts-dejavu-core /usr/sbin/nginx=nginx caddy=caddy php=php-cli
test-page: $(VENV)/.dev $(VENV)/.page  ## the clients in Node and PHP, the page in Chromium, the site on nginx and Caddy, all from Debian's packages
	@$(PAGE_PACKAGES)
	@$(ONE) $(BIN)/python -m pytest -m "page and not full" -n 2

test-page-full: $(VENV)/.dev $(VENV)/.page  ## the same, with every kind of document, hostile files and planted faults
	@$(PAGE_PACKAGES)
	@$(ONE) $(BIN)/python -m pytest -m page -n 2

test-postgres: $(VENV)/.dev  ## the ledger and the readers on a PostgreSQL server, installed from Debian's packages
	@tests/packages.sh '/usr/lib/postgresql/*/bin/postgres=postgresql'
	@$(ONE) $(BIN)/python -m pytest -m "postgres and not full" -n 2

test-postgres-full: $(VENV)/.dev  ## the same, and rounds of crashes and kills
	@tests/packages.sh '/usr/lib/postgresql/*/bin/postgres=postgresql'
	@$(ONE) $(BIN)/python -m pytest -m postgres -n 2

test-spark: $(VENV)/.dev $(VENV)/.spark  ## a small case on Spark, with Java installed from Debian's packages
	@tests/packages.sh java=default-jre-headless
	@$(ONE) $(BIN)/python -m pytest -m "spark and not full"

test-spark-full: $(VENV)/.dev $(VENV)/.spark  ## all of Spark: partitions, lost executors, speculation
	@tests/packages.sh java=default-jre-headless
	@$(ONE) $(BIN)/python -m pytest -m spark

lint: $(VENV)/.dev $(VENV)/.lab  ## style, types, layers, documentation
	@$(BIN)/ruff check --quiet --output-format concise .
	@$(BIN)/ruff format --check --quiet . || { echo "run $(BIN)/ruff format"; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m pytest tests/test_docs.py

test-full: $(VENV)/.dev $(VENV)/.lab  ## all tests, with the statistical ones, the audits of all models, and the oracles
	@$(ONE) $(BIN)/python -m pytest -m "not page and not postgres and not spark" -n 2 --dist worksteal tests lab/tests
	@$(MAKE) --no-print-directory test-page-full test-postgres-full test-spark-full mutants oracles test-elsewhere wheel
	@echo "make test-full: everything passed"

mutants: $(VENV)/.dev $(VENV)/.lab       ## faults planted one at a time: the fast tests must catch each
	@$(BIN)/python tests/mutants/run.py

mutations: $(VENV)/.dev $(VENV)/.lab $(VENV)/.mutations  ## before a release: NUMBER= faults at random in privacy/ and sums/; read what survives
	@$(BIN)/python tests/mutants/at_random.py --number $(NUMBER)

audits: $(VENV)/.dev        ## audits of every model and every planted fault, written into docs/audit.md and lab/attacks/planted.md
	@$(BIN)/python docs/audits.py

fuzz: $(VENV)/.dev          ## hostile files against all readers, SECONDS= each
	@tests/packages.sh node=nodejs
	@$(BIN)/python tests/fuzz/fuzz.py ratings $(SECONDS)
	@$(BIN)/python tests/fuzz/fuzz.py releases $(SECONDS)
	@$(BIN)/python tests/fuzz/fuzz.py clients $(SECONDS)

wheel: $(VENV)/.dev         ## the wheel, built, installed bare and whole into empty environments, and tried there
	@$(ONE) $(BIN)/python tests/wheel/run.py

DTS := --allowJs --declaration --emitDeclarationOnly --target es2022 --module node16 --moduleResolution node16
DIST ?= dist
npm:                        ## the client in JavaScript as a package of npm with types, packed in dist/
	@tests/packages.sh npm=npm tsc=node-typescript
	@rm -rf $(DIST)/npm && mkdir -p $(DIST)/npm
	@cp LICENSE src/hushrec/javascript/*.js src/hushrec/javascript/package.json $(DIST)/npm
	@tsc $(DTS) $(DIST)/npm/*.js
	@npm pack --silent --pack-destination $(DIST) $(abspath $(DIST)/npm)

oracles: .venv-oracles/.oracles  ## our accountant against dp-accounting and autodp, our metrics against ranx
	@.venv-oracles/bin/python -m pytest tests/oracles

test-elsewhere: .venv-elsewhere/.lenskit .venv-rectools/.rectools  ## releases in LensKit, RecTools and PyTorch
	@$(ONE) RECTOOLS=$(CURDIR)/.venv-rectools/bin/python .venv-elsewhere/bin/python -m pytest tests/elsewhere

bench: $(VENV)/.lab-bench  ## speed beside others, each pair in one run: one table of rows and marks
	@$(BIN)/python -m lab bench bench bench

bench-ratios: $(VENV)/.dev $(VENV)/.lab  ## the four kernels beside peers, for half a minute: fails if one became slow
	@$(ONE) $(BIN)/python -m lab bench ratios

bench-scale: $(VENV)/.lab-bench  ## the same at 100 M ratings
	@$(BIN)/python -m lab bench bench scale

bench-spark: $(VENV)/.lab-bench $(VENV)/.spark  ## the same on Spark, with Java installed from Debian's packages
	@tests/packages.sh java=default-jre-headless
	@$(BIN)/python -m lab bench bench spark

bench-als: $(VENV)/.lab-bench $(VENV)/.lab-peers  ## alternating least squares beside lenskit, which brings torch along
	@$(BIN)/python -m lab bench als

bench-top-n: $(VENV)/.lab-bench  ## our rankers and those beside which they are judged, on MovieLens 1M, into results/top_n.csv
	@$(BIN)/python -m lab bench scoreboard lists --draws 5 --epsilon 0.5 1 2 4 8 20 --out results/top_n.csv

rivals: $(VENV)/.lab-bench .venv-mbi/.installed .venv-mostly/.installed  ## mbi and MOSTLY AI, in environments of their own, on MovieLens 100K
	@$(ONE) MBI=$(CURDIR)/.venv-mbi/bin/python MOSTLY=$(CURDIR)/.venv-mostly/bin/python $(BIN)/python -m lab bench scoreboard lists --only "mbi + EASE" "MOSTLY AI + EASE" --data ../shared/data/ml-100k.parquet --name "MovieLens 100K, likes" --people 100 --epsilon 1 4 --out results/rivals.csv

bench-sgd: $(VENV)/.lab-bench $(VENV)/.lab-sgd-peers  ## gradient descent beside LIBMF and cornac
	@$(BIN)/python -m lab bench sgd

tables: $(VENV)/.dev        ## the tables of models in README and docs, from the registry and the pages
	@$(BIN)/python docs/tables.py

picture: $(VENV)/.curator $(VENV)/.page  ## the README's picture: the demo's page with a list on it, in Debian's Chromium
	@tests/packages.sh chromium=chromium /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf=fonts-dejavu-core
	@$(ONE) $(BIN)/python -m lab.pages.picture

docs: $(VENV)/.docs $(VENV)/.lab  ## the documentation as pages, in site/
	@$(ONE) $(BIN)/python -m lab.pages.choosing picture
	@$(BIN)/python -m sphinx -W --keep-going -q docs site
	@echo "site/index.html"

clean:                    ## away with everything that make made
	rm -rf $(VENV) .venv-oracles .venv-elsewhere .venv-rectools .venv-mbi .venv-mostly site jupyter_execute build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

# Without them, LIBMF is built without vectors; setuptools takes one or the other, by its version.
$(VENV)/.lab-sgd-peers: export CFLAGS = -O3 -march=native -DUSEAVX
$(VENV)/.lab-sgd-peers: export CXXFLAGS = -O3 -march=native -DUSEAVX

# The laboratory's lists of packages, one stamp each.
$(VENV)/.lab: lab/requirements.txt | $(VENV)/bin/python
	@echo "Installing what the laboratory needs into $(VENV), once"
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -r $<
	@touch $@

$(VENV)/.lab-%: lab/requirements-%.txt $(VENV)/.lab
	@echo "Installing lab/requirements-$*.txt into $(VENV), once"
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -r $<
	@touch $@

$(VENV)/.mutations: tests/mutants/requirements.txt | $(VENV)/bin/python
	@echo "Installing cosmic-ray into $(VENV), once"
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check -r $<
	@touch $@

# One stamp an extra: pip runs when pyproject.toml changed, and not otherwise.
$(VENV)/.%: pyproject.toml | $(VENV)/bin/python
	@echo "Installing hushrec[$*] into $(VENV), once"
	@$(BIN)/python $(PIP_INSTALL) '.[$*]'
	@touch $@

# The oracles pin versions that the project's own tools outgrew: they live apart.
.venv-oracles/.%: pyproject.toml | .venv-oracles/bin/python
	@echo "Installing hushrec[$*] into .venv-oracles, once"
	@.venv-oracles/bin/python $(PIP_INSTALL) '.[$*]'
	@touch $@

# LensKit brings PyTorch, several GB with CUDA: TORCH= names another build, torch==2.13.0+cpu for example.
TORCH ?= torch
TO_EVALUATE := examples/evaluate_elsewhere/requirements
.venv-elsewhere/.lenskit: $(TO_EVALUATE)-lenskit.txt pyproject.toml | .venv-elsewhere/bin/python
	@echo "Installing LensKit, and the PyTorch that it needs, into .venv-elsewhere, once"
	@.venv-elsewhere/bin/python $(PIP_INSTALL) '.[curator]' -r $< $(TORCH) 'pytest>=8.4'
	@touch $@

.venv-rectools/.rectools: $(TO_EVALUATE)-rectools.txt | .venv-rectools/bin/python
	@echo "Installing RecTools, which cannot share numpy with hushrec, into .venv-rectools, once"
	@.venv-rectools/bin/python $(subst --editable,,$(PIP_INSTALL)) -r $<
	@touch $@

.venv-mbi/.installed: lab/requirements-mbi.txt | .venv-mbi/bin/python
	@.venv-mbi/bin/python -m pip install --quiet --quiet --disable-pip-version-check -r $<
	@touch $@

.venv-mostly/.installed: lab/requirements-mostly.txt | .venv-mostly/bin/python
	@.venv-mostly/bin/python -m pip install --quiet --quiet --disable-pip-version-check $(TORCH) -r $<
	@.venv-mostly/bin/python -m pip uninstall --quiet --yes torchvision torchaudio
	@touch $@

$(VENV)/bin/python $(patsubst %,.venv-%/bin/python,oracles elsewhere rectools mbi mostly):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "hushrec needs Python 3.11 or newer; say which: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv $(@D:/bin=)
