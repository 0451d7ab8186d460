# Fence. `make help` lists what can be made; the README says what it is for.
#
# All that is built lies under $(BUILD). A variant is the same build in another
# folder, never the same folder with other switches:
#   make BUILD=build/x EXTRA_CXXFLAGS=-fsanitize=address EXTRA_LDFLAGS=-fsanitize=address sqlite
#   make BUILD=build/x WITHOUT=guard,doom sqlite   without these protective layers (core/layer.h)
#   make BUILD=build/x FAILPOINTS=1 sqlite         can be killed at named points

VERSION := 0.1.0
BUILD := build
WITHOUT :=
FAILPOINTS :=

# Debian's own Python: another one on PATH may lack sqlite3's extension loading.
PYTHON := /usr/bin/python3
JOBS := $(shell nproc)
comma := ,

# ---- compiling -------------------------------------------------------------

WARNINGS := -Wall -Wextra -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wundef -Wformat=2 \
  -Wnon-virtual-dtor -Woverloaded-virtual
CXXFLAGS ?= -O2 -g
DEFINES := -DFENCE_VERSION='"$(VERSION)"' \
  $(if $(WITHOUT),-DFENCE_WITHOUT=Layer::$(subst $(comma),$(comma)Layer::,$(WITHOUT))) \
  $(if $(FAILPOINTS),-DFENCE_FAILPOINTS)
COMMON = -std=c++17 $(CXXFLAGS) -fPIC -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 \
  -ffile-prefix-map=$(CURDIR)=. $(WARNINGS) $(DEFINES) -I. -I$(BUILD)/obj -MMD -MP
# What is loaded into somebody else's process uses no part of the C++ run time:
# no exceptions to cross a C boundary, nothing to clash with the host's own copy.
LIBRARY = $(COMMON) -fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden
# Never unloaded: SQLite lets go of a library whose entry point fails, and what it had
# registered by then would point nowhere.
LINK_SHARED = $(CC) -shared -Wl,-z,relro,-z,now -Wl,-z,noexecstack,-z,nodelete -Wl,--no-undefined

