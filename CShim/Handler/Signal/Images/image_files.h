// The files that crashd receives with the hello: the executable, and libraries that crashd may not have.
#ifndef CS_IMAGE_FILES_H
#define CS_IMAGE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"

// Each image holds a descriptor open for a moment. The limit keeps enough descriptors for the server.
#define CS_IMAGE_FILE_LIMIT 64

// The file of an image at the start. It is in private memory: the process at the other end of the socket can write to
// the ring, and must not be able to choose a file.
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

// Opens the files whose device, inode and build id are unchanged since the start. Returns their number.
uint32_t cs_image_files_open(int ret_descriptors[CS_IMAGE_FILE_LIMIT],
                             uint16_t ret_images[CS_IMAGE_FILE_LIMIT]) SIGNAL_SAFE;

// Returns a path that leads to the file of an image. /proc/self/exe does so even after a deployment replaced the
// executable.
static inline const char *cs_image_file_path(const cs_image_file *file) SIGNAL_SAFE {
  return file->is_executable ? "/proc/self/exe" : file->path;
}

#endif
