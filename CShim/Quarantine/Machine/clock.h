// A clock that takes one instruction to read: cs_ticks(), cs_ticks_put(), cs_ticks_start(), cs_ticks_ns().
#ifndef CS_CLOCK_H
#define CS_CLOCK_H

#include "clock_aarch64.h"
#include "clock_x86_64.h"

#endif
