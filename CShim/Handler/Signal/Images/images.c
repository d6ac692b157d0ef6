#include "cs_platform.h"

#if CS_SUPPORTED

#include "images.h"

#include <link.h>

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "../Kernel/memory.h"
#include "../Kernel/system_call.h"

cs_image_ranges cs_images;

// Returns whether the image in this entry is still mapped. After dlclose(), the loader can map another image at the
// same address, often another version of the same file. The build ID is therefore compared.
static bool is_mapped(uint32_t index) SIGNAL_SAFE {
  const cs_ring_image *image = &cs_process.ring->images[index];
  uint8_t id[CS_RING_BUILD_ID_LIMIT_BYTES];
  const size_t size = image->build_id_bytes;
  if (size == 0 || size > sizeof id) return true;
  return cs_memory_copy(id, cs_images.build_id[index], size) == size && memcmp(id, image->build_id, size) == 0;
}

// Returns the index of the mapped image that contains `pc`, or CS_RING_NO_IMAGE. Stores in `ret_unloaded` the index of
// an image that contained `pc` but is no longer mapped.
static uint16_t look_up(uint64_t pc, uint16_t *ret_unloaded) SIGNAL_SAFE {
  // acquire: pairs with the release stores in add_late() and in the setup.
  const uint32_t count = __atomic_load_n(&cs_images.count, __ATOMIC_ACQUIRE);
  *ret_unloaded = CS_RING_NO_IMAGE;
  for (uint32_t index = 0; index < count; index++) {
    if (pc < cs_images.start[index] || pc >= cs_images.end[index]) continue;
    if (is_mapped(index)) return (uint16_t)index;
    *ret_unloaded = (uint16_t)index;
  }
  return CS_RING_NO_IMAGE;
}

static void copy_path(cs_ring_image *image, uint64_t name) SIGNAL_SAFE {
  const size_t limit = sizeof image->path - 1;
  const size_t size = cs_memory_text_bytes(name, limit + 1);
  if (size > limit) image->flags |= CS_RING_IMAGE_PATH_TRUNCATED;
  cs_memory_copy(image->path, name, size < limit ? size : limit);
}

// Adds an image that was loaded after the shield's start to the image table. Precondition: the calling thread is
// cs_images.writer.
static uint16_t add_late(const struct dl_find_object *object) SIGNAL_SAFE {
  const uint32_t index = cs_images.count;
  cs_ring_header *header = &cs_process.ring->header;
  if (index >= CS_RING_IMAGE_LIMIT) return CS_RING_NO_IMAGE;
  __atomic_fetch_add(&header->image_total, 1, __ATOMIC_RELAXED);

  cs_memory memory = {0};
  cs_ring_image *image = &cs_process.ring->images[index];
  memset(image, 0, sizeof *image);
  image->start = (uint64_t)(uintptr_t)object->dlfo_map_start;
  image->end = (uint64_t)(uintptr_t)object->dlfo_map_end;
  image->flags = CS_RING_IMAGE_LATE;
  const uint64_t map = (uint64_t)(uintptr_t)object->dlfo_link_map;
  uint64_t name = 0;
  if (map != 0) {
    cs_memory_read_word(&memory, map + offsetof(struct link_map, l_addr), &image->bias);
    if (cs_memory_read_word(&memory, map + offsetof(struct link_map, l_name), &name)) copy_path(image, name);
  }
  uint64_t *build_id = &cs_images.build_id[index];
  image->build_id_bytes = cs_image_build_id(image->start, image->end, image->build_id, build_id);

  cs_images.start[index] = image->start;
  cs_images.end[index] = image->end;
  // release: a thread that reads the new number of images also reads the whole entry.
  __atomic_store_n(&cs_images.count, index + 1, __ATOMIC_RELEASE);
  __atomic_store_n(&header->image_count, index + 1, __ATOMIC_RELEASE);
  return (uint16_t)index;
}

// Concurrency: only one thread at a time adds an entry to the image table. Another crashing thread that needs an entry
// at the same time does not wait: its frame gets no image index, but crashd can still find the image by the frame's
// address.
uint16_t cs_image_index(uint64_t pc) SIGNAL_SAFE {
  uint16_t unloaded = CS_RING_NO_IMAGE;
  const uint16_t known = look_up(pc, &unloaded);
  if (known != CS_RING_NO_IMAGE) return known;
  struct dl_find_object object;
  if (_dl_find_object((void *)(uintptr_t)pc, &object) != 0) return unloaded;

  uint32_t no_writer = 0;
  const uint32_t me = (uint32_t)cs_gettid();
  if (!__atomic_compare_exchange_n(&cs_images.writer, &no_writer, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return CS_RING_NO_IMAGE;
  }
  uint16_t index = look_up(pc, &unloaded);
  if (index == CS_RING_NO_IMAGE) index = add_late(&object);
  // release: pairs with the acquire exchange above.
  __atomic_store_n(&cs_images.writer, 0, __ATOMIC_RELEASE);
  return index;
}

#endif
