# Thin, over meson and tools/. `make` leaves the program at build/cadre; `make test` is the quick proof, `make check`
# the slow one. JOBS=n limits parallel work.
NINJA = ninja $(if $(JOBS),-j$(JOBS))

all:
	@tools/configure build
	@$(NINJA) -C build

install-deps:
	@tools/install-packages

test: install-deps
	@tools/test

check: install-deps
	@tools/check

demo: install-deps all
	@build/cadre demo

bench: install-deps all
	@if [ -x tests/bench/run ]; then tests/bench/run; else echo "there is no tests/bench/run"; exit 1; fi

format:
	@tools/sources src .[ch] | sed 's,^,src/,' | xargs -r clang-format -i
	@tools/sources tests .[ch] | sed 's,^,tests/,' | xargs -r clang-format -i

clean:
	@rm -rf build build-*

# The steps of a target follow each other; ninja does what can be done at once.
.NOTPARALLEL:
.PHONY: all install-deps test check demo bench format clean
