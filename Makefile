# petri: one Makefile, for GNU make.  `make help` lists the targets.
#   V=1 shows commands; WERROR=1 makes warnings errors; T='filters' picks tests whose path holds one,
#   X='filters' leaves them out.

MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:

ifneq ($(filter deps,$(MAKECMDGOALS)),)
# ---- `make deps GOALS`: the goals come after deps, in a fresh make that sees what deps installed ----
AFTER := $(filter-out deps,$(MAKECMDGOALS))
# As many jobs as processors, unless the command line says how many.
JOBS = $(if $(filter -j%,$(filter-out --%,$(MAKEFLAGS))),,-j$(shell nproc))

.NOTPARALLEL:
.PHONY: deps $(AFTER)
# petri starts without model and task: before `run` alone their absence is only told.
deps:
	@assets/packages
	@assets/fetch $(if $(filter run,$(AFTER)),|| [ '$(AFTER)' = run ])

$(AFTER): deps
	+@$(MAKE) $(JOBS) $@

else

CC ?= cc
ifeq ($(origin CC),default)
CC := gcc
endif
OUT ?= build
PKGS := openblas jansson libutf8proc libcrypto sqlite3 ncursesw libpcre2-8
ifneq ($(filter-out clean help fetch t5 smol tasks uninstall,$(or $(MAKECMDGOALS),all)),)
ifneq ($(shell pkg-config --exists $(PKGS) 2>/dev/null && echo yes),yes)
$(error libraries are missing ($(PKGS)); `make deps` installs them)
endif
# No pkg-config file of its own.
ifneq ($(shell echo '\#include <libstemmer.h>' | $(CC) -E - >/dev/null 2>&1 && echo yes),yes)
$(error libstemmer is missing; `make deps` installs it)
endif
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS))
PKG_LIBS := $(shell pkg-config --libs $(PKGS))
TEST_LIBS := $(shell pkg-config --libs cmocka 2>/dev/null)
# bfloat16 products; its version 2 has no pkg-config file.  `make DNNL=0` builds without it.
DNNL_FOUND := off
ifneq ($(DNNL),0)
ifeq ($(shell echo '\#include <oneapi/dnnl/dnnl.h>' | $(CC) -E - >/dev/null 2>&1 && echo yes),yes)
DNNL_FOUND := on
PKG_CFLAGS += -DPETRI_DNNL
PKG_LIBS += -ldnnl -lgomp
endif
endif
endif

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wnull-dereference \
	-Wpointer-arith -Wformat=2
ifdef WERROR
WARN += -Werror
endif
OPT ?= -O2 -g
CFLAGS_ALL = -std=gnu11 -D_GNU_SOURCE $(OPT) -pthread -ffp-contract=off $(WARN) -I. -I$(OUT) $(PKG_CFLAGS) $(SAN) $(CFLAGS)
LDFLAGS_ALL = -pthread $(SAN) $(LDFLAGS)
LIBS = $(PKG_LIBS) -lstemmer -lm

# Vector kernels are compiled for three processors and picked when the program starts (core/engine/kernel.c).  Multiplications and
# additions are fused where the source says so (core/engine/lanes_body.h), never by the compiler: -ffp-contract=off above.
KERNEL_FLAGS := -O3 -fno-math-errno -fno-trapping-math

ifndef V
Q := @
SAY = @printf '  %-5s %s\n'
else
Q :=
SAY = @:
endif

