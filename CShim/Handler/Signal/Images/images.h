// Finds the image in the ring's table that contains an address.
#ifndef CS_IMAGES_H
#define CS_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"

// The address ranges of the ring's image table, close together so that a lookup reads few cache lines.
typedef struct cs_image_ranges {
  uint64_t start[CS_RING_IMAGE_LIMIT];
  uint64_t end[CS_RING_IMAGE_LIMIT];
  uint64_t build_id[CS_RING_IMAGE_LIMIT]; // its address in the mapped image; 0: none
  uint32_t count;                         // release: pairs with the acquire of cs_image_index()
  uint32_t writer;                        // tid of the thread that is adding an entry, or 0
} cs_image_ranges;

extern cs_image_ranges cs_images;

// Returns the index of the image that contains `pc`. An image that was loaded after the start is first added to the
// table, even if its address range belonged to an unloaded image. CS_RING_NO_IMAGE: no image contains `pc`, or the
// table is full.
uint16_t cs_image_index(uint64_t pc) SIGNAL_SAFE;

// Reads the build id from the notes of the image mapped at `start`, and its address. Returns the length, or 0 without a
// build id.
uint32_t cs_image_build_id(uint64_t start, uint64_t end, uint8_t ret_id[CS_RING_BUILD_ID_LIMIT_BYTES],
                           uint64_t *ret_address) SIGNAL_SAFE;

// Reads the build id of an open file.
uint32_t cs_file_build_id(int file, uint8_t ret_id[CS_RING_BUILD_ID_LIMIT_BYTES]) SIGNAL_SAFE;

#endif
