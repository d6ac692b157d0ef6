// Determines the socket of crashd, the spool directory and the name of the process from the configuration, the
// CRASHSHIELD_* variables and defaults.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../setup.h"

#include "../../Signal/Dispatch/watchdog.h"
#include "../../Signal/Threads/sweep.h"

// Returns the variable's value. Returns NULL if the variable is absent or empty, or if the program has more privileges
// than its caller (setuid, secure_getenv).
static const char *variable(const char *name) {
  const char *value = secure_getenv(name);
  return value != NULL && value[0] != 0 ? value : NULL;
}

// An environment variable, which a deployment sets, takes precedence over the value that the program's code configures.
static const char *preferred(const char *name, const char *configured) {
  const char *value = variable(name);
  return value != NULL || configured == NULL || configured[0] == 0 ? value : configured;
}

static const char *chosen(const char *configured, const char *name) {
  return configured != NULL && configured[0] != 0 ? configured : variable(name);
}

static bool is_set(const char *name) {
  const char *value = variable(name);
  return value != NULL && strcmp(value, "0") != 0;
}

bool cs_environment_is_disabled(void) {
  return is_set("CRASHSHIELD_DISABLE");
}

const char *cs_shim_containment_variable(void) {
  return variable("CRASHSHIELD_CONTAINMENT");
}

bool cs_environment_gives_stacks(void) {
  const char *value = variable("CRASHSHIELD_ALTSTACKS");
  return value == NULL || strcmp(value, "0") != 0;
}

bool cs_environment_allows_control(const cs_shim_configuration *configuration) {
  const char *value = variable("CRASHSHIELD_CONTROL");
  if (configuration->remote != CS_SHIM_REMOTE_DEFAULT) return configuration->remote == CS_SHIM_REMOTE_ALLOWED;
  return value == NULL || strcmp(value, "0") != 0;
}

bool cs_environment_keeps_copy(void) {
  const char *value = variable("CRASHSHIELD_COPY");
  return value == NULL || strcmp(value, "0") != 0;
}

const char *cs_environment_last_words(void) {
  return variable("CRASHSHIELD_LAST_WORDS");
}

bool cs_environment_records_to_stderr(void) {
  const char *value = variable("CRASHSHIELD_RECORD");
  return value != NULL && strcmp(value, "stderr") == 0;
}

bool cs_environment_reattaches(void) {
  return is_set("CRASHSHIELD_FORK");
}

bool cs_environment_starts_early(void) {
  return is_set("CRASHSHIELD_EARLY");
}

bool cs_environment_asks_for_backtracer(void) {
  static const char *const off[] = {"enable=no", "enable=off", "enable=false", "enable=0"};
  const char *value = variable("SWIFT_BACKTRACE");
  if (value == NULL) return variable("SWIFT_ROOT") != NULL;
  for (size_t index = 0; index < sizeof off / sizeof off[0]; index++) {
    if (strstr(value, off[index]) != NULL) return false;
  }
  return true;
}

static uint32_t duration_ms(const char *name, uint32_t otherwise_ms, uint32_t limit_ms) {
  const char *value = variable(name);
  if (value == NULL) return otherwise_ms;
  char *end = NULL;
  const unsigned long found_ms = strtoul(value, &end, 10);
  if (*end != 0) return otherwise_ms; // the value is not a number
  return found_ms < limit_ms ? (uint32_t)found_ms : limit_ms;
}

uint32_t cs_environment_sweep_ms(void) {
  return duration_ms("CRASHSHIELD_SWEEP_MS", CS_SWEEP_DEFAULT_MS, CS_SWEEP_LIMIT_MS);
}

uint32_t cs_environment_deadline_ms(void) {
  return duration_ms("CRASHSHIELD_DEADLINE_MS", CS_WATCHDOG_DEFAULT_MS, CS_WATCHDOG_LIMIT_MS);
}

// Returns the memory mode that CRASHSHIELD_MEMORY (none, scrubbed or full) or the configuration sets, or the default.
static uint32_t memory_mode(const cs_shim_configuration *configuration) {
  static const char *const names[] = {"none", "scrubbed", "full"};
  const char *value = variable("CRASHSHIELD_MEMORY");
  if (configuration->memory != CS_SHIM_MEMORY_DEFAULT) return configuration->memory - 1;
  for (uint32_t mode = 0; value != NULL && mode < 3; mode++) {
    if (strcmp(value, names[mode]) == 0) return mode;
  }
  return CS_RING_MEMORY_SCRUBBED;
}

static cs_shim_error too_long(cs_shim_failure *ret_failure, const char *what) {
  *ret_failure = (cs_shim_failure){.errno_value = ENAMETOOLONG};
  (void)snprintf(ret_failure->what, sizeof ret_failure->what, "%s", what);
  return CS_SHIM_BAD_ARGUMENT;
}

// Returns false if the formatted string does not fit.
__attribute__((format(printf, 3, 4))) static bool print(char *to, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int count = vsnprintf(to, size, format, arguments);
  va_end(arguments);
  return count >= 0 && (size_t)count < size;
}

