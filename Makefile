# make, make install, make installcheck    the extension, as any PGXS extension (PG_CONFIG selects the server)
# make test [ARGS="regress begin"]         every test, in throw-away clusters; nothing is installed in the system
# make unit | matrix | bench | demo        the unit tests | the other releases | the benchmarks | a tour
# make dist                                the archive for PGXN
#
# WERROR=1 turns warnings into errors. The command-line tool pgidem is part of it all where its libraries are;
# WITHOUT_TOOL=1 leaves it out, and WITHOUT_BITCODE=1 what the server could compile into queries.

EXTENSION = pg_idem
MODULE_big = pg_idem

# An archive is cut from a commit and the other goals find or install a server themselves, so none of them
# needs PGXS to be there already.
HOUSE_GOALS = test unit matrix bench demo dist
.PHONY: $(HOUSE_GOALS)

# Only the top directory's own file knows where it is, and a VPATH build runs it from elsewhere.
IDEM_ROOT := $(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST))))
include $(IDEM_ROOT)/src/sources.mk

EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(IDEM_ROOT)/pg_idem.control)
IDEM_VERSION := $(shell sed -n 's/^   "version": "\(.*\)",/\1/p' $(IDEM_ROOT)/META.json)

ifneq (,$(filter-out $(HOUSE_GOALS),$(or $(MAKECMDGOALS),all)))

