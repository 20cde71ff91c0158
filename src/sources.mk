# The one list of sources, read by make and by CMake.

# Plain C++17 without a server header; unit tests link these.
PURE_SOURCES = src/records/decision.cpp \
	src/records/key.cpp

SERVER_SOURCES = src/module.cpp \
	src/server/arguments.cpp \
	src/server/guard.cpp \
	src/server/settings.cpp \
	src/server/statement.cpp

# Concatenated in this order into the install script.
SQL_PIECES =


