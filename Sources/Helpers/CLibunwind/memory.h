// What of the process a snapshot holds.
#pragma once

#include "cs_snapshot.h"
#include <stdbool.h>

/// The image that `address` lies in, or NULL.
const struct cs_snapshot_image *cs_snapshot_image_at(const struct cs_snapshot *snapshot, uint64_t address);

/// The word at `address`. libunwind reads aligned words: what of one lies outside of its piece, but within an image or
/// beside a piece, is 0. False when no byte of it lies in the stack's piece or in an image.
bool cs_snapshot_read_word(const struct cs_snapshot *snapshot, uint64_t address, uint64_t *ret_word);

/// The word at `address` of the stack; false unless all of it is there.
bool cs_snapshot_read_stack(const struct cs_snapshot *snapshot, uint64_t address, uint64_t *ret_word);
