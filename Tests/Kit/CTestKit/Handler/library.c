// A plug-in (a shared library) that a program closes, replaces and opens again. It is a copy of libm with another build
// ID.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../../CShim/Handler/Signal/Images/images.h"
#include "cs_testing.h"
#include "ways.h"

static uint8_t expected[CS_RING_BUILD_ID_LIMIT_BYTES];
static uint32_t expected_bytes;

// A handler that is installed before the shield's handler. Therefore it runs after the shield has written the record.
static void check_record(int signal) {
  (void)signal;
  const cs_ring *ring = cs_testing_ring();
  const uint16_t index = ring->slots[0].record.frames[0].image;
  if (index == CS_RING_NO_IMAGE) _exit(1);
  const cs_ring_image *image = &ring->images[index];
  const bool is_right =
      image->build_id_bytes == expected_bytes && memcmp(image->build_id, expected, expected_bytes) == 0;
  _exit(is_right ? 0 : 2);
}

static bool copy_file(const char *from, const char *to) {
  struct stat status = {0};
  const int source = open(from, O_RDONLY | O_CLOEXEC);
  const int target = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
  fstat(source, &status);
  const bool is_copied = sendfile(target, source, NULL, (size_t)status.st_size) == status.st_size;
  close(source);
  close(target);
  return is_copied;
}

// Returns the offset of the build ID in the file of a loaded library.
static uint64_t build_id_offset(void *library) {
  struct dl_find_object object;
  uint64_t address = 0;
  if (_dl_find_object(dlsym(library, "remquo"), &object) != 0) return 0;
  const uint64_t start = (uint64_t)(uintptr_t)object.dlfo_map_start;
  expected_bytes = cs_image_build_id(start, (uint64_t)(uintptr_t)object.dlfo_map_end, expected, &address);
  return address == 0 ? 0 : address - start;
}

static bool replace(const char *path, const char *other_path, uint64_t offset) {
  expected[0] ^= 0xff;
  const int file = open(other_path, O_WRONLY | O_CLOEXEC);
  const bool is_changed = pwrite(file, expected, 1, (off_t)offset) == 1;
  close(file);
  return is_changed && rename(other_path, path) == 0;
}

int cs_test_replace_library(const char *directory) {
  char path[256];
  char other_path[256];
  struct link_map *map = NULL;
  snprintf(path, sizeof path, "%s/plugin.so", directory);
  snprintf(other_path, sizeof other_path, "%s/plugin.new", directory);
  void *original = dlopen("libm.so.6", RTLD_NOW);
  if (original == NULL || dlinfo(original, RTLD_DI_LINKMAP, &map) != 0) return 3;
  if (!copy_file(map->l_name, path) || !copy_file(map->l_name, other_path)) return 4;

  signal(SIGSEGV, check_record);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  cs_test_start(directory);
  const uint64_t offset = library == NULL ? 0 : build_id_offset(library);
  if (offset == 0 || dlclose(library) != 0 || !replace(path, other_path, offset)) return 5;
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  double (*remainder)(double, double, int *) = NULL;
  if (library != NULL) *(void **)&remainder = dlsym(library, "remquo");
  if (remainder != NULL) remainder(7, 2, (int *)8);
  return 6;
}
