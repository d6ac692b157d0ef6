#include "cs_platform.h"

#if CS_SUPPORTED

#include "deliver.h"

#include "../Dispatch/crasher.h"
#include "../Dispatch/trusted.h"
#include "../Images/image_files.h"
#include "../Kernel/privilege.h"

// If no descriptor is free, a crashing thread tries at most 100 times to get one, with a pause of 1 ms between two
// attempts.
#define RESERVE_TRIES    100
#define RESERVE_SLEEP_NS 1000000

int cs_connection_open(bool is_crash) SIGNAL_SAFE {
  if (cs_process.socket_address_bytes == 0) return -ENOENT;
  const int type = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
  int number = cs_socket(AF_UNIX, type);
  for (int attempt = 0; is_crash && cs_reserve_await(number, attempt); attempt++)
    number = cs_socket(AF_UNIX, type);
  if (number < 0) return number;
  long result = cs_connect(number, &cs_process.socket_address, cs_process.socket_address_bytes);
  // If an untrusted user listens on the socket, sends nothing.
  if (result >= 0 && !cs_peer_is_trusted(number)) result = -EPERM;
  if (result < 0) {
    cs_close(number);
    return (int)result;
  }
  return number;
}

static long send_hello(int socket, const int *image_descriptors, const uint16_t *images,
                       uint32_t image_count) SIGNAL_SAFE {
  cs_attach_hello hello = {
      .magic = CS_ATTACH_MAGIC,
      .version = CS_ATTACH_VERSION,
      .ring_version = CS_RING_VERSION,
      .ring_bytes = sizeof(cs_ring),
      .pid = cs_process.pid,
      .image_count = image_count,
  };
  if (image_count > 0) memcpy(hello.images, images, image_count * sizeof *images);

  _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE((CS_IMAGE_FILE_LIMIT + 1) * sizeof(int))];
  memset(control, 0, sizeof control);
  struct iovec part = {&hello, sizeof hello};
  const size_t descriptor_bytes = (image_count + 1) * sizeof(int);
  const struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE(descriptor_bytes)};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptor_bytes);
  memcpy(CMSG_DATA(header), &cs_process.ring_descriptor.number, sizeof(int));
  if (image_count > 0) memcpy(CMSG_DATA(header) + sizeof(int), image_descriptors, image_count * sizeof(int));
  return cs_sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

long cs_hello_send(int socket) SIGNAL_SAFE {
  int descriptors[CS_IMAGE_FILE_LIMIT];
  uint16_t images[CS_IMAGE_FILE_LIMIT];
  if (!cs_descriptor_is_ours(&cs_process.ring_descriptor)) return -EBADF;
  cs_privilege_note();
  const uint32_t count = cs_image_files_open(descriptors, images);
  const long result = send_hello(socket, descriptors, images, count);
  for (uint32_t index = 0; index < count; index++)
    cs_close(descriptors[index]);
  return result;
}

bool cs_connection_is_ours(int number) SIGNAL_SAFE {
  struct stat status = {0};
  const uint64_t inode = __atomic_load_n(&cs_connection_now.inode, __ATOMIC_RELAXED);
  return number >= 0 && cs_fstat(number, &status) == 0 && S_ISSOCK(status.st_mode) && (uint64_t)status.st_ino == inode;
}

void cs_connection_publish(int socket) SIGNAL_SAFE {
  struct stat status = {0};
  if (cs_fstat(socket, &status) != 0) return;
  const int number = __atomic_load_n(&cs_connection_now.number, __ATOMIC_ACQUIRE);
  const cs_descriptor present = {.number = number,
                                 .device = (uint64_t)status.st_dev, // all sockets have the same device number
                                 .inode = __atomic_load_n(&cs_connection_now.inode, __ATOMIC_RELAXED)};
  const bool is_replaced = number != socket && cs_descriptor_is_ours(&present);
  __atomic_store_n(&cs_connection_now.inode, (uint64_t)status.st_ino, __ATOMIC_RELAXED);
  if (is_replaced) {
    // Between the store of the new inode and the dup3(), `number` still refers to the old socket. A thread that crashes
    // in this interval detects that the inodes differ, and opens its own connection.
    cs_system_call(SYS_dup3, socket, number, O_CLOEXEC, 0, 0, 0);
    cs_close(socket);
  } else {
    // release: pairs with the acquire loads of the number.
    __atomic_store_n(&cs_connection_now.number, socket, __ATOMIC_RELEASE);
  }
}

static bool close_reserve(void) SIGNAL_SAFE {
  return cs_descriptor_is_ours(&cs_process.reserve) && cs_close(cs_process.reserve.number) == 0;
}

// Closing the reserved descriptor does not help if the program has lowered its limit of descriptors below that number
// since the start. A thread that has its own descriptor table therefore closes a standard stream in this table, which
// stays open in the program's table. stderr is not closed if the handler must write to it.
static bool close_stream(void) SIGNAL_SAFE {
  cs_crasher *crasher = cs_crasher_of(cs_gettid());
  const bool is_stderr_needed = cs_process.words_to_stderr || cs_process.record_to_stderr;
  const int last = is_stderr_needed ? STDOUT_FILENO : STDERR_FILENO;
  while (crasher != NULL && crasher->has_own_table && crasher->next_spare <= last) {
    if (cs_close(crasher->next_spare++) == 0) return true;
  }
  return false;
}

bool cs_reserve_spend(long result) SIGNAL_SAFE {
  if (result != -EMFILE && result != -ENFILE) return false;
  // Closes the reserved descriptor and, after EMFILE, also a standard stream. Closing only the reserved descriptor is
  // not always sufficient, and some callers retry only once.
  const bool has_room = close_reserve();
  return (result == -EMFILE && close_stream()) || has_room;
}

bool cs_reserve_await(long result, int attempt) SIGNAL_SAFE {
  if (result != -EMFILE && result != -ENFILE) return false;
  if (cs_reserve_spend(result)) return true;
  if (attempt >= RESERVE_TRIES) return false;
  cs_sleep_ns(RESERVE_SLEEP_NS);
  return true;
}

#endif
