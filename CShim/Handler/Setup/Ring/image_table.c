// Lists the images (the executable and its shared libraries) that are loaded when the shield starts, and selects the
// image files whose descriptors the shield sends to crashd.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "../setup.h"

#include "../../Signal/Images/image_files.h"
#include "../../Signal/Images/images.h"

typedef struct registration {
  const char *executable;
  uint32_t total;
  uint32_t count;
  uint32_t file_count;
} registration;

static void set_path(cs_ring_image *image, const char *path) {
  const size_t limit = sizeof image->path - 1;
  const size_t size = strlen(path);
  if (size > limit) image->flags |= CS_RING_IMAGE_PATH_TRUNCATED;
  memcpy(image->path, path, size < limit ? size : limit);
}

static bool find_range(const struct dl_phdr_info *info, uint64_t *ret_start, uint64_t *ret_end) {
  uint64_t low = UINT64_MAX;
  uint64_t high = 0;
  for (int index = 0; index < info->dlpi_phnum; index++) {
    const ElfW(Phdr) *program = &info->dlpi_phdr[index];
    if (program->p_type != PT_LOAD) continue;
    if (program->p_vaddr < low) low = program->p_vaddr;
    if (program->p_vaddr + program->p_memsz > high) high = program->p_vaddr + program->p_memsz;
  }
  if (high <= low) return false;
  *ret_start = info->dlpi_addr + (low & ~(CS_PAGE_BYTES - 1));
  *ret_end = info->dlpi_addr + ((high + CS_PAGE_BYTES - 1) & ~(CS_PAGE_BYTES - 1));
  return true;
}

static bool starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

// Returns whether the path belongs to the Linux distribution. The shield does not send such a file, because crashd
// finds it by its path. The Swift runtime is an exception: it can be a part of a container image that crashd cannot
// read, so it is sent.
static bool is_system_path(const char *path) {
  if (strstr(path, "/swift/") != NULL) return false;
  return starts_with(path, "/lib/") || starts_with(path, "/lib64/") || starts_with(path, "/usr/lib/") ||
         starts_with(path, "/usr/lib64/");
}

// Returns whether the image's file is sent to crashd. A file without a build ID is not: crashd cannot use it, and the
// shield could not detect that it was replaced.
static bool is_sent(const cs_ring_image *image, const char *path) {
  if (image->build_id_bytes == 0 || (image->flags & CS_RING_IMAGE_VDSO) != 0) return false;
  if ((image->flags & CS_RING_IMAGE_EXECUTABLE) != 0) return true;
  return path[0] == '/' && (image->flags & CS_RING_IMAGE_PATH_TRUNCATED) == 0 && !is_system_path(path);
}

// Adds the file of an image to the files that are sent to crashd. If the file was replaced after the loader loaded it,
// the file's build ID differs from the image's, and the file is not sent.
static void note_file(registration *now, const cs_ring_image *image, const char *path) {
  if (now->file_count == CS_IMAGE_FILE_LIMIT || !is_sent(image, path)) return;
  cs_image_file *file = &cs_image_files.files[now->file_count];
  struct stat status = {0};
  *file = (cs_image_file){.image = (uint16_t)now->count,
                          .is_executable = (image->flags & CS_RING_IMAGE_EXECUTABLE) != 0,
                          .build_id_bytes = image->build_id_bytes};
  memcpy(file->build_id, image->build_id, sizeof file->build_id);
  if (!file->is_executable) memcpy(file->path, path, strlen(path)); // is_sent refuses truncated paths
  if (cs_stat(cs_image_file_path(file), &status) != 0) return;
  file->device = (uint64_t)status.st_dev;
  file->inode = (uint64_t)status.st_ino;
  now->file_count++;
}

// The loader holds its lock while it calls this function, so this function must not load images or allocate memory.
static int register_image(struct dl_phdr_info *info, size_t info_bytes, void *context) {
  (void)info_bytes;
  registration *now = context;
  uint64_t start = 0;
  uint64_t end = 0;
  if (!find_range(info, &start, &end)) return 0;
  now->total++;
  if (now->count == CS_RING_IMAGE_LIMIT) return 0;

  // The entry is filled in private memory and then copied. The shield later reads the private entry, because the
  // program can overwrite the ring.
  cs_ring_image image = {.bias = info->dlpi_addr, .start = start, .end = end};
  // The loader reports the executable first, without a name.
  const bool is_executable = now->total == 1;
  const bool is_vdso = getauxval(AT_SYSINFO_EHDR) == start;
  if (is_executable) image.flags |= CS_RING_IMAGE_EXECUTABLE;
  if (is_vdso) image.flags |= CS_RING_IMAGE_VDSO;
  const char *path = is_executable ? now->executable : info->dlpi_name;
  set_path(&image, path);
  image.build_id_bytes = cs_image_build_id(start, end, image.build_id, &cs_images.build_id[now->count]);
  cs_process.ring->images[now->count] = image;
  cs_images.start[now->count] = start;
  cs_images.end[now->count] = end;
  note_file(now, &image, path);
  now->count++;
  return 0;
}

void cs_images_inherit(const cs_ring *parent) {
  cs_ring *ring = cs_process.ring;
  const uint32_t count = __atomic_load_n(&cs_images.count, __ATOMIC_RELAXED);
  memcpy(ring->images, parent->images, count * sizeof ring->images[0]);
  ring->header.image_total = parent->header.image_total;
  cs_images.writer = 0; // in a forked child, `writer` may still be the ID of a thread of the parent
  __atomic_store_n(&ring->header.image_count, count, __ATOMIC_RELEASE);
}

void cs_images_register(const char *executable) {
  registration now = {.executable = executable};
  // If the process crashes while this function runs, the crash handler sends no files.
  __atomic_store_n(&cs_image_files.count, 0, __ATOMIC_RELEASE);
  dl_iterate_phdr(register_image, &now);
  // release: pairs with the acquire load of cs_image_files_open().
  __atomic_store_n(&cs_image_files.count, now.file_count, __ATOMIC_RELEASE);
  cs_ring_header *header = &cs_process.ring->header;
  header->image_total = now.total;
  // release: pairs with the acquire loads of cs_image_index() and cs_ring_image_count_acquire().
  __atomic_store_n(&cs_images.count, now.count, __ATOMIC_RELEASE);
  __atomic_store_n(&header->image_count, now.count, __ATOMIC_RELEASE);
}

#endif