CORE := $(wildcard core/*.cc)
EXT := $(wildcard sqlite_ext/*.cc)
SQL := $(patsubst sql/sqlite/%.sql,$(BUILD)/obj/sql/%.inc,$(wildcard sql/sqlite/*.sql))
CORE_OBJ := $(CORE:%.cc=$(BUILD)/obj/library/%.o)
EXT_OBJ := $(EXT:%.cc=$(BUILD)/obj/library/%.o)
STATIC_OBJ := $(EXT:%.cc=$(BUILD)/obj/static/%.o)

.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

all: sqlite  ## everything that is installed
	+@[ -z '$(HAVE_PGXS)' ] || $(MAKE) --no-print-directory pg

help:  ## this list
	@grep -hE '^[a-z0-9 -]+:.*##' Makefile | sed -E 's/:.*## */\t/; s/\$$\$$/$$/g' | expand -t 22

deps:  ## installs the packages that are missing (root), or says which
	@scripts/deps check

$(BUILD)/obj/library/%.o: %.cc Makefile | $(SQL)
	@mkdir -p $(@D)
	$(CXX) $(LIBRARY) $(EXTRA_CXXFLAGS) -c $< -o $@

$(BUILD)/obj/static/%.o: %.cc Makefile | $(SQL)
	@mkdir -p $(@D)
	$(CXX) $(LIBRARY) -DSQLITE_CORE $(EXTRA_CXXFLAGS) -c $< -o $@

# GoogleTest takes three times as long to compile with optimization.
TEST_FLAGS = $(COMMON) -O0 -g1 -U_FORTIFY_SOURCE -Wno-conversion $(EXTRA_CXXFLAGS) \
  -DSQLITE_ENABLE_SESSION -DSQLITE_ENABLE_PREUPDATE_HOOK
PRECOMPILED := $(BUILD)/obj/test/precompiled.h
$(PRECOMPILED).gch: regress/precompiled.h Makefile
	@mkdir -p $(@D)
	$(CXX) $(TEST_FLAGS) -x c++-header $< -o $@

$(BUILD)/obj/test/%.o: %.cc $(PRECOMPILED).gch
	@mkdir -p $(@D)
	$(CXX) $(TEST_FLAGS) -include $(PRECOMPILED) -c $< -o $@

$(SQL): $(BUILD)/obj/sql/%.inc: sql/sqlite/%.sql scripts/embed-sql.awk
	@mkdir -p $(@D)
	awk -v without='$(WITHOUT)' -f scripts/embed-sql.awk $< > $@

# ---- SQLite ----------------------------------------------------------------

sqlite: $(addprefix $(BUILD)/sqlite/,fence.so libfence.a fence_sqlite.h)  ## the SQLite extension

# Linked by the C driver and without libsqlite3: SQLite hands its functions over
# when it loads the library. Debug information goes into a file beside it.
$(BUILD)/sqlite/fence.so: $(CORE_OBJ) $(EXT_OBJ) sqlite_ext/exports.map
	@mkdir -p $(@D)
	$(LINK_SHARED) -Wl,--version-script=sqlite_ext/exports.map -o $@ $(CORE_OBJ) $(EXT_OBJ) \
	  $(LDFLAGS) $(EXTRA_LDFLAGS)
	objcopy --only-keep-debug $@ $@.debug
	objcopy --strip-debug --add-gnu-debuglink=$@.debug $@

$(BUILD)/sqlite/libfence.a: $(CORE_OBJ) $(STATIC_OBJ)
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/sqlite/fence_sqlite.h: sqlite_ext/fence_sqlite.h
	@mkdir -p $(@D)
	cp $< $@

# The multiarch folder of /usr/lib is one of the few where dlopen looks for a
# library that is no lib*.so, so load_extension('fence') finds it there.
PREFIX := /usr
LIBDIR = $(PREFIX)/lib/$(shell gcc -print-multiarch)
INCLUDEDIR = $(PREFIX)/include

install: sqlite  ## installs under $(DESTDIR)$(PREFIX), and into the server of PG_CONFIG if there is one
	install -d $(DESTDIR)$(LIBDIR) $(DESTDIR)$(INCLUDEDIR)
	install -m 644 $(BUILD)/sqlite/fence.so $(BUILD)/sqlite/libfence.a $(DESTDIR)$(LIBDIR)
	install -m 644 $(BUILD)/sqlite/fence_sqlite.h $(DESTDIR)$(INCLUDEDIR)
	+@[ -z '$(HAVE_PGXS)' ] || $(MAKE) --no-print-directory install-pg

uninstall:  ## removes what install put there
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,fence.so libfence.a) $(DESTDIR)$(INCLUDEDIR)/fence_sqlite.h
	+@[ -z '$(HAVE_PGXS)' ] || $(MAKE) --no-print-directory uninstall-pg

FILE = $(BUILD)/fence.db
sqlite-shell: sqlite  ## the sqlite3 shell with Fence loaded, on FILE=build/fence.db
	@sqlite3 -cmd '.load $(BUILD)/sqlite/fence.so' '$(FILE)' || :  # it fails where a statement did

demo:  ## two processes, one log: the frozen one is refused (needs no server)
	@scripts/deps demo
	@$(MAKE) --no-print-directory -s -j$(JOBS) sqlite
	@$(PYTHON) demo/paused_writer.py

# ---- PostgreSQL ------------------------------------------------------------

# The server's build system makes it (pg_ext/Makefile), from the same core objects.
PG_CONFIG := pg_config
export PG_CONFIG BUILD
HAVE_PGXS = $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))
PGXS_MAKE = $(MAKE) --no-print-directory -C $(BUILD)/pg -f $(CURDIR)/pg_ext/Makefile \
  CFLAGS='$(CXXFLAGS)' CXXFLAGS='$(CXXFLAGS)'