CORE := $(sort $(wildcard core/*/*.c core/*/*/*.c))
LIB := $(CORE) $(sort $(wildcard store/*.c views/*.c)) $(sort $(wildcard app/*/*.c app/*/*/*.c))
HELP := $(sort $(wildcard tests/support/*.c))

obj = $(patsubst %.c,$(OUT)/f/%.o,$(1))
dobj = $(patsubst %.c,$(OUT)/d/%.o,$(1))

.PHONY: all run test test-slow bench asan tsan cppcheck lint strings fuzz deps fetch t5 smol tasks miniature pictures install uninstall deb clean help
all: petri ## build ./petri

petri: $(OUT)/petri
	$(Q)cp -f $< $@

run: petri ## start petri
	$(Q)./petri

$(OUT)/petri: $(call obj,app/main.c) $(OUT)/libpetri.a
	$(SAY) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)
	@echo '$(LIBS)' >$(OUT)/libs

# Everything but main, archived by reference, so that each program links only what it uses.
$(OUT)/libpetri.a: $(call obj,$(LIB))
$(OUT)/libpetri-d.a: $(call dobj,$(CORE))
$(OUT)/%.a:
	@rm -f $@
	$(Q)ar rcsDT $@ $^

$(OUT)/f/core/model/gguf_blocks.o $(OUT)/d/core/model/gguf_blocks.o: EXTRA = $(KERNEL_FLAGS)
$(OUT)/f/core/engine/kernel%.o: EXTRA = $(KERNEL_FLAGS)
$(OUT)/d/core/engine/kernel%.o: EXTRA = $(KERNEL_FLAGS)
$(OUT)/f/core/analysis/pairs%.o: EXTRA = $(KERNEL_FLAGS)
$(OUT)/d/core/analysis/pairs%.o: EXTRA = $(KERNEL_FLAGS)
# With or without oneDNN: the name of this file changes with it, so that an existing build follows.
$(OUT)/dnnl.$(DNNL_FOUND):
	@mkdir -p $(@D)
	@rm -f $(OUT)/dnnl.on $(OUT)/dnnl.off
	@touch $@
$(OUT)/f/core/engine/dnnl.o $(OUT)/d/core/engine/dnnl.o: $(OUT)/dnnl.$(DNNL_FOUND)

# GCC takes the instruction set from a pragma in the file; clang takes it from here.
ifneq ($(and $(findstring clang,$(CC)),$(findstring x86_64,$(shell uname -m))),)
$(OUT)/%/core/engine/kernel_avx2.o $(OUT)/%/core/analysis/pairs_avx2.o: EXTRA = $(KERNEL_FLAGS) -mavx2 -mfma -mbmi2 \
	-Wno-unknown-pragmas
$(OUT)/%/core/engine/kernel_avx512.o $(OUT)/%/core/analysis/pairs_avx512.o: EXTRA = $(KERNEL_FLAGS) -mavx512f \
	-mavx512dq -mavx512bw -mavx512vl -mfma -mbmi2 -Wno-unknown-pragmas
endif

# What a sanitizer looks for is in the program; the tests' own code need not be fast there, but be there soon.
$(OUT)/f/tests/%.o: EXTRA = $(if $(SAN),-O0)

# Presets are put into the program as they are.
$(OUT)/f/core/method/presets.o $(OUT)/d/core/method/presets.o: $(wildcard assets/presets/*.json)

# The headers of the screens' states, by the list of screens.
SCREENS := $(OUT)/views/screens.h
$(SCREENS): views/keys.h
	@mkdir -p $(@D)
	$(Q)sed -nE 's|^    _\([A-Z]+, ([a-z]+)\).*|#include "views/\1.h"|p' $< >$@

$(OUT)/f/%.o: %.c | $(SCREENS)
	$(SAY) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(EXTRA) -MMD -MP -c -o $@ $<

$(OUT)/d/%.o: %.c | $(SCREENS)
	$(SAY) 'CC d' $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(EXTRA) -DPETRI_DOUBLE -MMD -MP -c -o $@ $<

-include $(wildcard $(foreach d,* */* */*/*,$(OUT)/[fd]/$(d)/*.d))

# ---- tests: one program a *_test.c; *_dtest.c are linked with the double build of core ----
# Threads are the same in double, so races are looked for without that build.
KINDS := _test $(if $(findstring thread,$(SAN)),,_dtest)
TESTS := $(patsubst tests/%.c,%,$(sort $(foreach k,$(KINDS),$(wildcard tests/*/*$(k).c tests/*/*/*$(k).c))))
UNKNOWN := $(strip $(foreach f,$(T) $(X),$(if $(findstring $(f),$(TESTS)),,$(f))))
ifneq ($(UNKNOWN),)
$(error no test has $(UNKNOWN) in its path)
endif
holding = $(foreach t,$(TESTS),$(if $(strip $(foreach f,$(1),$(findstring $(f),$(t)))),$(t)))
PICKED := $(filter-out $(call holding,$(X)),$(if $(T),$(call holding,$(T)),$(TESTS)))

