// The image files that crashd receives together with the hello, the process's first message: the executable, and
// libraries that crashd possibly cannot find.
#ifndef CS_IMAGE_FILES_H
#define CS_IMAGE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"

// The maximum number of these files. While the process sends its hello, each of them needs an open descriptor, and the
// program needs free descriptors at the same time.
#define CS_IMAGE_FILE_LIMIT 64

// The file of an image, as it was when the shield started. The structure is in private memory and not in the ring:
// another process that can write to the ring must not choose which file is sent to crashd.
typedef struct cs_image_file {
  uint64_t device;
  uint64_t inode;
  uint32_t build_id_bytes;
  uint16_t image; // the index of the image in the ring's image table
  bool is_executable;
  uint8_t build_id[CS_RING_BUILD_ID_LIMIT_BYTES];
  char path[CS_RING_PATH_LIMIT_BYTES];
} cs_image_file;

typedef struct cs_image_file_list {
  uint32_t count; // atomic: the release store pairs with the acquire load in cs_image_files_open()
  cs_image_file files[CS_IMAGE_FILE_LIMIT];
} cs_image_file_list;

extern cs_image_file_list cs_image_files;

// Opens the files whose device, inode and build ID have not changed since the shield's start. Returns the number of
// opened files.
uint32_t cs_image_files_open(int ret_descriptors[CS_IMAGE_FILE_LIMIT],
                             uint16_t ret_images[CS_IMAGE_FILE_LIMIT]) SIGNAL_SAFE;

// Returns a path through which the file of an image can be opened. For the executable, the path is /proc/self/exe,
// which works even after a deployment has replaced the file.
static inline const char *cs_image_file_path(const cs_image_file *file) SIGNAL_SAFE {
  return file->is_executable ? "/proc/self/exe" : file->path;
}

#endif
