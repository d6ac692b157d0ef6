// The connection to crashd, and the shield's thread that keeps this connection open (the connection's thread). The
// thread has its own descriptor table, so every descriptor that it opens, checks or closes is one of the shield's
// (docs/decisions/0114). The first connection is also in the program's descriptor table, because the crash handler runs
// on a thread of the program and uses the connection.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../Ring/caller.h"
#include "../setup.h"
#include "control.h"
#include "last_status.h"
#include "link.h"

#include "../../Signal/Deliver/deliver.h"
#include "../../Signal/Dispatch/replaced_handlers.h"
#include "../../Signal/Dispatch/trusted.h"
#include "../../Signal/Kernel/descriptors.h"
#include "../../Signal/Kernel/privilege.h"

// The stack size leaves space for the program's static thread-locals, which glibc places on the stack, and for a
// profiler's signal handler. Unused pages of the stack need no memory.
#define THREAD_STACK_BYTES (UINT64_C(256) * 1024)
#define REPLY_TIMEOUT_MS   10000
#define BACKOFF_FIRST_NS   (UINT64_C(100) * 1000 * 1000)
// Each pause between two attempts to connect is twice as long as the previous pause, up to this limit. When crashd
// starts again, the thread therefore connects after a pause that is at most about as long as crashd was absent. While
// crashd stays absent, the thread wakes up six times an hour. If a crash occurs between two attempts, the handler
// connects to crashd itself.
#define BACKOFF_LIMIT_NS (UINT64_C(600) * 1000 * 1000 * 1000)

typedef struct attach_client {
  cs_shim_status reported; // the last state that the status callback received
  bool has_reported;
  bool is_remote_allowed;
  bool takes_incidents; // whether crashd accepts incidents
  uint64_t greeted;     // the inode of the connection over which crashd accepted the process; 0: none
  char text[CS_SHIM_STATUS_TEXT_BYTES];
} attach_client;

_Static_assert(CS_ATTACH_TEXT_LIMIT_BYTES < CS_SHIM_STATUS_TEXT_BYTES, "the text of a refusal fits, with a NUL");

static attach_client client;

static void report(cs_shim_status status, const char *text) {
  const bool is_news = !client.has_reported || client.reported != status;
  client.reported = status;
  cs_last_status_set(status, text);
  client.has_reported = !is_news || cs_caller_report_status(status, text);
}

// Connects and sends the hello, the first message to crashd, with the ring's descriptor. Returns the socket, or -errno.
static int attach(void) {
  const int socket = cs_descriptor_raise(cs_connection_open(false));
  if (socket < 0) return socket;
  const long result = cs_hello_send(socket);
  if (result >= 0) return socket;
  cs_close(socket);
  return (int)result;
}

// Waits for a message. Returns the size of the message, or 0 if crashd has closed the connection. Returns a negative
// value on failure, or when the shield's threads are dismissed (asked to end).
static ssize_t receive(int socket, void *to, size_t size, int timeout_ms) {
  // With MSG_TRUNC, recv() returns the full size of a message even if the buffer is too small for it.
  return cs_link_wait(socket, timeout_ms) ? cs_receive(socket, to, size, MSG_DONTWAIT | MSG_TRUNC) : -1;
}

static cs_control_result apply(int socket, const cs_shim_control *control, uint32_t *ret_count) {
  if (!cs_peer_is_trusted(socket)) return CS_CONTROL_FORBIDDEN;
  // CS_CONTROL_LAST_CRASH changes no setting of the process, so it is applied even if the process does not allow
  // controls.
  if (control->kind == CS_CONTROL_LAST_CRASH) return cs_caller_apply(control, ret_count);
  if (!client.is_remote_allowed) return CS_CONTROL_FORBIDDEN;
  // This file applies CS_CONTROL_WITHHOLD itself, because this control must work even if the program links no other
  // library of the shield.
  if (control->kind == CS_CONTROL_WITHHOLD) {
    cs_memory_mode_withhold(control->round);
    return CS_CONTROL_DONE;
  }
  if (control->kind == CS_CONTROL_SWEEP) cs_memory_mode_sweep(control->round);
  return cs_caller_apply(control, ret_count);
}

// Applies a control message of crashd and answers with the result.
static void handle_control(int socket, const uint8_t *message, size_t size) {
  cs_shim_control control;
  cs_control_answer answer = {.magic = CS_CONTROL_ANSWER_MAGIC, .version = CS_CONTROL_VERSION};
  answer.result = cs_control_read(message, size, &control, &answer.number);
  if (answer.result == CS_CONTROL_DONE) answer.result = apply(socket, &control, &answer.count);
  // If crashd does not read the answers and the socket's buffer is full, the answer is dropped.
  if (cs_link_is_ours(socket)) cs_send(socket, &answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL);
}

// The buffer is static, because the stack of the shield's thread is small.
static uint8_t message[CS_CONTROL_LIMIT_BYTES];

