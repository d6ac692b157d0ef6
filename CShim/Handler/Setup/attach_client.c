// The connection to crashd and the idle thread that keeps it.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "control.h"
#include "setup.h"

#include "../Signal/deliver.h"
#include "../Signal/present.h"
#include "../Signal/trusted.h"

// Room for the status callback; untouched pages cost nothing.
#define THREAD_STACK_BYTES (UINT64_C(256) * 1024)
#define REPLY_TIMEOUT_MS   10000
#define BACKOFF_FIRST_NS   (UINT64_C(100) * 1000 * 1000)
// The pauses double, so that a daemon is found at the latest when it has been away as long again. A machine that has
// none wakes this thread six times an hour; a crash meanwhile looks for a daemon itself.
#define BACKOFF_LIMIT_NS (UINT64_C(600) * 1000 * 1000 * 1000)

typedef struct attach_client {
  cs_shim_status_function function;
  void *context;
  cs_shim_status told; // what the function was called with last
  bool has_told;
  cs_shim_control_function control;
  bool is_remote_allowed;
  char text[CS_ATTACH_TEXT_LIMIT_BYTES + 160];
} attach_client;

static attach_client client;

// cs_shim_status + 1 of what was told last, 0 when nothing was; atomic, for others than the idle thread.
static uint32_t last_told;

bool cs_shim_last_status(cs_shim_status *ret_status) {
  const uint32_t told = cs_shim_is_started() ? __atomic_load_n(&last_told, __ATOMIC_RELAXED) : 0;
  if (told == 0) return false;
  *ret_status = (cs_shim_status)(told - 1);
  return true;
}

static void tell(cs_shim_status status, const char *text) {
  const bool is_news = !client.has_told || client.told != status;
  client.has_told = true;
  client.told = status;
  __atomic_store_n(&last_told, (uint32_t)status + 1, __ATOMIC_RELAXED);
  if (is_news && client.function != NULL) client.function(client.context, status, text);
}

// Connects and introduces the process; negative: -errno.
static int attach(void) {
  const int socket = cs_connection_open(false);
  if (socket < 0) return socket;
  const long result = cs_hello_send(socket);
  if (result < 0) {
    close(socket);
    return (int)result;
  }
  cs_connection_publish(socket);
  return 0;
}

static int connection(void) {
  return __atomic_load_n(&cs_connection_now.number, __ATOMIC_ACQUIRE);
}

