// What nearly every test includes, compiled once for all of them: it halves the time to
// build the tests. The Makefile puts it before every test; no file includes it.
#include <gtest/gtest.h>

#include "regress/sqlite/harness.h"
