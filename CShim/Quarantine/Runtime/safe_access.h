// Reads and tests memory that can be unmapped or read-only. The functions use system calls, which return an error where
// a direct access would fault.
#ifndef CS_QUARANTINE_SAFE_ACCESS_H
#define CS_QUARANTINE_SAFE_ACCESS_H

#include "abi.h"

#pragma GCC visibility push(hidden)

// Copies memory from an address that can be invalid.
bool cs_read_at(const void *address, void *ret_bytes, size_t size);
bool cs_is_writable(void *word);

// Returns whether `metadata` is the metadata of a native class. Checks a private copy, because the memory can be
// unmapped or changed between two reads.
bool cs_metadata_is_readable_class(const cs_metadata *metadata);

#pragma GCC visibility pop

#endif
