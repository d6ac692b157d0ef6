// The images that are loaded when we start, and their files.
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "setup.h"

#include "../Signal/images.h"

typedef struct registration {
  const char *executable;
  uint32_t total;
  uint32_t count;
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

// The distribution's own libraries: crashd finds them by path. Swift's runtime may be the container's, so it is sent.
static bool is_system_path(const char *path) {
  if (strstr(path, "/swift/") != NULL) return false;
  return starts_with(path, "/lib/") || starts_with(path, "/lib64/") || starts_with(path, "/usr/lib/") ||
         starts_with(path, "/usr/lib64/");
}

static bool is_sent(const cs_ring_image *image) {
  const char *path = (const char *)image->path;
  if ((image->flags & CS_RING_IMAGE_EXECUTABLE) != 0) return true;
  return (image->flags & CS_RING_IMAGE_VDSO) == 0 && path[0] == '/' && image->build_id_bytes > 0 &&
         !is_system_path(path);
}

// Called under the loader's lock: nothing here loads or allocates.
static int register_image(struct dl_phdr_info *info, size_t info_bytes, void *context) {
  (void)info_bytes;
  registration *now = context;
  uint64_t start = 0;
  uint64_t end = 0;
  if (!find_range(info, &start, &end)) return 0;
  now->total++;
  if (now->count == CS_RING_IMAGE_LIMIT) return 0;

  cs_ring_image *image = &cs_process.ring->images[now->count];
  memset(image, 0, sizeof *image);
  image->bias = info->dlpi_addr;
  image->start = start;
  image->end = end;
  // The loader reports the executable first, without a name.
  const bool is_executable = now->total == 1;
  const bool is_vdso = getauxval(AT_SYSINFO_EHDR) == start;
  if (is_executable) image->flags |= CS_RING_IMAGE_EXECUTABLE;
  if (is_vdso) image->flags |= CS_RING_IMAGE_VDSO;
  set_path(image, is_executable ? now->executable : info->dlpi_name);
  image->build_id_bytes = cs_image_build_id(start, end, image->build_id, &cs_images.build_id[now->count]);
  cs_images.start[now->count] = start;
  cs_images.end[now->count] = end;
  cs_images.is_sent[now->count] = is_sent(image);
  now->count++;
  return 0;
}

void cs_images_inherit(const cs_ring *parent) {
  cs_ring *ring = cs_process.ring;
  const uint32_t count = __atomic_load_n(&cs_images.count, __ATOMIC_RELAXED);
  memcpy(ring->images, parent->images, count * sizeof ring->images[0]);
  ring->header.image_total = parent->header.image_total;
  cs_images.writer = 0; // perhaps a thread of the parent's
  __atomic_store_n(&ring->header.image_count, count, __ATOMIC_RELEASE);
}

void cs_images_register(const char *executable) {
  registration now = {.executable = executable};
  dl_iterate_phdr(register_image, &now);
  cs_ring_header *header = &cs_process.ring->header;
  header->image_total = now.total;
  // release: pairs with the acquires of cs_image_index() and cs_ring_image_count_acquire().
  __atomic_store_n(&cs_images.count, now.count, __ATOMIC_RELEASE);
  __atomic_store_n(&header->image_count, now.count, __ATOMIC_RELEASE);
}
