// The functions of cs_shim.h on unsupported platforms, where the program runs without the shield.
#include "cs_platform.h"

#if !CS_SUPPORTED

#include <pthread.h>

#include "cs_shim.h"

#if defined(__linux__) && !defined(CRASHSHIELD_UNSUPPORTED)
// The pragma keeps the warning below from failing builds that treat warnings as errors.
#pragma clang diagnostic warning "-W#warnings"
#warning "swift-crash-shield works on x86-64 and AArch64 with glibc only: the crashes of this program are not recorded"
#endif

cs_shim_error cs_shim_start(const cs_shim_configuration *configuration, cs_shim_failure *ret_failure) {
  (void)configuration;
  (void)ret_failure;
  return CS_SHIM_UNSUPPORTED;
}

cs_shim_error cs_shim_start_in_forked_child(cs_shim_failure *ret_failure) {
  (void)ret_failure;
  return CS_SHIM_UNSUPPORTED;
}

bool cs_shim_is_started(void) {
  return false;
}

bool cs_shim_annotate(const char *key, size_t key_bytes, const char *value, size_t value_bytes) {
  (void)key;
  (void)key_bytes;
  (void)value;
  (void)value_bytes;
  return false;
}

void cs_shim_breadcrumb(const char *text, size_t text_bytes) {
  (void)text;
  (void)text_bytes;
}

void cs_shim_breadcrumb_with(cs_shim_text message, cs_ring_level level, cs_shim_text category, cs_shim_text metadata,
                             uint64_t request) {
  (void)message;
  (void)level;
  (void)category;
  (void)metadata;
  (void)request;
}

cs_shim_request cs_shim_request_begin(cs_shim_text operation, cs_shim_text id) {
  (void)operation;
  (void)id;
  return 0;
}

void cs_shim_request_trace(cs_shim_request request, cs_shim_text trace_id, cs_shim_text span_id) {
  (void)request;
  (void)trace_id;
  (void)span_id;
}

void cs_shim_request_tag(cs_shim_request request, cs_shim_text key, cs_shim_text value) {
  (void)request;
  (void)key;
  (void)value;
}

void cs_shim_request_run(cs_shim_request request) {
  (void)request;
}

void cs_shim_request_end(cs_shim_request request, bool has_failed) {
  (void)request;
  (void)has_failed;
}

uint64_t cs_shim_request_number(cs_shim_request request) {
  (void)request;
  return 0;
}

cs_shim_request cs_shim_request_enter(cs_shim_request request) {
  (void)request;
  return 0;
}

bool cs_shim_request_bind(uint64_t key, cs_shim_request request, const void *type) {
  (void)key;
  (void)request;
  (void)type;
  return false;
}

void cs_shim_request_unbind(void) {}

void cs_shim_request_check(uint64_t key, cs_shim_request request) {
  (void)key;
  (void)request;
}

cs_ring_request_lookup cs_shim_request_lookup(void) {
  return CS_RING_REQUEST_LOOKUP_UNCHECKED;
}

void cs_shim_incident(const cs_ring_incident *incident) SIGNAL_SAFE {
  (void)incident;
}

bool cs_shim_incident_times(const cs_ring_incident *incident, uint64_t times) SIGNAL_SAFE {
  (void)incident;
  (void)times;
  return false;
}

bool cs_shim_incident_at(uint32_t index, cs_ring_incident *ret_incident) {
  (void)index;
  (void)ret_incident;
  return false;
}

bool cs_shim_incidents_follow(void (*deliver)(void)) {
  (void)deliver;
  return false;
}

uint64_t cs_shim_incidents_lost(void) {
  return 0;
}

void cs_shim_set_fault_function(cs_shim_fault_function *function) {
  (void)function;
}

void cs_shim_set_record_function(cs_shim_record_function *function) {
  (void)function;
}

bool cs_shim_handles_faults(void) SIGNAL_SAFE {
  return false;
}

size_t cs_shim_stack_here(uint64_t first, uint64_t *ret_pcs, size_t limit) SIGNAL_SAFE {
  (void)first;
  (void)ret_pcs;
  (void)limit;
  return 0;
}

size_t cs_shim_stack_of(const void *context, uint64_t *ret_pcs, size_t limit) SIGNAL_SAFE {
  (void)context;
  (void)ret_pcs;
  (void)limit;
  return 0;
}

// Contained work runs on a separate thread, as on a supported platform. A trap in contained work ends the process.
typedef struct work {
  void (*routine)(void *);
  void *argument;
} work;

static void *run(void *context) {
  const work *const job = context;
  job->routine(job->argument);
  return NULL;
}

cs_shim_contained_end cs_shim_contained_run(void (*routine)(void *), void *argument) {
  work job = {.routine = routine, .argument = argument};
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, &job) != 0) return CS_SHIM_CONTAINED_NO_THREAD;
  pthread_join(thread, NULL);
  return CS_SHIM_CONTAINED_FINISHED;
}

const char *cs_shim_contained_obstacle(void) {
  return CS_UNSUPPORTED_TEXT;
}

void cs_shim_contained_task_begins(void) {}

void cs_shim_contained_set_budget(uint32_t threads) {
  (void)threads;
}

uint32_t cs_shim_contained_budget(void) {
  return 0;
}

uint32_t cs_shim_contained_parked(void) {
  return 0;
}

void *cs_shim_contained_keep(void) {
  return NULL;
}

void cs_shim_contained_release(void *kept) {
  (void)kept;
}

void *cs_shim_contained_hold(void *kept) {
  (void)kept;
  return NULL;
}

void cs_shim_contained_let_go(void *hold) {
  (void)hold;
}

const char *cs_shim_containment_variable(void) {
  return NULL;
}

const char *cs_shim_containment_start(const cs_shim_containment *containment) {
  return containment->mode == CS_SHIM_CONTAINMENT_OFF ? NULL : CS_UNSUPPORTED_TEXT;
}

bool cs_shim_containment_is_on(void) {
  return false;
}

bool cs_shim_containment_is_draining(void) {
  return false;
}

const char *cs_shim_containment_obstacle(void) {
  return CS_UNSUPPORTED_TEXT;
}

void cs_shim_contained_probe(void) {}

bool cs_shim_contained_request_arm(cs_shim_request request, uint64_t continuation) {
  (void)request;
  (void)continuation;
  return false;
}

bool cs_shim_contained_request_finish(cs_shim_request request) {
  (void)request;
  return true;
}

bool cs_shim_pool_is_on(void) {
  return false;
}

void cs_shim_pool_enqueue(void *job) {
  (void)job;
}

void cs_shim_pool_runs_next(bool is_so) {
  (void)is_so;
}

void cs_shim_containment_note_loop(int epoll_descriptor) {
  (void)epoll_descriptor;
}

cs_ring_class *cs_shim_class(const cs_ring_class *class) {
  (void)class;
  return NULL;
}

void cs_shim_self_test(uint64_t asked, uint64_t failing, uint32_t checks, uint32_t failures) {
  (void)asked;
  (void)failing;
  (void)checks;
  (void)failures;
}

size_t cs_shim_replaced_handlers(cs_shim_replaced_handler *ret_handlers) {
  (void)ret_handlers;
  return 0;
}

bool cs_shim_last_status(cs_shim_status *ret_status, char *ret_text) {
  (void)ret_status;
  (void)ret_text;
  return false;
}

#endif
