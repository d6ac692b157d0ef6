// The last resort: the ring as a file, for a crashd that comes later.
#include "deliver.h"

#include "cs_ring_access.h"
#include "trusted.h"

// Memory of the process stands in the file: its owner reads it, and crashd.
#define FILE_MODE 0600
// The spool directory of a system-wide crashd hands its group down (set-group-ID): crashd reads by it.
#define SHARED_FILE_MODE 0640

// A file system that takes a few bytes at a time is as good as none.
#define WRITE_TRIES 64

static bool write_part(int file, const void *bytes, size_t size, uint64_t offset) SIGNAL_SAFE {
  size_t done = 0;
  for (int attempt = 0; attempt < WRITE_TRIES && done < size; attempt++) {
    const long count = cs_pwrite(file, (const uint8_t *)bytes + done, size - done, offset + done);
    if (count == -EINTR) continue;
    if (count <= 0) return false;
    done += (size_t)count;
  }
  return done == size;
}

// What was never used stays a hole.
static bool write_ring(int file) SIGNAL_SAFE {
  const cs_ring *ring = cs_process.ring;
  const uint32_t images = cs_ring_image_count_acquire(&ring->header);
  if (!write_part(file, ring, offsetof(cs_ring, images) + images * sizeof(cs_ring_image), 0)) return false;
  const size_t texts = offsetof(cs_ring, slots) - offsetof(cs_ring, annotations);
  if (!write_part(file, ring->annotations, texts, offsetof(cs_ring, annotations))) return false;

  for (uint32_t index = 0; index < CS_RING_SLOT_LIMIT; index++) {
    const cs_ring_slot *slot = &ring->slots[index];
    const uint64_t offset = offsetof(cs_ring, slots) + index * sizeof *slot;
    const uint64_t state = cs_ring_slot_state_acquire(slot) & CS_RING_STATE_MASK;
    if (state == CS_RING_STATE_FREE) continue;
    const bool is_committed = state == CS_RING_STATE_COMMITTED;
    const size_t stack_bytes = is_committed ? slot->record.stack_bytes : 0;
    if (!write_part(file, slot, offsetof(cs_ring_slot, stack) + stack_bytes, offset)) return false;
  }
  const uint32_t threads = cs_ring_thread_count_acquire(&ring->header);
  if (threads > CS_RING_THREAD_LIMIT) return false;
  if (!write_part(file, ring->threads, threads * sizeof(cs_ring_thread), offsetof(cs_ring, threads))) return false;
  return cs_ftruncate(file, sizeof *ring) == 0;
}

static int create_file(void) SIGNAL_SAFE {
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  int file = cs_openat(AT_FDCWD, cs_process.spool_partial_path, flags, FILE_MODE);
  for (int attempt = 0; cs_reserve_await(file, attempt); attempt++)
    file = cs_openat(AT_FDCWD, cs_process.spool_partial_path, flags, FILE_MODE);
  struct stat directory = {0};
  const bool is_shared = cs_stat(cs_process.spool_directory, &directory) == 0 && (directory.st_mode & S_ISGID) != 0;
  if (file >= 0 && is_shared) cs_fchmod(file, SHARED_FILE_MODE); // whatever the umask
  return file;
}

bool cs_spool_write(void) SIGNAL_SAFE {
  if (cs_process.spool_path[0] == 0) return false;
  // SIGXFSZ would be pending behind the crash, and end the process in its place.
  if (cs_file_size_is_limited(sizeof(cs_ring))) return false;
  // Left by an earlier crash of this process that did not get through.
  cs_unlink(cs_process.spool_partial_path);
  int file = create_file();
  if (file == -ENOENT) {
    // No crashd has ever run here.
    cs_mkdir(cs_process.spool_parent, 0755);
    cs_mkdir(cs_process.spool_directory, 0700);
    file = create_file();
  }
  if (file < 0) return false;
  const bool is_whole = write_ring(file);
  cs_close(file);
  if (is_whole && cs_rename(cs_process.spool_partial_path, cs_process.spool_path) == 0) return true;
  cs_unlink(cs_process.spool_partial_path);
  return false;
}
