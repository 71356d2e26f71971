# make run [FILE=model.gguf]   open the window        make test    every check and test
# make bench                   print the benchmarks   make screenshot   draw the README's picture
# make bundle                  a folder and packages that run without Python, in dist/
# make translations            find the texts to translate, compile what is translated
# make clean                   forget the environment
PYTHON ?= python3
VENV ?= .venv
python := $(VENV)/bin/python

.PHONY: run test lint bench screenshot bundle translations clean

run: $(VENV)/.run
	@$(VENV)/bin/weighbridge $(if $(FILE),"$(FILE)")

test: lint
	QT_QPA_PLATFORM=offscreen $(python) -m pytest -n 2 --dist loadgroup -q

lint: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: $(VENV)/.test
	QT_QPA_PLATFORM=offscreen $(python) -m bench

screenshot: $(VENV)/.test
	PYTHONPATH=. $(python) packaging/make_screenshot.py packaging/screenshot.png

bundle: $(VENV)/.test
	$(python) packaging/make_bundle.py dist

translations: $(VENV)/.test
	$(python) packaging/make_translations.py

$(VENV)/.run: pyproject.toml constraints.txt packaging/linux/prepare.sh
	@sh packaging/linux/prepare.sh "$(PYTHON)"
	@test -x $(python) || $(PYTHON) -m venv $(VENV)
	$(python) -m pip install -q -c constraints.txt -e .
	@touch $@

$(VENV)/.test: $(VENV)/.run
	$(python) -m pip install -q -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info
