# nod: a short front door; meson and ninja do the work.
#
#   make            build the library, the program nod and the examples into build/release
#   make run        start an example over HTTP, and say what to do next
#   make test       all tests; SUITE=unit (or house, wire, conformance, fuzz, ...) for one suite of them
#   make soak       in full what the tests only sample: a million simulated worlds, 5,000 attackers, 300 rounds of chaos
#   make chaos      ROUNDS (300) rounds of calls on servers that are killed at random; SEED=n repeats one
#   make bench      print the benchmarks and write build/bench.json
#   make fuzz       each fuzz target for FUZZ_SECONDS (60)
#   make install    build the library and the program nod, and install them into PREFIX (/usr/local), below DESTDIR
#   make format     clang-format over the tree

PREFIX       ?= /usr/local
DESTDIR      ?=
SUITE        ?=
FUZZ_SECONDS ?= 60
ROUNDS       ?= 300
EXAMPLE      ?= delete-account
ADDRESS      ?= 127.0.0.1:8080

.PHONY: all run test soak chaos bench fuzz install format clean

all: build/release/build.ninja
	ninja -C build/release

run: build/release/build.ninja
	ninja -C build/release examples/$(EXAMPLE) src/cli/nod
	@exec scripts/run build/release/examples/$(EXAMPLE) $(ADDRESS)

test: build/.setup-all
	scripts/test $(SUITE)

soak: build/.setup-all
	scripts/soak

chaos: build/.setup-all
	ROUNDS=$(ROUNDS) scripts/chaos

bench: build/.setup-all build/release/build.ninja
	meson configure build/release -Dbenchmarks=true
	ninja -C build/release
	bench/run build/release

fuzz: build/.setup-all
	FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz

# The benchmarks and examples are not built for it. `lib` and not a folder of the architecture: so pkg-config and the loader
# find it in one place, whatever the machine.
install: build/release/build.ninja
	meson configure build/release -Dprefix=$(abspath $(PREFIX)) -Dlibdir=lib
	meson compile -C build/release nod:shared_library nod:static_library src/cli/nod:executable
	DESTDIR=$(DESTDIR) meson install -C build/release --no-rebuild

format:
	git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf build

# Runs once, and again when what is needed has changed.
build/.setup-%: scripts/setup package-lock.json
	@scripts/setup $*
	@mkdir -p build && touch $@

build/release/build.ninja: | build/.setup-run
	scripts/configure-release
