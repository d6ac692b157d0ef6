// Writes the ring to a file if no crashd can be reached. If crashd can be reached, the handler also writes a copy,
// because crashd can be killed before it has stored the report (docs/decisions/0070).
#include "cs_platform.h"

#if CS_SUPPORTED

#include "deliver.h"

#include "../Dispatch/trusted.h"
#include "../Kernel/privilege.h"
#include "cs_ring_access.h"

// The file contains memory of the process, so only its owner and crashd are allowed to read it.
#define FILE_MODE 0600
// The spool directory of a system-wide crashd has the set-group-ID bit, so new files get its group. crashd reads them
// as a member of this group.
#define SHARED_FILE_MODE 0640

// A copy is written only if this number of bytes, or a quarter of the file system, is free.
#define COPY_RESERVE_BYTES (UINT64_C(256) << 20)

// The directory and name of the spool file.
typedef struct spool_place {
  int directory;
  const char *partial;
  const char *whole;
} spool_place;

static spool_place place_by_path(void) SIGNAL_SAFE {
  return (spool_place){AT_FDCWD, cs_process.spool_partial_path, cs_process.spool_path};
}

// Uses the descriptor of the directory that was opened at the shield's start, because the path can refer to another
// directory now. For example, the process can have changed its root, its mounts or its user.
static spool_place place_as_opened(void) SIGNAL_SAFE {
  const size_t name = cs_process.spool_name_offset;
  return (spool_place){cs_process.spool.number, cs_process.spool_partial_path + name, cs_process.spool_path + name};
}

// Reads the status of the spool directory. Returns a negative errno value on failure.
static long look(const spool_place *place, struct stat *ret_directory) SIGNAL_SAFE {
  return place->directory >= 0 ? cs_fstat(place->directory, ret_directory)
                               : cs_stat(cs_process.spool_directory, ret_directory);
}

// Returns whether the directory is trusted, so that a file in it can contain the ring, which only the process's user
// and crashd are allowed to read. A directory is not trusted if an untrusted user owns it, or if other users are
// allowed to replace files in it.
static bool is_believed(const struct stat *directory) SIGNAL_SAFE {
  const bool is_open = (directory->st_mode & (S_IWGRP | S_IWOTH)) != 0 && (directory->st_mode & S_ISVTX) == 0;
  return S_ISDIR(directory->st_mode) && !is_open && cs_user_is_trusted(directory->st_uid);
}

static int create_file(const spool_place *place) SIGNAL_SAFE {
  struct stat directory = {0};
  const long result = look(place, &directory);
  if (result < 0) return (int)result;
  if (!is_believed(&directory)) return -EPERM;
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  // If the temporary file exists, an earlier crash of this process has left a partial file.
  cs_unlinkat(place->directory, place->partial);
  int file = cs_openat(place->directory, place->partial, flags, FILE_MODE);
  for (int attempt = 0; cs_reserve_await(file, attempt); attempt++)
    file = cs_openat(place->directory, place->partial, flags, FILE_MODE);
  // The umask does not affect the mode that fchmod() sets. The directory can have been replaced after the check, so the
  // file's group must be that of the checked directory.
  struct stat status = {0};
  const bool is_shared = file >= 0 && (directory.st_mode & S_ISGID) != 0;
  if (is_shared && cs_fstat(file, &status) == 0 && status.st_gid == directory.st_gid) {
    cs_fchmod(file, SHARED_FILE_MODE);
  }
  return file;
}

void cs_spool_make_directory(void) SIGNAL_SAFE {
  if (cs_process.spool_path[0] == 0) return;
  cs_mkdir(cs_process.spool_parent, 0755);
  cs_mkdir(cs_process.spool_directory, 0700);
}

static int create_file_by_path(const spool_place *place) SIGNAL_SAFE {
  int file = create_file(place);
  // The directories can be missing, because crashd has never run on this machine. No crashd will then read the file, so
  // a record line on stderr is more useful. If the line cannot be written, cs_deliver_to_new_directory() makes the
  // directories.
  if (file != -ENOENT || cs_process.record_to_stderr) return file;
  cs_spool_make_directory();
  return create_file(place);
}

// Returns whether the file's owner is allowed to read the process's data. If the kernel would refuse the process's user
// a core dump (privilege.h), only root is allowed, and files of other users get a reduced ring.
static bool is_for_owner(int file) SIGNAL_SAFE {
  struct stat status = {0};
  if (__atomic_load_n(&cs_process.is_restricted, __ATOMIC_RELAXED) == 0) return true;
  return cs_fstat(file, &status) == 0 && status.st_uid == 0;
}

