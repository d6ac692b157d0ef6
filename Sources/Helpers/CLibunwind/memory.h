// The parts of the process in a snapshot.
#pragma once

#include "cs_snapshot.h"
#include <stdbool.h>

/// The image that contains `address`, or NULL.
const struct cs_snapshot_image *cs_snapshot_image_at(const struct cs_snapshot *snapshot, uint64_t address);

/// The word at `address`. libunwind reads aligned words: bytes outside of their piece, but within an image or beside a
/// piece, are 0. False when no byte is in the stack's piece or in an image.
bool cs_snapshot_read_word(const struct cs_snapshot *snapshot, uint64_t address, uint64_t *ret_word);

/// The word at `address` of the stack; false unless it is complete.
bool cs_snapshot_read_stack(const struct cs_snapshot *snapshot, uint64_t address, uint64_t *ret_word);
