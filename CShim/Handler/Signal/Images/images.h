// Which image of the ring's table holds an address.
#ifndef CS_IMAGES_H
#define CS_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"

// The ranges of the ring's image table, close together: a look-up reads few cache lines.
typedef struct cs_image_ranges {
  uint64_t start[CS_RING_IMAGE_LIMIT];
  uint64_t end[CS_RING_IMAGE_LIMIT];
  uint64_t build_id[CS_RING_IMAGE_LIMIT]; // where it stands in the mapped image; 0 when it has none
  uint32_t count;                         // release: pairs with the acquire of cs_image_index()
  uint32_t writer;                        // tid of the thread that adds an entry, 0 when none
} cs_image_ranges;

extern cs_image_ranges cs_images;

// Index of the image that holds `pc`. One that was loaded after the start is added to the table first, also where
// another one was unloaded. CS_RING_NO_IMAGE when there is none, or the table is full.
uint16_t cs_image_index(uint64_t pc) SIGNAL_SAFE;

// The build id in the notes of the image mapped at `start`, and where it stands; returns its length, 0 when there is
// none.
uint32_t cs_image_build_id(uint64_t start, uint64_t end, uint8_t ret_id[CS_RING_BUILD_ID_LIMIT_BYTES],
                           uint64_t *ret_address) SIGNAL_SAFE;

// The same of an open file.
uint32_t cs_file_build_id(int file, uint8_t ret_id[CS_RING_BUILD_ID_LIMIT_BYTES]) SIGNAL_SAFE;

#endif