// Applies the controls that follow crashd's reply to the hello. This happens before the program's status callback runs,
// so the controls are already in force during the callback.
static void handle_first_controls(int socket, uint32_t count) {
  const cs_shim_control nothing = {.kind = CS_CONTROL_SWEEP};
  uint32_t unused = 0;
  // If crashd sends no control, this call revokes the controls that crashd sent before it was restarted.
  if (count == 0) (void)apply(socket, &nothing, &unused);
  for (uint32_t index = 0; index < count && index < CS_CONTROL_UNANSWERED_LIMIT; index++) {
    const ssize_t size = receive(socket, message, sizeof message, REPLY_TIMEOUT_MS);
    if (size <= 0) return;
    handle_control(socket, message, (size_t)size);
  }
}

static void refuse(const cs_attach_reply *reply) {
  const size_t size = reply->text_bytes < sizeof reply->text ? reply->text_bytes : sizeof reply->text;
  memcpy(client.text, reply->text, size);
  client.text[size] = 0;
  __atomic_store_n(&cs_process.is_refused, 1, __ATOMIC_RELAXED);
  report(CS_SHIM_STATUS_REFUSED, client.text);
}

// If crashd has not yet accepted the process over this connection, reads crashd's reply to the hello. Returns false if
// there is no valid reply.
static bool read_reply(int socket, cs_attach_reply *ret_reply) {
  const ssize_t size = receive(socket, ret_reply, sizeof *ret_reply, REPLY_TIMEOUT_MS);
  return size == (ssize_t)sizeof *ret_reply && ret_reply->magic == CS_ATTACH_MAGIC;
}

// Reads crashd's reply to the hello. Then handles messages until crashd closes the connection or the shield's threads
// are dismissed (asked to end). Returns false if crashd refuses the process.
static bool stay_attached(int socket) {
  const uint64_t inode = cs_link_inode(socket);
  cs_attach_reply reply = {0};
  if (inode != client.greeted) {
    if (!read_reply(socket, &reply)) return true;
    if (reply.status != CS_ATTACH_STATUS_ACCEPTED) {
      refuse(&reply);
      return false;
    }
    client.greeted = inode;
    client.takes_incidents = (reply.flags & CS_ATTACH_TAKES_INCIDENTS) != 0;
    cs_replaced_handlers_note();
    handle_first_controls(socket, reply.control_count);
  }
  cs_own_link_attached(cs_link_can_be_woken());
  cs_link_announce_incidents(client.takes_incidents);
  report(CS_SHIM_STATUS_ATTACHED, cs_process.socket_address.sun_path);
  ssize_t received = 0;
  while ((received = receive(socket, message, sizeof message, -1)) > 0)
    handle_control(socket, message, (size_t)received);
  cs_link_announce_incidents(false);
  cs_own_link_attached(false);
  return true;
}

static void report_unreachable(int error) {
  char reason[96];
  const char *text = error == EPERM ? "an untrusted user listens there" : strerror_r(error, reason, sizeof reason);
  (void)snprintf(client.text, sizeof client.text, "%s: %s", cs_process.socket_address.sun_path, text);
  report(CS_SHIM_STATUS_UNREACHABLE, client.text);
}

void cs_attach_client_pause(uint64_t duration_ns) {
  cs_link_pause(duration_ns);
}

static void keep_connection(void) {
  uint64_t backoff_ns = BACKOFF_FIRST_NS;
  int socket = cs_link_first_connection();
  int error = 0;
  if (socket < 0) error = socket = attach();
  while (!cs_own_are_dismissed()) {
    if (socket >= 0) {
      socket = cs_link_use(socket);
      if (socket >= 0 && !stay_attached(socket)) return;
      if (cs_own_are_dismissed()) return;
      if (client.has_reported && client.reported == CS_SHIM_STATUS_ATTACHED) backoff_ns = BACKOFF_FIRST_NS;
      error = -ECONNRESET;
    }
    report_unreachable(-error);
    cs_attach_client_pause(backoff_ns);
    if (backoff_ns < BACKOFF_LIMIT_NS)
      backoff_ns = backoff_ns * 2 < BACKOFF_LIMIT_NS ? backoff_ns * 2 : BACKOFF_LIMIT_NS;
    cs_link_drop();
    error = socket = attach();
  }
}

void cs_attach_client_connect(void) {
  const int socket = attach();
  if (socket >= 0) cs_connection_publish(socket);
}

cs_shim_error cs_attach_client_restart(cs_shim_failure *ret_failure) {
  static cs_own_thread thread = {.prepare = cs_link_separate,
                                 .routine = keep_connection,
                                 .stack_bytes = THREAD_STACK_BYTES,
                                 .role = CS_OWN_LINK,
                                 .name = "crashshield"};
  // If crashd refused the process over an earlier connection, this thread sends no second hello.
  if (__atomic_load_n(&cs_process.is_refused, __ATOMIC_RELAXED) != 0) return CS_SHIM_OK;
  return cs_own_thread_start(&thread, ret_failure);
}

cs_shim_error cs_attach_client_start(const cs_shim_configuration *configuration, cs_shim_failure *ret_failure) {
  cs_last_status_clear();
  client = (attach_client){.is_remote_allowed = cs_environment_allows_control(configuration)};
  const cs_callbacks callbacks = {.status = configuration->status_function,
                                  .context = configuration->status_context,
                                  .control = configuration->control_function};
  const cs_shim_error error = cs_caller_start(&callbacks, ret_failure);
  return error == CS_SHIM_OK ? cs_attach_client_restart(ret_failure) : error;
}

#endif