PG_CONFIG ?= pg_config
PG_MAJOR := $(shell $(PG_CONFIG) --version 2>/dev/null | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
ifeq (,$(PG_MAJOR))
$(error cannot run "$(PG_CONFIG)": install the server's development package, or pass PG_CONFIG=/path/to/pg_config)
endif
ifeq (,$(filter 13 14 15 16 17 18,$(PG_MAJOR)))
$(error pg_idem is written for PostgreSQL 13 to 18, and $(PG_CONFIG) belongs to $(shell $(PG_CONFIG) --version))
endif

CORE_OBJS := $(patsubst %.cpp,%.o,$(PURE_SOURCES) $(SERVER_SOURCES))
TEST_OBJS := $(patsubst %.cpp,%.o,$(TEST_SOURCES))
OBJS = $(CORE_OBJS)
ALL_OBJS := $(CORE_OBJS) $(TEST_OBJS)

SQL_SCRIPT = $(EXTENSION)--$(EXTVERSION).sql
DATA_built = $(SQL_SCRIPT)
DATA = $(patsubst $(IDEM_ROOT)/%,%,$(wildcard $(IDEM_ROOT)/extension/$(EXTENSION)--*--*.sql))

# The list is the schedule, so that the order of the tests is written down once. Every test runs in a
# database that already holds the extension and what test_setup makes, hence alone as well as in company.
REGRESS := $(shell sed -n 's/^test: *//p' $(IDEM_ROOT)/test/schedule 2>/dev/null)
override REGRESS := $(if $(REGRESS),test_setup $(filter-out test_setup,$(REGRESS)))
REGRESS_OPTS = --load-extension=$(EXTENSION)

# Debian's packages of 13 come without the isolation tester.
PGXS := $(shell $(PG_CONFIG) --pgxs)
ISOLATION_TESTER := $(wildcard $(dir $(PGXS))../test/isolation/pg_isolation_regress)
ISOLATION := $(if $(ISOLATION_TESTER),$(basename $(notdir $(wildcard $(IDEM_ROOT)/test/isolation/specs/*.spec))))
ISOLATION_OPTS = --inputdir=$(IDEM_ROOT)/test/isolation --load-extension=$(EXTENSION)

# TAP tests start servers of their own, which root may not: installcheck runs them when TAP_TESTS=1 is set.
PROVE_TESTS = test/t/*.pl

# Given twice, a directory counts as a system directory: the server's headers keep their warnings to
# themselves although PGXS names them with -I. The flags below are also what the bitcode is compiled with.
IDEM_CXXFLAGS = -std=c++17 -fvisibility=hidden -fvisibility-inlines-hidden \
	-isystem $(shell $(PG_CONFIG) --includedir-server) -I$(IDEM_ROOT)/src \
	-DIDEM_VERSION='"$(IDEM_VERSION)"'
ifneq (,$(filter 13 14 15,$(PG_MAJOR)))
# Their headers say "register", which C++17 no longer knows, and mark no symbol as visible, because their
# modules export everything.
IDEM_CXXFLAGS += -Wno-register -DPGDLLEXPORT='__attribute__((visibility("default")))'
endif
PG_CXXFLAGS = $(IDEM_CXXFLAGS) -Wall -Wextra $(if $(WERROR),-Werror) -MMD -MP $(PROFILE)

# PGXS links with the C compiler. The version script keeps back the standard library's instantiations,
# which -fvisibility cannot: their namespace declares itself visible.
SHLIB_LINK += -lstdc++ $(if $(filter yes,$(with_gnu_ld)),$(VERSION_SCRIPT))
VERSION_SCRIPT = -Wl,--version-script=$(IDEM_ROOT)/exports.map

# The tool needs a few headers more than the extension. Without them the extension is built alone, and make says so.
TOOL_OBJS := $(patsubst %.cpp,%.o,$(TOOL_PURE_SOURCES) $(TOOL_SOURCES))
LIBPQ_INCLUDES := -isystem $(shell $(PG_CONFIG) --includedir)
HAVE_TOOL := $(if $(WITHOUT_TOOL),,$(shell $(or $(CXX),g++) -std=c++17 $(CPPFLAGS) $(LIBPQ_INCLUDES) \
	-E $(IDEM_ROOT)/tool/requirements.hpp >/dev/null 2>&1 && echo yes))
# Defined as nothing, it would still be something to install.
ifneq (,$(HAVE_TOOL))
SCRIPTS_built = pgidem
endif

EXTRA_CLEAN = $(TEST_OBJS) $(TEST_MODULE) $(ALL_OBJS:.o=.d) $(TOOL_OBJS) $(TOOL_OBJS:.o=.d) pgidem .build-flags

# A server configured with dependency tracking would keep one file for each base name, and ours repeat from
# room to room. We track headers ourselves.
override autodepend = no

# The server's own choice, which with_llvm=no on the command line overrides as well.
ifneq (,$(WITHOUT_BITCODE))
override with_llvm = no
endif

include $(PGXS)

COMPILE.cxx.bc += $(IDEM_CXXFLAGS)
-include $(ALL_OBJS:.o=.d) $(TOOL_OBJS:.o=.d)

# The object carries the list of headers, so the bitcode follows the object.
$(ALL_OBJS:.o=.bc): %.bc: %.o

# Objects built with other flags, or for another server, must not end in this module.
BUILD_FLAGS := $(VERSION) $(filter-out -Werror,$(CXX) $(CXXFLAGS) $(CPPFLAGS))
ifneq ($(BUILD_FLAGS),$(file <.build-flags))
$(file >.build-flags,$(BUILD_FLAGS))
endif
$(ALL_OBJS) $(TOOL_OBJS): .build-flags
.build-flags: ;

$(shlib): $(IDEM_ROOT)/exports.map

# A build outside the source tree starts without our directories; as targets, make would find the source's.
$(shell mkdir -p $(dir $(ALL_OBJS) $(TOOL_OBJS)))

$(SQL_SCRIPT): $(SQL_PIECES) pg_idem.control src/sources.mk
	@{ printf '%s\n' '\echo Use "CREATE EXTENSION $(EXTENSION)" to load this file. \quit'; \
	   for piece in $(filter %.sql,$^); do echo; cat "$$piece"; done; } >$@.tmp
	@mv $@.tmp $@

# Functions that only tests call live in a module of their own, so that the extension ships none of them.
ifneq (,$(strip $(TEST_SOURCES)))
TEST_MODULE = pg_idem_test$(DLSUFFIX)
$(TEST_MODULE): $(TEST_OBJS) $(filter-out src/module.o,$(CORE_OBJS))
	$(LINK.shared) -o $@ $^ $(LDFLAGS) $(LDFLAGS_SL) $(SHLIB_LINK)
endif
.PHONY: test-module install-test-module
test-module: $(TEST_MODULE)
install-test-module: $(TEST_MODULE) installdirs
	$(if $(TEST_MODULE),$(INSTALL_SHLIB) $(TEST_MODULE) '$(DESTDIR)$(pkglibdir)/')

# A client: it is compiled without the server's headers and linked with libpq alone.
TOOL_CPPFLAGS = $(filter-out -I. -I$(srcdir) -I./ -I$(includedir_server) -I$(includedir_internal),$(CPPFLAGS))
TOOL_CXXFLAGS = -std=c++17 $(filter -O% -g% -f% -m% -W%,$(filter-out $(IDEM_CXXFLAGS),$(CXXFLAGS))) -pthread \
	-I$(IDEM_ROOT) $(LIBPQ_INCLUDES) -DIDEM_VERSION='"$(IDEM_VERSION)"' -MMD -MP
$(TOOL_OBJS): %.o: %.cpp
	$(CXX) $(TOOL_CXXFLAGS) $(TOOL_CPPFLAGS) -c -o $@ $<
pgidem: $(TOOL_OBJS)
	$(CXX) $(TOOL_CXXFLAGS) -o $@ $^ $(LDFLAGS) -L$(libdir) -lpq

# bash finds completions of commands below a prefix in its share; those of the system have one place.
SHARE_OF_BINDIR = $(or $(if $(filter /usr/local/%,$(bindir)),/usr/local),$(if $(filter /usr/%,$(bindir)),/usr),$(bindir)/..)/share
bash_completion_dir ?= $(SHARE_OF_BINDIR)/bash-completion/completions
TOOL_DOCUMENTS = '$(DESTDIR)$(mandir)/man1/pgidem.1' '$(DESTDIR)$(bash_completion_dir)/pgidem'
.PHONY: install-tool-documents uninstall-tool-documents
install-tool-documents:
	$(MKDIR_P) '$(DESTDIR)$(mandir)/man1' '$(DESTDIR)$(bash_completion_dir)'
	$(INSTALL_DATA) $(IDEM_ROOT)/doc/pgidem.1 '$(DESTDIR)$(mandir)/man1/'
	$(INSTALL_DATA) $(IDEM_ROOT)/tool/pgidem.bash '$(DESTDIR)$(bash_completion_dir)/pgidem'
uninstall-tool-documents:
	rm -f $(TOOL_DOCUMENTS)
ifneq (,$(HAVE_TOOL))
install: install-tool-documents
uninstall: uninstall-tool-documents
else
all: no-tool
.PHONY: no-tool
no-tool:
	@echo "LEFT OUT: the command-line tool pgidem, because $(if $(WITHOUT_TOOL),WITHOUT_TOOL is set,the headers of CLI11,\
		nlohmann-json or libpq are missing)" >&2
	$(if $(WITHOUT_TOOL),,@echo "          (on Debian and Ubuntu: libcli11-dev nlohmann-json3-dev libpq-dev)" >&2)
endif

ifeq (,$(ISOLATION_TESTER))
installcheck: no-isolation-tester
.PHONY: no-isolation-tester
no-isolation-tester:
	@echo "SKIPPED: the isolation tests, because this server has no pg_isolation_regress"
endif

endif

test:
	$(IDEM_ROOT)/dev/test $(ARGS)

unit:
	$(IDEM_ROOT)/dev/test unit

matrix:
	$(IDEM_ROOT)/test/matrix $(ARGS)

bench:
	$(IDEM_ROOT)/bench/run $(ARGS)

demo:
	$(IDEM_ROOT)/dev/demo

dist:
	git -C $(IDEM_ROOT) archive --format=zip --prefix=$(EXTENSION)-$(IDEM_VERSION)/ \
		--output=$(CURDIR)/$(EXTENSION)-$(IDEM_VERSION).zip HEAD