// Writes the spool file. If this fails and `is_new` is true, leaves an empty file, which crashd counts as a lost crash.
// If `is_new` is false, keeps the existing file instead.
static bool write_file(bool is_new) SIGNAL_SAFE {
  if (cs_process.spool_path[0] == 0) return false;
  spool_place place = place_as_opened();
  int file = cs_descriptor_is_ours(&cs_process.spool) ? create_file(&place) : -ENOENT;
  if (file == -ENOENT) {
    // The directory did not exist at the start, or was removed since then.
    place = place_by_path();
    file = create_file_by_path(&place);
  }
  if (file < 0) return false;
  // A write beyond RLIMIT_FSIZE would make SIGXFSZ pending. The process would then end by SIGXFSZ instead of the crash
  // signal.
  const bool has_room_left = !cs_file_size_is_limited(sizeof(cs_ring));
  const bool is_whole = has_room_left && (is_for_owner(file) ? cs_spool_put_ring(file) : cs_spool_put_bare_ring(file));
  const bool is_complete = is_whole || (is_new && cs_ftruncate(file, 0) == 0);
  cs_close(file);
  if (is_complete && cs_renameat(place.directory, place.partial, place.whole) == 0) return is_whole;
  cs_unlinkat(place.directory, place.partial);
  return false;
}

bool cs_spool_write(void) SIGNAL_SAFE {
  return write_file(true);
}

static bool is_needed(void) SIGNAL_SAFE {
  if (__atomic_load_n(&cs_process.spooled_pending, __ATOMIC_SEQ_CST) != 0) return true;
  for (uint32_t index = 0; index < CS_RING_SLOT_LIMIT; index++) {
    const uint64_t state = cs_ring_slot_state_acquire(&cs_process.ring->slots[index]) & CS_RING_STATE_MASK;
    if (state == CS_RING_STATE_COMMITTED) return true;
  }
  return false;
}

void cs_spool_take_back(void) SIGNAL_SAFE {
  if (cs_process.spool_path[0] == 0) return;
  if (is_needed()) write_file(false);
  // Another thread can have withdrawn its record while the file was written, so this code checks again whether the file
  // is needed.
  if (is_needed()) return;
  const spool_place opened = place_as_opened();
  if (cs_descriptor_is_ours(&cs_process.spool) && cs_unlinkat(opened.directory, opened.whole) == 0) return;
  const spool_place place = place_by_path();
  cs_unlinkat(place.directory, place.whole);
}

// Returns whether the directory was made for crashd, which deletes old files in it: such a directory has the sticky bit
// and is writable for all users. In a directory that the shield made, possibly nothing deletes old files.
static bool is_cleared(const spool_place *place) SIGNAL_SAFE {
  const mode_t wanted = S_ISVTX | S_IWOTH;
  struct stat directory = {0};
  return look(place, &directory) == 0 && (directory.st_mode & wanted) == wanted;
}

// Returns whether enough space is free, so that a copy does not use up the space for spool files that are the only copy
// of a crash, and for other files in /run.
static bool has_room(int file) SIGNAL_SAFE {
  struct statfs space = {0};
  if (cs_fstatfs(file, &space) != 0 || space.f_bsize <= 0) return false;
  const uint64_t quarter = (uint64_t)space.f_blocks / 4;
  const uint64_t enough = COPY_RESERVE_BYTES / (uint64_t)space.f_bsize;
  return (uint64_t)space.f_bavail >= (quarter < enough ? quarter : enough);
}

static int create_copy(spool_place *place) SIGNAL_SAFE {
  *place = place_as_opened();
  if (cs_descriptor_is_ours(&cs_process.spool)) {
    const int file = is_cleared(place) ? create_file(place) : -EPERM;
    if (file != -ENOENT) return file;
  }
  *place = place_by_path();
  return is_cleared(place) ? create_file(place) : -EPERM;
}

// crashd accepts a copy only if its owner is the user as which the process attached. A thread of the process can create
// files as another user (setfsuid). In this case, no copy is written, because the other user must not read the ring's
// memory.
static bool is_of_user(int file) SIGNAL_SAFE {
  struct stat status = {0};
  return cs_fstat(file, &status) == 0 && status.st_uid == cs_process.user;
}

bool cs_spool_copy(void) SIGNAL_SAFE {
  if (cs_process.spool_path[0] == 0 || !cs_process.is_copied) return false;
  spool_place place;
  const int file = create_copy(&place);
  if (file < 0) return false;
  const bool is_whole = is_of_user(file) && is_for_owner(file) && has_room(file) &&
                        !cs_file_size_is_limited(sizeof(cs_ring)) && cs_spool_put_ring(file);
  cs_close(file);
  if (is_whole && cs_renameat(place.directory, place.partial, place.whole) == 0) return true;
  cs_unlinkat(place.directory, place.partial);
  return false;
}

#endif
