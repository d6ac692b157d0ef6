// Finds the image (the executable or a shared library) that contains an address, in the ring's image table.
#ifndef CS_IMAGES_H
#define CS_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"

// The address ranges of the images in the ring's image table. The ranges are in a structure outside of the ring, so
// that a search reads few cache lines.
typedef struct cs_image_ranges {
  uint64_t start[CS_RING_IMAGE_LIMIT];
  uint64_t end[CS_RING_IMAGE_LIMIT];
  uint64_t build_id[CS_RING_IMAGE_LIMIT]; // the address of the build ID in the mapped image; 0: none
  uint32_t count;                         // atomic: a release store, for the acquire load in cs_image_index()
  uint32_t writer;                        // atomic: the thread ID of the thread that is adding an entry, or 0
} cs_image_ranges;

extern cs_image_ranges cs_images;

// Returns the index of the image that contains `pc`. If the image was loaded after the start, first adds it to the
// table. An image that was unloaded, and whose addresses another image now occupies, is not returned. Returns
// CS_RING_NO_IMAGE if no image contains `pc`, or if the table is full.
uint16_t cs_image_index(uint64_t pc) SIGNAL_SAFE;

// Reads the build ID from the notes of the image that is mapped at `start`, and stores the address of the ID. Returns
// the length of the ID, or 0 if the image has none.
uint32_t cs_image_build_id(uint64_t start, uint64_t end, uint8_t ret_id[CS_RING_BUILD_ID_LIMIT_BYTES],
                           uint64_t *ret_address) SIGNAL_SAFE;

// Reads the build ID of an open file.
uint32_t cs_file_build_id(int file, uint8_t ret_id[CS_RING_BUILD_ID_LIMIT_BYTES]) SIGNAL_SAFE;

#endif
