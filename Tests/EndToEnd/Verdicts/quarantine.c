// Connects the quarantine with the handler in one preloaded library, for programs that were not built with the shield.
// With this library, the record of a crash contains the freed-object records of evicted objects.
#include "cs_quarantine.h"

#include <stdio.h>
#include <stdlib.h>

#include "cs_shim.h"

#define LIMIT 50

static void check(bool is_good, const char *what) {
  if (is_good) return;
  fprintf(stderr, "verdicts: %s\n", what);
  _Exit(5);
}

__attribute__((visibility("default"))) void verdicts_protect(const void *metadata, const void *probe,
                                                             const void *instance, uint64_t size) {
  check(cs_quarantine_check(probe, instance, size), cs_quarantine_unavailable());
  cs_quarantine_show(cs_shim_incident, cs_shim_class);
  cs_shim_set_record_function(cs_quarantine_crashed);
  check(cs_quarantine_list(metadata, CS_MODE_ZERO, LIMIT) == CS_QUARANTINE_OK, "a class cannot be protected");
}

__attribute__((visibility("default"))) void verdicts_evict(void) {
  cs_quarantine_drain();
}
