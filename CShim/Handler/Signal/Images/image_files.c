#include "cs_platform.h"

#if CS_SUPPORTED

#include "image_files.h"

#include "../Dispatch/trusted.h"
#include "../Kernel/system_call.h"
#include "images.h"

cs_image_file_list cs_image_files;

static bool is_same(const cs_image_file *file, const struct stat *status) SIGNAL_SAFE {
  return S_ISREG(status->st_mode) && (uint64_t)status->st_dev == file->device &&
         (uint64_t)status->st_ino == file->inode;
}

// Compares the build ID too, because a file system can give the inode number of a removed file to another file.
static bool has_build_id(const cs_image_file *file, int descriptor) SIGNAL_SAFE {
  uint8_t id[CS_RING_BUILD_ID_LIMIT_BYTES];
  const uint32_t size = cs_file_build_id(descriptor, id);
  return size == file->build_id_bytes && memcmp(id, file->build_id, size) == 0;
}

// Returns the descriptor of the opened file, or -1. Checks the path's device and inode before opening the file, because
// opening another file, such as a device node, can have side effects.
static int open_file(const cs_image_file *file) SIGNAL_SAFE {
  struct stat status = {0};
  const char *path = cs_image_file_path(file);
  if (cs_stat(path, &status) != 0 || !is_same(file, &status)) return -1;
  const int descriptor = cs_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
  if (descriptor < 0) return -1;
  if (cs_fstat(descriptor, &status) == 0 && is_same(file, &status) && has_build_id(file, descriptor)) {
    return descriptor;
  }
  cs_close(descriptor);
  return -1;
}

uint32_t cs_image_files_open(int ret_descriptors[CS_IMAGE_FILE_LIMIT],
                             uint16_t ret_images[CS_IMAGE_FILE_LIMIT]) SIGNAL_SAFE {
  // acquire: pairs with the release store in cs_images_register().
  const uint32_t file_count = __atomic_load_n(&cs_image_files.count, __ATOMIC_ACQUIRE);
  uint32_t count = 0;
  for (uint32_t index = 0; index < file_count && index < CS_IMAGE_FILE_LIMIT; index++) {
    const cs_image_file *file = &cs_image_files.files[index];
    const int descriptor = open_file(file);
    if (descriptor < 0) continue;
    ret_descriptors[count] = descriptor;
    ret_images[count] = file->image;
    count++;
  }
  return count;
}

#endif