pg install-pg uninstall-pg: export FENCE_ROOT = $(CURDIR)
pg install-pg uninstall-pg: export FENCE_VERSION = $(VERSION)
pg install-pg uninstall-pg: export FENCE_CORE = $(abspath $(CORE_OBJ))
pg install-pg uninstall-pg: export FENCE_DEFINES = $(DEFINES)
pg install-pg uninstall-pg: export FENCE_WARNINGS = $(WARNINGS)
pg install-pg uninstall-pg: export FENCE_WITHOUT = $(WITHOUT)

pg: $(CORE_OBJ)  ## the PostgreSQL extension
	@mkdir -p $(BUILD)/pg
	+@$(PGXS_MAKE) all

install-pg: pg
	+@$(PGXS_MAKE) install

uninstall-pg:
	@mkdir -p $(BUILD)/pg
	+@$(PGXS_MAKE) uninstall

# A throw-away server with the extension in database fence; nothing is written to
# the system. scripts/pg says more.
pg-start: pg  ## a throw-away PostgreSQL server, until pg-stop
	@scripts/pg start

pg-stop:  ## stops and removes it
	@scripts/pg stop

pg-env:  ## for eval "$$(make -s pg-env)" && psql
	@scripts/pg env

demo-pg:  ## the same on a throw-away server, frozen inside an open transaction
	@scripts/deps demo-pg
	@$(MAKE) --no-print-directory -s -j$(JOBS) pg
	@scripts/pg run $(PYTHON) demo/paused_transaction.py

# ---- checks ----------------------------------------------------------------

