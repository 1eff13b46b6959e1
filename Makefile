# nod: a short front door; meson and ninja do the work.
#
#   make            build everything into build/release
#   make run        start an example over HTTP, and say what to do next
#   make test       all tests; SUITE=unit (or wire, conformance, fuzz, ...) for one folder of tests/
#   make soak       in full what the tests only sample: a million simulated worlds, 5,000 attackers, 300 rounds of chaos
#   make chaos      ROUNDS (300) rounds of calls on servers that are killed at random; SEED=n repeats one
#   make bench      print the benchmarks and write build/bench.json
#   make fuzz       each fuzz target for FUZZ_SECONDS (60)
#   make install    into PREFIX (/usr/local), below DESTDIR
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
	ninja -C build/release examples/$(EXAMPLE)
	@printf '%s\n' '' '$(EXAMPLE) listens on http://$(ADDRESS)/mcp; Ctrl-C ends it. What to do next:' \
	  '  - add it to your MCP client: { "mcpServers": { "nod": { "type": "http", "url": "http://$(ADDRESS)/mcp" } } }' \
	  '  - or look at it in a browser: npx @modelcontextprotocol/inspector' \
	  '  - then let your assistant call its tools, and give your nod when you are asked' \
	  '  - and read examples/$(EXAMPLE).c: it says what you will see, and how it is done' ''
	@exec build/release/examples/$(EXAMPLE) --http $(ADDRESS)

test: build/.setup-all
	scripts/test $(SUITE)

soak: build/.setup-all
	scripts/soak

chaos: build/.setup-all
	ROUNDS=$(ROUNDS) scripts/chaos

bench: build/.setup-all build/release/build.ninja
	ninja -C build/release
	bench/run build/release

fuzz: build/.setup-all
	FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz

install: all
	meson configure build/release -Dprefix=$(abspath $(PREFIX))
	DESTDIR=$(DESTDIR) meson install -C build/release

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
