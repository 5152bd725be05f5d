# petri: one Makefile, GNU make, no generator.  `make help` lists the targets.
#   V=1 shows commands; WERROR=1 makes warnings errors; T=filter picks tests.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

CC ?= cc
ifeq ($(origin CC),default)
CC := gcc
endif
OUT ?= build
PKGS := openblas jansson libutf8proc libcrypto sqlite3 ncursesw
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS = $(shell pkg-config --libs $(PKGS) 2>/dev/null)
TEST_LIBS = $(shell pkg-config --libs cmocka 2>/dev/null)
CAIRO := $(shell pkg-config --exists cairo 2>/dev/null && echo yes)

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wnull-dereference \
	-Wpointer-arith -Wformat=2
ifdef WERROR
WARN += -Werror
endif
OPT ?= -O2 -g
CFLAGS_ALL = -std=gnu11 -D_GNU_SOURCE $(OPT) -pthread -ffp-contract=off $(WARN) -I. $(PKG_CFLAGS) $(SAN) $(CFLAGS)
LDFLAGS_ALL = -pthread $(SAN) $(LDFLAGS)
LIBS = $(PKG_LIBS) -lm

# Vector kernels are compiled for three processors and picked at run time (core/engine/vec.h).
KERNEL_FLAGS := -O3 -fno-math-errno -fno-trapping-math

ifndef V
Q := @
SAY = @printf '  %-5s %s\n'
else
Q :=
SAY = @:
endif

CORE := $(sort $(wildcard core/*/*.c))
STORE := $(sort $(wildcard store/*.c))
VIEWS := $(sort $(wildcard views/*.c))
APP := $(sort $(wildcard app/*.c))
TESTS := $(sort $(wildcard tests/*/*_test.c))
DTESTS := $(sort $(wildcard tests/*/*_dtest.c))
TEST_HELP := $(sort $(wildcard tests/support/*.c))

obj = $(patsubst %.c,$(OUT)/f/%.o,$(1))
dobj = $(patsubst %.c,$(OUT)/d/%.o,$(1))

APP_MAIN := app/main.c
LIB_OBJ = $(call obj,$(CORE) $(STORE) $(VIEWS) $(filter-out $(APP_MAIN),$(APP)))
DLIB_OBJ = $(call dobj,$(CORE))

.PHONY: all run test test-slow bench asan tsan lint fuzz deps fetch clean help
all: petri

petri: $(OUT)/petri
	$(Q)cp -f $< $@

$(OUT)/petri: $(LIB_OBJ) $(call obj,$(APP_MAIN))
	$(SAY) LINK $@
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS)

$(OUT)/f/core/engine/kernel%.o: EXTRA = $(KERNEL_FLAGS)
$(OUT)/d/core/engine/kernel%.o: EXTRA = $(KERNEL_FLAGS)

$(OUT)/f/%.o: %.c
	$(SAY) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(EXTRA) -MMD -MP -c -o $@ $<

$(OUT)/d/%.o: %.c
	$(SAY) 'CC d' $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(EXTRA) -DPETRI_DOUBLE -MMD -MP -c -o $@ $<

-include $(wildcard $(OUT)/f/*/*.d $(OUT)/f/*/*/*.d $(OUT)/d/*/*.d $(OUT)/d/*/*/*.d)

# ---- tests: one program a *_test.c; *_dtest.c are linked with the double build of core ----
TEST_BIN := $(patsubst tests/%.c,$(OUT)/tests/%,$(TESTS) $(DTESTS))

$(OUT)/tests/%_test: $(OUT)/f/tests/%_test.o $(LIB_OBJ) $(call obj,$(TEST_HELP))
	$(SAY) LINK $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) $(TEST_LIBS)

$(OUT)/tests/%_dtest: $(OUT)/d/tests/%_dtest.o $(DLIB_OBJ) $(call dobj,$(TEST_HELP))
	$(SAY) LINK $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LIBS) $(TEST_LIBS)

.SECONDARY:

# T=filter runs the test programs whose path holds the filter.
test: petri $(TEST_BIN)
	$(Q)tests/run $(OUT) $(T)

clean:
	$(Q)rm -rf $(OUT) petri
