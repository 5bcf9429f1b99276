# The commands of the project. Each installs what it needs and does only what is left to do.

PRESET ?= dev
JOBS ?= $(shell nproc)
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup build demo test test-long test-repeat test-python test-keras test-keras-older test-strangers test-asan test-tsan fuzz bench-eager bench-step bench-fit bench-gpu bench-python bench-loops gpu-pack format check docs release clean test-profile wheel test-wheel

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

setup: ## install the packages that Tandem is built from
	@tools/setup

# Ninja configures again when a CMake file changes; the presets are all it cannot see.
build/%/build.ninja: CMakePresets.json
	@cmake --preset $*
	@touch $@

build: setup ## build the library, the command and the tests (PRESET=dev, TARGETS=...)
	@$(MAKE) --no-print-directory build/$(PRESET)/build.ninja
	@cmake --build build/$(PRESET) --parallel $(JOBS) $(addprefix --target ,$(TARGETS))

demo: ## show the CPU and a second device working at the same time, from C++ and in a TensorFlow script
	@$(MAKE) --no-print-directory build PRESET=dev TARGETS="demo tandem_cli tandem_python"
	@if ! { [ -e build/dev/lib/libtandem_cuda.so ] && nvidia-smi -L >/dev/null 2>&1; }; then \
	  export TANDEM_EMULATE_GPUS="$${TANDEM_EMULATE_GPUS:-1}"; \
	fi; \
	build/dev/bin/demo && \
	printf '\n4. A script that was written for TensorFlow\n' && \
	PYTHONPATH=build/dev/python .venv/bin/python -m tandem run examples/cpu_and_gpu.py
	@printf '\nGo on with:\n  %s\n  %s\n  %s\n' \
	  'build/dev/bin/tandem doctor' \
	  'PYTHONPATH=build/dev/python .venv/bin/python -m tandem run YOUR_SCRIPT.py' \
	  'build/dev/bin/train_mlp        # after make build: training from C++'

test: ## build, run all tests, check format and layers
	@tools/run-tests dev python checks

test-long: ## all tests, with 100 rounds of kills, faults and soaks where `make test` has 5
	@TANDEM_LONG_TESTS=1 tools/run-tests dev python checks

fuzz: ## hostile calls, graphs, pipelines, structures and files (MINUTES=5 in all, ARGS="fuzz_ops")
	@-tools/setup fuzz
	@$(MAKE) --no-print-directory build PRESET=dev TARGETS="tandem_python tandem_cli op_test hostile_graph_test"
	@TANDEM_PACKAGE=$(CURDIR)/build/dev/python .venv/bin/python tests/fuzz/run --minutes $(or $(MINUTES),5) $(ARGS)

test-repeat: ## what make test built, N=100 times in random order beside load (ARGS="--only emulated")
	@tools/test-repeat -n $(or $(N),100) $(ARGS)

test-python: ## build, and run the tests of the Python package alone
	@tools/run-tests python

test-keras: ## Keras's own tests on Tandem, in an environment of their own (ARGS="--only=layers/core")
	@$(MAKE) --no-print-directory build PRESET=dev TARGETS=tandem_python
	@tools/keras-tests/run $(ARGS)

# The files whose subject is Keras.
KERAS_FILES = keras fit fit_loop functions_in_models saving_files mixed_precision random_models recurrent

test-keras-older: ## the Python tests about Keras with the older minor version that is in the range
	@$(MAKE) --no-print-directory build PRESET=dev TARGETS=tandem_python
	@[ -e .venv-keras-older/made ] || { .venv/bin/python -m venv .venv-keras-older && \
	  grep -E '^(numpy|ml-dtypes|optree|diastatic-malt|protobuf|pytest|pillow|hypothesis|mpmath)=' requirements.txt > build/keras-older.txt && \
	  .venv-keras-older/bin/pip install -q -r build/keras-older.txt 'keras==3.14.*' && touch .venv-keras-older/made; }
	@.venv-keras-older/bin/python -m pytest -q $(KERAS_FILES:%=tests/python/test_%.py) $(ARGS)