$(OUT)/tests/%_test: $(OUT)/f/tests/%_test.o $(call obj,$(HELP)) $(OUT)/libpetri.a
	$(SAY) LINK $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS) $(TEST_LIBS)

# What measures petri; one test and one story use its parts.
BENCH := $(call obj,$(filter-out %/main.c %_test.c,$(wildcard tests/bench/*.c)))
$(OUT)/tests/bench/bench_test $(OUT)/tests/app/session/stories_test: $(BENCH)

$(OUT)/bench: $(call obj,tests/bench/main.c) $(BENCH) $(OUT)/libpetri.a
	$(SAY) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

$(OUT)/tests/%_dtest: $(OUT)/d/tests/%_dtest.o $(call dobj,$(HELP)) $(OUT)/libpetri-d.a
	$(SAY) LINK $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) $(TEST_LIBS)

.SECONDARY: $(foreach f,obj dobj,$(call $(f),$(wildcard tests/*/*.c tests/*/*/*.c)))

test: $(if $(filter build,$(OUT)),petri,$(OUT)/petri) $(addprefix $(OUT)/tests/,$(PICKED)) ## run the tests (T='filters')
	$(Q)tests/run $(OUT) $(PICKED)

# The reference environment's Python (tests/reference/README.md); without it the comparisons are skipped.
PEER := $(or $(PETRI_PEER_PYTHON),$(wildcard .venv/bin/python))