# One program of GoogleTest a folder, linked with the rules themselves; the
# extension is loaded at run time, as an application does it.
TESTS := $(addprefix $(BUILD)/regress/,unit sqlite attack)
test_objects = $(patsubst %.cc,$(BUILD)/obj/test/%.o,$(wildcard regress/$(1)/*.cc))

tests: $(TESTS)  ## the C++ test programs
$(BUILD)/regress/unit: $(call test_objects,unit)
$(BUILD)/regress/sqlite: $(call test_objects,sqlite)
# The attacks share the helpers of the other tests of the extension.
$(BUILD)/regress/attack: $(call test_objects,attack) $(filter-out %_test.o,$(call test_objects,sqlite))
$(TESTS): $(CORE_OBJ)
	@mkdir -p $(@D)
	$(CXX) -o $@ $^ -lsqlite3 -lgtest_main -lgtest -lpthread $(LDFLAGS) $(EXTRA_LDFLAGS)
# A clock that a test can set (purge_test.cc).
$(BUILD)/regress/sqlite: LDFLAGS += -Wl,--export-dynamic-symbol=timespec_get

# A suite is `check-SUITE`: steps, each of which runs one command and leaves a
# JUnit file in HERE, whatever became of the step before. It counts as one case,
# or (OWN) as the cases that the command itself writes to the file of that name.
# The summary says what passed, in its exit status too.
RESULTS := $(BUILD)/results
SUITE = $(@:check-%=%)
HERE = $(RESULTS)/$(SUITE)
BEGIN = @rm -rf $(HERE); mkdir -p $(BUILD)/pytest
STEP = @scripts/junit-step $(HERE)
OWN = $(STEP) --own
SUMMARY = @scripts/junit-summary.py $(RESULTS) $(SUITE)
PYTEST = $(PYTHON) -m pytest -q -p no:cacheprovider --basetemp=$(BUILD)/pytest/$(SUITE) --junitxml=$(HERE)/
variant = $(MAKE) --no-print-directory -s -k -j$(JOBS) BUILD=$(BUILD)/$(1)
export FENCE_EXTENSION = $(abspath $(BUILD))/sqlite/fence.so
export PYTHONDONTWRITEBYTECODE = 1

# In the order in which they begin, the longest first: two run side by side.
SUITES := unit sanitize sqlite lint pg e2e differential conformance fuzz isolation
SLOW_SUITES := protection majors-sqlite mutations-postgresql mutations-sqlite stress majors-headers
check:  ## all of the following, then one line that counts; starts servers of its own
	@scripts/run-checks $(RESULTS) $(SUITES)

check-all:  ## check and the slow suites (protection, mutations, stress, majors), counted together
	@scripts/run-checks $(RESULTS) $(SUITES) $(SLOW_SUITES)

check-unit: $(BUILD)/regress/unit  ## the rules of core/
	$(BEGIN)
	$(OWN) gtest -- $< --gtest_brief=1 --gtest_output=xml:$(HERE)/gtest.xml
	$(SUMMARY)

check-sqlite: sqlite tests  ## the extension: C++, attacks, Python, installed
	$(BEGIN)
	$(OWN) gtest -- $(BUILD)/regress/sqlite --gtest_brief=1 --gtest_output=xml:$(HERE)/gtest.xml
	$(OWN) attack -- $(BUILD)/regress/attack --gtest_brief=1 --gtest_output=xml:$(HERE)/attack.xml
	$(OWN) pytest -- $(PYTEST)pytest.xml regress/sqlite
	$(STEP) install -- scripts/check-install $(BUILD)
	$(SUMMARY)

# Both compile what they test against.
check-majors-sqlite: sqlite tests  ## the newest SQLite, and Node's driver
	$(BEGIN)
	$(OWN) --timeout 2400 newest -- env BUILD=$(BUILD) $(PYTHON) regress/sqlite/newest/run.py $(HERE)
	$(OWN) node -- env BUILD=$(BUILD) regress/sqlite/node/run $(HERE)
	$(SUMMARY)

# So many servers at once. No test measures a time; a file of tests stays together.
WORKERS := $(if $(filter 1,$(JOBS)),1,2)
check-pg: pg  ## the PostgreSQL extension: pg_regress, Python
	$(BEGIN)
	$(OWN) regress -- scripts/pg run scripts/pg-regress sql $(HERE)/regress.xml
	$(OWN) pytest -- $(PYTEST)pytest.xml -n $(WORKERS) --dist loadfile $(PROTECTION:%=--ignore=%) regress/pg
	$(SUMMARY)

# Whole servers, processes and catalogs for each case. The programs share a build without a layer.
PROTECTION := $(wildcard regress/pg/test_doctor*.py) regress/pg/test_ddl_guard.py \
  regress/pg/test_many_keys.py regress/pg/test_protect_copy.py regress/pg/test_replication.py \
  regress/e2e/test_demo_pg.py regress/e2e/test_examples_pg.py
check-protection: pg  ## fence_doctor, replication, 100,000 keys, demo and examples
	$(BEGIN)
	$(OWN) --timeout 2400 pytest -- $(PYTEST)pytest.xml -n $(WORKERS) --dist loadfile $(filter regress/pg/%,$(PROTECTION))
	$(OWN) --timeout 2400 programs -- $(PYTEST)programs.xml $(filter regress/e2e/%,$(PROTECTION))
	$(SUMMARY)

check-isolation: pg  ## sessions interleaved in a given order
	$(BEGIN)
	$(OWN) isolation -- scripts/pg run scripts/pg-regress isolation $(HERE)/isolation.xml
	$(SUMMARY)

check-conformance: sqlite pg  ## SQL files with one expected output for every engine
	$(BEGIN)
	$(OWN) sqlite -- $(PYTHON) regress/conformance/run.py --engine sqlite --junit $(HERE)/sqlite.xml
	$(OWN) postgresql -- scripts/pg run $(PYTHON) regress/conformance/run.py --engine postgresql --junit $(HERE)/postgresql.xml
	$(OWN) runner -- $(PYTEST)runner.xml regress/conformance
	$(SUMMARY)

# Random calls against every engine and a model of the contract in Python.
FENCE_FUZZ_STEPS := 20000
export FENCE_FUZZ_STEPS
check-differential: sqlite pg  ## FENCE_FUZZ_STEPS=20000 random calls: every engine as the model
	$(BEGIN)
	$(OWN) --timeout 3600 pytest -- scripts/pg run $(PYTEST)pytest.xml regress/differential
	$(SUMMARY)

check-e2e: sqlite pg  ## real processes: the demos, the examples, stress, kill -9
	$(BEGIN)
	$(OWN) pytest -- $(PYTEST)pytest.xml $(PG_STRESS:%=--ignore=%) $(PROTECTION:%=--ignore=%) regress/e2e
	$(SUMMARY)

PG_STRESS := regress/e2e/test_pg_stress.py regress/e2e/test_pg_content_stress.py
check-stress: pg  ## claims against writes on PostgreSQL, for minutes
	$(BEGIN)
	$(OWN) --timeout 3600 pytest -- $(PYTEST)pytest.xml $(PG_STRESS)
	$(SUMMARY)

CXX_FILES := $(wildcard $(foreach d,core sqlite_ext pg_ext bench $(wildcard regress/*),$(d)/*.cc $(d)/*.h))
TIDY_FLAGS = -std=c++17 $(DEFINES) -I. -I$(BUILD)/obj
# What a compiler must know to read pg_ext/; which server's headers is added to it.
PG_SYNTAX = -std=c++17 -fno-exceptions -fno-rtti $(WARNINGS) $(DEFINES) -I.
lint: check-lint
check-lint: sqlite pg  ## format, static analysis, symbols, scripts
	$(BEGIN)
	$(STEP) format -- clang-format --dry-run -Werror $(CXX_FILES)
	$(STEP) tidy -- scripts/run-tidy $(CORE) $(EXT) -- $(TIDY_FLAGS)
	$(STEP) tidy-pg -- scripts/run-tidy $(wildcard pg_ext/*.cc) -- $(PG_SYNTAX) -isystem $(shell $(PG_CONFIG) --includedir-server)
	$(STEP) symbols -- scripts/check-symbols sqlite $(BUILD)/sqlite
	$(STEP) symbols-pg -- scripts/check-symbols pg $(BUILD)/pg
	$(STEP) python -- scripts/check-text python
	$(STEP) shell -- scripts/check-text shell
	$(STEP) text -- scripts/check-text text
	$(SUMMARY)

check-majors-headers:  ## pg_ext/ against the headers of PostgreSQL 17 and 18
	$(BEGIN)
	$(OWN) headers -- scripts/pg-headers $(HERE)/headers.xml $(PG_SYNTAX)
	$(SUMMARY)

# By clang++, so that these are the builds by the second compiler as well, warnings and all.
# Its run time is linked as a library, which a host and what it loads share. Left out is the
# type of a function called by pointer: telling it takes the C++ run time.
SANITIZER_RUNTIME = -shared-libsan -Wl,-rpath,$(dir $(shell clang -print-file-name=libclang_rt.asan-x86_64.so))
UBSAN := -U_FORTIFY_SOURCE -fno-omit-frame-pointer -fsanitize=undefined -fno-sanitize=function -fno-sanitize-recover=all
SANITIZE := $(UBSAN) -fsanitize=address
sanitized = env FENCE_EXTENSION=$(abspath $(BUILD))/asan/sqlite/fence.so $(BUILD)/asan/regress/$(1) --gtest_brief=1 --gtest_filter=-Scale.*
clang_variant = $(call variant,$(1)) CC=clang CXX=clang++ CXXFLAGS='-O1 -g1' EXTRA_CXXFLAGS='$(2)' \
  EXTRA_LDFLAGS='$(2) $(SANITIZER_RUNTIME)'
# A server that was not built for it does not start under AddressSanitizer: PostgreSQL's have UBSan alone.
check-sanitize:  ## built by clang: the tests under AddressSanitizer and UBSan; PostgreSQL's under UBSan
	$(BEGIN)
	$(STEP) build -- $(call clang_variant,asan,$(SANITIZE)) sqlite tests
	$(STEP) unit -- $(call sanitized,unit)
	$(STEP) sqlite -- $(call sanitized,sqlite)
	$(STEP) attack -- $(call sanitized,attack)
	$(STEP) build-pg -- $(call clang_variant,ubsan,$(UBSAN)) pg
	$(STEP) pg -- env BUILD=$(BUILD)/ubsan scripts/pg run scripts/pg-regress sql $(HERE)/pg/regress.xml
	$(SUMMARY)

VALGRIND := valgrind --quiet --error-exitcode=1 --leak-check=full \
  --errors-for-leak-kinds=definite,indirect --show-leak-kinds=definite,indirect
check-valgrind: sqlite tests  ## the C++ tests of the extension under valgrind
	$(BEGIN)
	$(STEP) --timeout 2400 sqlite -- $(VALGRIND) $(BUILD)/regress/sqlite --gtest_brief=1 --gtest_filter=-Scale.*
	$(STEP) --timeout 2400 attack -- $(VALGRIND) $(BUILD)/regress/attack --gtest_brief=1
	$(SUMMARY)

FUZZERS := $(patsubst %.cc,%,$(wildcard regress/fuzz/*.cc))
FUZZ_SECONDS := 15
FUZZ := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
check-fuzz:  ## everything that parses, FUZZ_SECONDS=15 each, from a fixed seed
	$(BEGIN)
	$(STEP) build -- $(call variant,fuzz) CC=clang CXX=clang++ EXTRA_CXXFLAGS='$(FUZZ)' fuzzers
	@for fuzzer in $(FUZZERS); do scripts/junit-step $(HERE) $${fuzzer##*/} -- \
	  scripts/run-fuzzer $(BUILD)/fuzz/$$fuzzer $(FUZZ_SECONDS); done
	$(SUMMARY)

fuzz:  ## ten minutes each
	@$(MAKE) --no-print-directory check-fuzz FUZZ_SECONDS=600

# Only in the variant that check-fuzz builds.
fuzzers: $(FUZZERS:%=$(BUILD)/%)
$(FUZZERS:%=$(BUILD)/%): $(BUILD)/%: $(BUILD)/obj/test/%.o $(BUILD)/sqlite/libfence.a
	@mkdir -p $(@D)
	$(CXX) -o $@ $^ -lsqlite3 -fsanitize=fuzzer,address,undefined

# For how long each engine's layers are tried; 0: all of them.
MUTATION_MINUTES := 0
MUTATE = $(PYTHON) regress/mutations/run.py --minutes $(MUTATION_MINUTES)
check-mutations: check-mutations-sqlite check-mutations-postgresql  ## one protective layer less at a time: some test must notice
check-mutations-sqlite check-mutations-postgresql: sqlite pg tests
	$(BEGIN)
	$(OWN) --timeout 3600 $(SUITE) -- $(MUTATE) --engine $(SUITE:mutations-%=%) --junit $(HERE)/$(SUITE).xml
	$(SUMMARY)

check-fresh:  ## demo and check from a fresh clone in an empty Debian (root)
	@scripts/check-fresh

# ---- the rest --------------------------------------------------------------

bench: sqlite $(BUILD)/bench/sqlite  ## ratios against plain SQL, side by side
	@$(BUILD)/bench/sqlite

bench-pg: pg  ## the same on a throw-away PostgreSQL server: protected tables
	@scripts/pg run bench/protected_tables.py

$(BUILD)/bench/sqlite: bench/sqlite.cc Makefile
	@mkdir -p $(@D)
	$(CXX) $(COMMON) -Wno-conversion -o $@ $< -lsqlite3

format:  ## formats the C++ files
	clang-format -i $(CXX_FILES)

dist:  ## the source archive of the committed tree
	@mkdir -p $(BUILD)
	git archive --prefix=fence-$(VERSION)/ -o $(BUILD)/fence-$(VERSION).tar.gz HEAD

clean:  ## removes all that was built, the server of pg-start, too
	@[ ! -e $(BUILD)/pg/server ] || scripts/pg stop
	rm -rf $(BUILD)

.PHONY: all help deps sqlite install uninstall sqlite-shell demo pg install-pg uninstall-pg pg-start pg-stop \
  pg-env demo-pg tests check check-all lint fuzz fuzzers bench bench-pg format dist clean \
  $(addprefix check-,$(SUITES) $(SLOW_SUITES) mutations valgrind fresh)

-include $(wildcard $(BUILD)/obj/*/*.d $(BUILD)/obj/*/*/*.d $(BUILD)/obj/*/*/*/*.d)