// Waits for a message; its size, 0 at the hang-up, negative on failure.
static ssize_t receive(int socket, void *to, size_t size, int timeout_ms) {
  struct pollfd wait = {.fd = socket, .events = POLLIN};
  int ready = 0;
  do {
    ready = poll(&wait, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  // The kernel waits for the file that was there at first. A program that closed it meanwhile may have a socket of its
  // own at that number, and its data are not ours to take.
  // With MSG_TRUNC the size is that of the message, also where it was cut off.
  return ready <= 0 || !cs_connection_is_ours(socket) ? -1 : recv(socket, to, size, MSG_DONTWAIT | MSG_TRUNC);
}

// Whether the other end may tell this process what to do: root (also as systemd, which made the socket), our own user,
// or who owns the directory that the socket was found in, and so decides anyhow which daemon we find.
static bool may_control(int socket) {
  struct ucred peer = {0};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof peer) return false;
  if (peer.uid == 0 || peer.uid == geteuid()) return true;
  char directory[sizeof cs_process.socket_address.sun_path];
  memcpy(directory, cs_process.socket_address.sun_path, sizeof directory);
  char *const slash = strrchr(directory, '/');
  struct stat status = {0};
  if (slash == NULL || slash == directory) return false;
  *slash = 0;
  return stat(directory, &status) == 0 && status.st_uid == peer.uid;
}

static cs_control_result obey(int socket, const cs_shim_control *control, uint32_t *ret_count) {
  if (!client.is_remote_allowed || !may_control(socket)) return CS_CONTROL_FORBIDDEN;
  // The shim's own matter, also where no library above it can do anything.
  if (control->kind == CS_CONTROL_WITHHOLD) {
    cs_memory_mode_withhold(control->round);
    return CS_CONTROL_DONE;
  }
  if (control->kind == CS_CONTROL_SWEEP) cs_memory_mode_sweep(control->round);
  return client.control == NULL ? CS_CONTROL_UNAVAILABLE : client.control(control, ret_count);
}

// Does what crashd asks for, and says what came of it.
static void take_control(int socket, const uint8_t *message, size_t size) {
  cs_shim_control control;
  cs_control_answer answer = {.magic = CS_CONTROL_ANSWER_MAGIC, .version = CS_CONTROL_VERSION};
  answer.result = cs_control_read(message, size, &control, &answer.number);
  if (answer.result == CS_CONTROL_DONE) answer.result = obey(socket, &control, &answer.count);
  // A crashd that does not read its answers is told no more. The program may have closed the connection meanwhile.
  if (cs_connection_is_ours(socket)) (void)send(socket, &answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Of the shield's own thread, whose stack is small.
static uint8_t message[CS_CONTROL_LIMIT_BYTES];

// What comes right after the reply: as soon as the program is told that it is attached, it is in force.
static void take_first_controls(int socket, uint32_t count) {
  const cs_shim_control nothing = {.kind = CS_CONTROL_SWEEP};
  uint32_t unused = 0;
  // A crashd that asks for nothing takes back what one before it has asked for.
  if (count == 0) (void)obey(socket, &nothing, &unused);
  for (uint32_t index = 0; index < count && index < CS_CONTROL_UNANSWERED_LIMIT; index++) {
    const ssize_t size = receive(socket, message, sizeof message, REPLY_TIMEOUT_MS);
    if (size <= 0) return;
    take_control(socket, message, (size_t)size);
  }
}

static void refuse(const cs_attach_reply *reply) {
  const size_t size = reply->text_bytes < sizeof reply->text ? reply->text_bytes : sizeof reply->text;
  memcpy(client.text, reply->text, size);
  client.text[size] = 0;
  __atomic_store_n(&cs_process.is_refused, 1, __ATOMIC_RELAXED);
  tell(CS_SHIM_STATUS_REFUSED, client.text);
}

// Reads the reply, then sleeps until crashd goes away. false: it does not want us.
static bool stay_attached(int socket) {
  cs_attach_reply reply;
  const ssize_t size = receive(socket, &reply, sizeof reply, REPLY_TIMEOUT_MS);
  if (size != (ssize_t)sizeof reply || reply.magic != CS_ATTACH_MAGIC) return true;
  if (reply.status != CS_ATTACH_STATUS_ACCEPTED) {
    refuse(&reply);
    return false;
  }
  cs_present_handlers_note();
  take_first_controls(socket, reply.control_count);
  tell(CS_SHIM_STATUS_ATTACHED, cs_process.socket_address.sun_path);
  ssize_t received = 0;
  while ((received = receive(socket, message, sizeof message, -1)) > 0)
    take_control(socket, message, (size_t)received);
  return true;
}

static void tell_unreachable(int error) {
  char reason[96];
  const char *text = strerror_r(error, reason, sizeof reason);
  (void)snprintf(client.text, sizeof client.text, "%s: %s", cs_process.socket_address.sun_path, text);
  tell(CS_SHIM_STATUS_UNREACHABLE, client.text);
}

// A profiler's SIGPROF, which this thread leaves open, must not make each pause a short one.
void cs_attach_client_pause(uint64_t duration_ns) {
  struct timespec left = {.tv_sec = (time_t)(duration_ns / UINT64_C(1000000000)),
                          .tv_nsec = (long)(duration_ns % UINT64_C(1000000000))};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

static void *run(void *unused) {
  (void)unused;
  uint64_t backoff_ns = BACKOFF_FIRST_NS;
  int error = connection() >= 0 ? 0 : attach();
  for (;;) {
    if (error == 0) {
      if (!stay_attached(connection())) return NULL;
      if (client.has_told && client.told == CS_SHIM_STATUS_ATTACHED) backoff_ns = BACKOFF_FIRST_NS;
      error = -ECONNRESET;
    }
    tell_unreachable(-error);
    cs_attach_client_pause(backoff_ns);
    if (backoff_ns < BACKOFF_LIMIT_NS)
      backoff_ns = backoff_ns * 2 < BACKOFF_LIMIT_NS ? backoff_ns * 2 : BACKOFF_LIMIT_NS;
    error = attach();
  }
}

void cs_attach_client_connect(void) {
  attach();
}

cs_shim_error cs_attach_client_start(const cs_shim_configuration *configuration, cs_shim_failure *ret_failure) {
  __atomic_store_n(&last_told, 0, __ATOMIC_RELAXED);
  client = (attach_client){.function = configuration->status_function,
                           .context = configuration->status_context,
                           .control = configuration->control_function,
                           .is_remote_allowed = cs_environment_allows_control(configuration)};
  static cs_own_thread thread = {.routine = run, .stack_bytes = THREAD_STACK_BYTES};
  return cs_own_thread_start(&thread, true, ret_failure);
}