// Returns whether the directory belongs to this user and other users cannot create files in it. The shield therefore
// ignores an XDG_RUNTIME_DIR that was inherited from another user's session.
static bool is_own_directory(const char *path) {
  struct stat status = {0};
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool default_socket(char *to, size_t size) {
  const char *user_directory = variable("XDG_RUNTIME_DIR");
  struct stat status = {0};
  // The crashd of this user is used only if the machine has no system-wide crashd.
  const bool has_system = stat(CS_ATTACH_SYSTEM_DIRECTORY "/" CS_ATTACH_SOCKET_NAME, &status) == 0;
  // The XDG Base Directory Specification requires programs to ignore a relative XDG_RUNTIME_DIR. A directory that is
  // too long for a socket address is also ignored.
  const bool is_user = !has_system && user_directory != NULL && user_directory[0] == '/' &&
                       is_own_directory(user_directory) &&
                       print(to, size, "%s/crashd/%s", user_directory, CS_ATTACH_SOCKET_NAME);
  return is_user || print(to, size, "%s/%s", CS_ATTACH_SYSTEM_DIRECTORY, CS_ATTACH_SOCKET_NAME);
}

// Makes the path absolute, because the program can change its working directory.
static bool print_absolute(char *to, size_t size, const char *path) {
  char here[CS_RING_PATH_LIMIT_BYTES];
  if (path[0] == '/') return print(to, size, "%s", path);
  return getcwd(here, sizeof here) != NULL && print(to, size, "%s/%s", here, path);
}

static int directory_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? 0 : (int)(slash - path);
}

cs_shim_error cs_environment_read(const cs_shim_configuration *configuration, cs_environment *ret_environment,
                                  cs_shim_failure *ret_failure) {
  cs_environment found = {0};
  const char *socket_path = chosen(configuration->socket_path, "CRASHSHIELD_SOCKET");
  const bool has_socket = socket_path != NULL ? print_absolute(found.socket_path, sizeof found.socket_path, socket_path)
                                              : default_socket(found.socket_path, sizeof found.socket_path);
  if (!has_socket) return too_long(ret_failure, "the socket path (CRASHSHIELD_SOCKET) is too long");

  const char *spool = chosen(configuration->spool_directory, "CRASHSHIELD_SPOOL");
  const bool has_spool = spool != NULL
                             ? print_absolute(found.spool_directory, sizeof found.spool_directory, spool)
                             : print(found.spool_directory, sizeof found.spool_directory, "%.*s/%s",
                                     directory_length(found.socket_path), found.socket_path, CS_ATTACH_SPOOL_NAME);
  if (!has_spool) return too_long(ret_failure, "the spool directory (CRASHSHIELD_SPOOL) is too long");

  const ssize_t size = readlink("/proc/self/exe", found.executable, sizeof found.executable - 1);
  if (size < 0) print(found.executable, sizeof found.executable, "%s", program_invocation_name);
  const char *name = preferred("CRASHSHIELD_NAME", configuration->name);
  if (name == NULL) {
    const char *slash = strrchr(found.executable, '/');
    name = slash == NULL ? found.executable : slash + 1;
  }
  const size_t name_bytes = cs_text_cut(name, strlen(name), sizeof found.name - 1);
  memcpy(found.name, name, name_bytes);
  found.memory_mode = memory_mode(configuration);
  *ret_environment = found;
  return CS_SHIM_OK;
}

static void annotate(const char *key, const char *name) {
  const char *value = variable(name);
  if (value != NULL) cs_annotations_fix(key, value);
}

// Adds annotations with the names of the pod, its namespace, its node and the container. The keys are OpenTelemetry's
// attribute names, and the values come from environment variables. Kubernetes sets HOSTNAME to the name of the pod,
// unless the pod uses the host's network.
static void annotate_container(void) {
  const bool has_pod = variable("CRASHSHIELD_POD") != NULL;
  const bool is_hostname = !has_pod && variable("KUBERNETES_SERVICE_HOST") != NULL;
  if (has_pod || is_hostname) annotate("k8s.pod.name", has_pod ? "CRASHSHIELD_POD" : "HOSTNAME");
  annotate("k8s.namespace.name", "CRASHSHIELD_NAMESPACE");
  annotate("k8s.node.name", "CRASHSHIELD_NODE");
  annotate("k8s.container.name", "CRASHSHIELD_CONTAINER");
}

void cs_environment_annotate(void) {
  annotate("release", "CRASHSHIELD_RELEASE");
  annotate("environment", "CRASHSHIELD_ENVIRONMENT");
  annotate_container();
}

void cs_environment_apply(const cs_environment *environment) {
  cs_memory_mode_choose(environment->memory_mode);
  cs_process.socket_address = (struct sockaddr_un){.sun_family = AF_UNIX};
  memcpy(cs_process.socket_address.sun_path, environment->socket_path, sizeof environment->socket_path);
  cs_process.socket_address_bytes =
      (uint32_t)(offsetof(struct sockaddr_un, sun_path) + strlen(environment->socket_path) + 1);

  char id[2 * sizeof cs_process.ring->header.ring_id + 1];
  for (size_t index = 0; index < sizeof cs_process.ring->header.ring_id; index++) {
    (void)snprintf(&id[2 * index], 3, "%02x", cs_process.ring->header.ring_id[index]);
  }
  const char *directory = environment->spool_directory;
  print(cs_process.spool_directory, sizeof cs_process.spool_directory, "%s", directory);
  print(cs_process.spool_parent, sizeof cs_process.spool_parent, "%.*s", directory_length(directory), directory);
  print(cs_process.spool_path, sizeof cs_process.spool_path, "%s/%s%s", directory, id, CS_ATTACH_SPOOL_SUFFIX);
  print(cs_process.spool_partial_path, sizeof cs_process.spool_partial_path, "%s/%s%s%s", directory, id,
        CS_ATTACH_SPOOL_SUFFIX, CS_ATTACH_PARTIAL_SUFFIX);
  cs_process.spool_name_offset = strlen(cs_process.spool_directory) + 1;
  cs_spool_open();
}

#endif
