// The files that crashd receives together with the hello: the executable, and libraries that crashd possibly cannot
// find.
#ifndef CS_IMAGE_FILES_H
#define CS_IMAGE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"

// While the hello is sent, each of these files needs an open descriptor. The limit leaves enough free descriptors for
// the program.
#define CS_IMAGE_FILE_LIMIT 64

// The file of an image, as it was when the shield started. The structure is in private memory and not in the ring,
// because another process that has received the ring can possibly write to the ring. That process could otherwise
// choose which file is sent to crashd.
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
  uint32_t count; // release: pairs with the acquire load in cs_image_files_open()
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
