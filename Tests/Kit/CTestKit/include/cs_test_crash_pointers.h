#ifndef CS_TEST_CRASH_POINTERS_H
#define CS_TEST_CRASH_POINTERS_H

#include "cs_quarantine.h"

// How many objects the quarantine shows of a crash whose register 13 has that address, and the first of them.
uint32_t cs_test_crash_with(uint64_t address, cs_ring_incident *ret_first);

#endif