test-strangers: ## other people's suites on Tandem, in an environment of their own (ARGS="dm-sonnet --sample=50")
	@$(MAKE) --no-print-directory build PRESET=dev TARGETS=tandem_python
	@tools/test-strangers $(ARGS)

test-profile: ## the pages of TensorBoard's profile plugin for a fit, in an environment of their own
	@$(MAKE) --no-print-directory build PRESET=dev TARGETS=tandem_python
	@[ -e .venv-xprof/xprof ] || { python3 -m venv .venv-xprof && .venv-xprof/bin/pip install -q xprof==2.24.2 tensorboard && touch .venv-xprof/xprof; }
	@TANDEM_XPROF=$(CURDIR)/.venv-xprof/bin/python TANDEM_PACKAGE=$(CURDIR)/build/dev/python .venv/bin/python -m pytest -q tests/python/test_profile_pages.py $(ARGS)

test-asan: ## all tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/run-tests asan

test-tsan: ## the asynchronous tests under ThreadSanitizer
	@tools/run-tests tsan

bench-eager: ## eager execution beside PyTorch and TensorFlow (ARGS="--quick --cases=add,conv")
	@$(MAKE) --no-print-directory build PRESET=release TARGETS=bench_eager
	@bench/eager/run.py $(ARGS)

bench-step: ## training steps beside TensorFlow, JAX and PyTorch (ARGS="--quick --cases=mlp,cnn")
	@$(MAKE) --no-print-directory build PRESET=release TARGETS=bench_step
	@bench/step/run.py $(ARGS)

bench-fit: ## training of Keras models beside TensorFlow, JAX and PyTorch (ARGS="--quick --cases=mlp")
	@$(MAKE) --no-print-directory build PRESET=release TARGETS=tandem_python
	@bench/fit/run.py $(ARGS)

bench-gpu: ## on a GPU: training steps beside PyTorch and JAX, single ops, fit (ARGS="--quick")
	@$(MAKE) --no-print-directory build PRESET=release TARGETS="bench_gpu tandem_cuda tandem_python"
	@bench/gpu/run.py $(ARGS)
	@bench/gpu/ops.py $(ARGS)
	@bench/fit/run.py --device gpu --peers jax,torch --cases fit $(ARGS)

gpu-pack: ## everything a GPU machine without registries needs, built here (tools/gpu/README.md)
	@tools/gpu/pack $(ARGS)

gpu-%: ## gpu-NAME: one check on a GPU machine; tools/gpu/check --list names them
	@tools/gpu/check $*

bench-python: ## small eager ops from Python beside PyTorch and TensorFlow
	@$(MAKE) --no-print-directory build PRESET=release TARGETS=tandem_python
	@bench/python/run.py $(ARGS)

bench-loops: ## loops of data-dependent length and their gradients beside TensorFlow and JAX (ARGS="--cases=gradient")
	@$(MAKE) --no-print-directory build PRESET=release TARGETS=tandem_python
	@bench/loops/run.py $(ARGS)

format: setup ## rewrite all C++ files with clang-format
	@tools/check-format --fix

check: setup ## check format, layers and the figures of the pages, change nothing
	@tools/check-format
	@tools/check-layers
	@tools/check-pages

docs: ## write docs/ops.md from the op table, and the figures of the pages from docs/facts
	@$(MAKE) --no-print-directory build PRESET=dev TARGETS="tandem_cli tandem_python"
	@build/dev/bin/tandem ops --markdown > build/ops.md
	@mv build/ops.md docs/ops.md
	@PYTHONPATH=build/dev/python .venv/bin/python tools/name-facts
	@tools/check-pages --write

release: ## optimised build, installed under build/release/install
	@$(MAKE) --no-print-directory build PRESET=release
	@cmake --install build/release --prefix build/release/install > build/release/install.log
	@echo "installed in build/release/install"

wheel: setup ## wheels for Python 3.11 to 3.14 and the source distribution, into dist/ (ARGS="--python 3.12")
	@python3 tools/wheel/build $(ARGS)

test-wheel: ## the wheels of dist/, each in a root without compiler, libraries and network (ARGS="--python 3.12")
	@python3 tests/wheel/run $(ARGS)

clean: ## remove everything that was built (.venv stays)
	@rm -rf build
