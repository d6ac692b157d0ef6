// Copies memory without sanitizer checks: cs_raw_copy(), cs_raw_word(), cs_raw_byte().
#ifndef CS_RAW_COPY_H
#define CS_RAW_COPY_H

#include "raw_copy_aarch64.h"
#include "raw_copy_x86_64.h"

#endif
