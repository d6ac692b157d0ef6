// Reads and tests memory that may be unmapped or read-only. System calls return an error where a direct access would
// fault.
#ifndef CS_QUARANTINE_SAFE_ACCESS_H
#define CS_QUARANTINE_SAFE_ACCESS_H

#include "abi.h"

#pragma GCC visibility push(hidden)

// Reads memory at an address, which may be any value.
bool cs_read_at(const void *address, void *ret_bytes, size_t size);
bool cs_is_writable(void *word);

// Works on a copy, because the memory may be unmapped, or may change, between two reads.
bool cs_metadata_is_readable_class(const cs_metadata *metadata);

#pragma GCC visibility pop

#endif
