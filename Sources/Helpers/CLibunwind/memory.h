// The memory of the process in a snapshot.
#pragma once

#include "cs_snapshot.h"
#include <stdbool.h>

/// Returns the image that contains `address`, or NULL.
const struct cs_snapshot_image *cs_snapshot_image_at(const struct cs_snapshot *snapshot, uint64_t address);

/// Reads the word at `address`. libunwind reads aligned words. Bytes of an image that are not in the snapshot read as
/// 0. Returns false if the word is neither in the copy of the stack nor in an image.
bool cs_snapshot_read_word(const struct cs_snapshot *snapshot, uint64_t address, uint64_t *ret_word);

/// Reads the word at `address` from the stack. Returns false if the stack in the snapshot does not contain the whole
/// word.
bool cs_snapshot_read_stack(const struct cs_snapshot *snapshot, uint64_t address, uint64_t *ret_word);

/// Returns a word, which can be a return address, without its pointer authentication code. On AArch64, the pointer
/// authentication code is in the bits above the 48 bits of an address. A word without such a code does not change.
uint64_t cs_snapshot_code(const struct cs_snapshot *snapshot, uint64_t word);
