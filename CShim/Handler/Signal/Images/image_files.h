// The files that crashd gets with the hello: the executable, and libraries that crashd cannot be expected to have.
#ifndef CS_IMAGE_FILES_H
#define CS_IMAGE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"

// A descriptor an image is held open for a moment: not so many that the server's own would run out.
#define CS_IMAGE_FILE_LIMIT 64

// Which file an image was at the start. It stands in private memory: the other end of the socket has the ring, and what
// it writes there must not choose a file.
typedef struct cs_image_file {
  uint64_t device;
  uint64_t inode;
  uint32_t build_id_bytes;
  uint16_t image; // its index in the ring's table
  bool is_executable;
  uint8_t build_id[CS_RING_BUILD_ID_LIMIT_BYTES];
  char path[CS_RING_PATH_LIMIT_BYTES];
} cs_image_file;

typedef struct cs_image_file_list {
  uint32_t count; // release: pairs with the acquire of cs_image_files_open()
  cs_image_file files[CS_IMAGE_FILE_LIMIT];
} cs_image_file_list;

extern cs_image_file_list cs_image_files;

// Opens those files that are still what they were at the start, by device, inode and build id; returns how many.
uint32_t cs_image_files_open(int ret_descriptors[CS_IMAGE_FILE_LIMIT],
                             uint16_t ret_images[CS_IMAGE_FILE_LIMIT]) SIGNAL_SAFE;

// What leads to the file of an image. The executable's own link does so also after a deploy replaced it.
static inline const char *cs_image_file_path(const cs_image_file *file) SIGNAL_SAFE {
  return file->is_executable ? "/proc/self/exe" : file->path;
}

#endif