test-slow: petri ## the tests that take hours, all of them for memory, races on the screen, fresh Debian roots, PyTorch where its environment is there
	$(Q)PETRI_SLOW=1 TEST_TIMEOUT=36000 PETRI_PEER_PYTHON=$(PEER) $(MAKE) test
	$(Q)TEST_TIMEOUT=36000 $(MAKE) asan
	$(Q)$(MAKE) tsan T=session/terminal
	$(Q)if command -v clang >/dev/null; then $(MAKE) test CC=clang OUT=build-clang T='engine/kernel analysis/pairs'; \
	else echo 'test-slow: clang is not installed'; fi
	$(Q)tests/fresh
	$(Q)$(MAKE) deb && tests/deb $(OUT)/deb/*.deb
	$(Q)tests/reference/catalogue
	$(Q)PETRI_PEER_PYTHON=$(PEER) tests/reference/slow

bench: $(OUT)/petri $(OUT)/bench ## speed: petri alone, then beside PyTorch where its environment is there
	$(Q)$(OUT)/bench
	$(Q)$(OUT)/bench --history
	$(Q)$(OUT)/bench --keys
	$(Q)$(if $(PEER),$(PEER) tests/reference/compare_bench.py && $(PEER) tests/reference/compare_tsne.py,echo 'bench: PyTorch is not compared: see tests/reference/README.md')

# ---- checks ----
asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer (T='filters')
	$(Q)UBSAN_OPTIONS=print_stacktrace=1 $(MAKE) test OUT=build-asan OPT='-O1 -g1' \
		SAN='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer'

tsan: ## the tests with threads under ThreadSanitizer (T='filters')
	$(Q)TSAN_OPTIONS='halt_on_error=1 second_deadlock_stack=1' $(MAKE) test OUT=build-tsan OPT='-O1 -g1' \
		SAN='-fsanitize=thread -fno-omit-frame-pointer' T='$(or $(T),train/ store/ base/crew app/jobs app/insight app/history/history)'

# Left out: what is style here, and what the analyser gets wrong as it takes va_list for unset on this processor
# and does not know that an error code is never 0.
TIDY := -*,clang-analyzer-*,-clang-analyzer-security.insecureAPI.*,-clang-analyzer-valist.*,-clang-analyzer-core.*
TIDY := $(TIDY),-clang-analyzer-unix.Malloc,-clang-analyzer-optin.performance.*,bugprone-*,-bugprone-branch-clone
TIDY := $(TIDY),-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions,-bugprone-macro-parentheses
TIDY := $(TIDY),-bugprone-implicit-widening-of-multiplication-result,-bugprone-suspicious-string-compare
TIDY := $(TIDY),-bugprone-sizeof-expression,-bugprone-not-null-terminated-result,-bugprone-integer-division
TIDY := $(TIDY),-bugprone-posix-return,-bugprone-suspicious-missing-comma

# Loops of Jansson for cppcheck, which does not read the headers of libraries.
JANSSON_LOOPS := $(foreach m,object array,-D'json_$(m)_foreach(in,key,value)=while (json_next(in, &key, &value))')

cppcheck: $(SCREENS) ## part of lint: cppcheck where installed
	$(Q)if command -v cppcheck >/dev/null; then \
		cppcheck -q -j2 --std=c11 -D_GNU_SOURCE $(JANSSON_LOOPS) -I. -I$(OUT) --error-exitcode=1 --inline-suppr --enable=warning,performance \
			--suppress=missingIncludeSystem --suppress=invalidFunctionArg \
			--suppress=uninitvar --suppress=uninitStructMember app core store views; \
	else echo 'lint: cppcheck is not installed'; fi

lint: $(SCREENS) ## the source rules, then cppcheck and clang-tidy where installed
	$(Q)tests/lint
	$(Q)$(MAKE) cppcheck
	$(Q)if command -v clang-tidy >/dev/null; then \
		printf '%s\n' $(LIB) app/main.c | xargs -P2 -n4 sh -c 'clang-tidy --quiet --warnings-as-errors="*" \
			--checks="$(TIDY)" "$$@" -- -std=gnu11 -D_GNU_SOURCE -I. -I$(OUT) $(PKG_CFLAGS) 2>/dev/null' sh; \
	else echo 'lint: clang-tidy is not installed'; fi

strings: ## every user-visible string with its place, into build/strings.txt
	$(Q)mkdir -p $(OUT)
	$(Q)tests/words --strings >$(OUT)/strings.txt
	@echo "$$(wc -l <$(OUT)/strings.txt) strings in $(OUT)/strings.txt"

# One program a tests/fuzz/NAME.c; tests/fuzz/seeds/NAME/ holds its first inputs, what is found stays in build-fuzz.
FUZZ := $(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/*.c)))
FUZZ_SECONDS ?= 60
FUZZ_SAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

fuzz: ## fuzz the readers of strangers' files (clang; FUZZ_SECONDS=60 each)
	$(Q)$(MAKE) fuzz-run CC=clang OUT=build-fuzz OPT='-O1 -g' SAN='-fsanitize=fuzzer-no-link $(FUZZ_SAN)'

.PHONY: fuzz-run
fuzz-run: $(addprefix $(OUT)/fuzz/,$(FUZZ))
	$(Q)for f in $(FUZZ); do \
		mkdir -p $(OUT)/corpus/$$f; seeds=tests/fuzz/seeds/$$f; [ -d $$seeds ] || seeds=; \
		echo "fuzz: $$f, $(FUZZ_SECONDS) s"; \
		$(OUT)/fuzz/$$f -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -verbosity=0 \
			-print_final_stats=1 -artifact_prefix=$(OUT)/$$f- $(OUT)/corpus/$$f $$seeds || exit 1; \
	done

$(OUT)/fuzz/%: $(OUT)/f/tests/fuzz/%.o $(OUT)/libpetri.a
	$(SAY) LINK $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -fsanitize=fuzzer -o $@ $^ $(LIBS) $(TEST_LIBS)

# ---- set-up ----
deps: ## first, on a new machine: install packages, fetch model and task (the branch at the top)

fetch: ## fetch the default model and task where absent
	$(Q)assets/fetch

t5: ## fetch flan-t5-small (68 MB) as a model folder
	$(Q)assets/t5

smol: ## fetch SmolLM2-135M-Instruct (93 MB) as a GGUF file in assets/models/smollm2
	$(Q)assets/fetch smollm2

tasks: ## unpack three further tasks, and make two of Debian package lists
	$(Q)assets/more-tasks

# The model comes to lie in build; what is committed was made so.
MINI := $(OUT)/miniature
miniature: $(OUT)/petri ## make again, of apt's package lists, assets/tasks/sections and (an hour) build/miniature/petri-mini
	$(Q)mkdir -p $(MINI)
	$(Q)assets/miniature sections
	$(Q)assets/miniature corpus $(MINI)/corpus.txt $(MINI)/held-out.txt
	$(Q)$(OUT)/petri pretrain --db $(MINI)/petri.db --text $(MINI)/corpus.txt --dev $(MINI)/held-out.txt \
		--out $(MINI)/petri-mini --dtype f16 --layers 3 --width 128 --heads 4 --vocab 4500 --whole-words on --steps 36000 \
		--batch 64 --lr 0.001 --warmup 0.03 --eval-steps 1000 --shards 2 --precision f32 --seed 1

pictures: petri ## draw the README's pictures anew, as SVG, from two short runs trained for them
	$(Q)docs/pictures/make

# ---- installation: below PREFIX, packed below DESTDIR ----
PREFIX ?= /usr/local
TO = $(DESTDIR)$(PREFIX)
# Debian's zsh reads packages' completions from a folder of its own, and those of the administrator below /usr/local.
ZSH := zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)/_petri
MADE := man/man1/petri.1 bash-completion/completions/petri $(ZSH) fish/vendor_completions.d/petri.fish
DOCS := README.md LICENSE $(wildcard docs/*.md docs/*.json docs/pictures/*.svg)
# Of assets: experiments, lessons, the model and tasks that are part of petri, and what fetches others.
OWN := fetch t5 more-tasks tasks/reviews.sha256 $(patsubst assets/%,%,$(wildcard $(addprefix assets/,experiments/*.json \
	lessons/*.lesson lessons/*/* models/petri-mini/* $(patsubst %,tasks/%/*,sections games-sound admin-net science-text))))
SHARED := $(MADE) $(DOCS:%=doc/petri/%) $(OWN:%=petri/%)

install: $(OUT)/petri ## install petri, its man page, completions and documentation (PREFIX=/usr/local DESTDIR=)
	$(Q)mkdir -p $(addprefix $(OUT)/share/,$(dir $(MADE)))
	$(Q)$(OUT)/petri help --man >$(OUT)/share/man/man1/petri.1
	$(Q)$(OUT)/petri help --completion bash >$(OUT)/share/bash-completion/completions/petri
	$(Q)$(OUT)/petri help --completion zsh >$(OUT)/share/$(ZSH)
	$(Q)$(OUT)/petri help --completion fish >$(OUT)/share/fish/vendor_completions.d/petri.fish
	$(Q)install -D -m 755 $(OUT)/petri '$(TO)/bin/petri'
	$(Q)put() { if [ -x "$$1" ]; then install -D "$$1" "$$2"; else install -D -m 644 "$$1" "$$2"; fi; }; \
	for f in $(MADE); do put "$(OUT)/share/$$f" "$(TO)/share/$$f" || exit 1; done; \
	for f in $(DOCS); do put "$$f" "$(TO)/share/doc/petri/$$f" || exit 1; done; \
	for f in $(OWN); do put "assets/$$f" "$(TO)/share/petri/$$f" || exit 1; done

deb: $(OUT)/petri ## make a Debian package of petri in build/deb
	$(Q)command -v dpkg-deb >/dev/null || { echo 'make deb: dpkg-deb is missing: this makes packages of Debian and its kin'; exit 1; }
	$(Q)rm -rf $(OUT)/deb
	$(Q)$(MAKE) --no-print-directory install PREFIX=/usr DESTDIR=$(OUT)/deb/root
	$(Q)assets/deb $(OUT)/petri $(OUT)/deb

# Folders that are empty then go too, up to share and share/man, but no file that somebody added.
uninstall: ## remove what `make install` put there
	$(Q)rm -f '$(TO)/bin/petri' $(patsubst %,'$(TO)/share/%',$(SHARED))
	$(Q)for d in $(patsubst %/,share/%,$(sort $(dir $(SHARED)))); do \
		while [ "$$d" != share ] && [ "$$d" != share/man ] && rmdir "$(TO)/$$d" 2>/dev/null; do d=$${d%/*}; done; done

clean: ## remove what was built
	$(Q)rm -rf build build-* petri

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

endif
