// Simulates a crash, to test which freed objects the quarantine publishes for it.
#include "cs_quarantine_test_support.h"

static cs_ring_incident shown[8];
static uint32_t shown_count;
static cs_ring_class shown_class;

static void keep(const cs_ring_incident *incident) SIGNAL_SAFE {
  if (shown_count < sizeof shown / sizeof *shown) shown[shown_count] = *incident;
  shown_count++;
}

// Replaces the function that stores a class in the ring. This one has room for one class.
static cs_ring_class *show_class(const cs_ring_class *class) SIGNAL_SAFE {
  shown_class = *class;
  return &shown_class;
}

uint32_t cs_test_crash_with(uint64_t address, cs_ring_incident *ret_first) {
  static cs_ring_record record;
  record = (cs_ring_record){.tid = 4711, .registers = {.general_count = 16}};
  record.registers.general[13] = address;
  shown_count = 0;
  cs_quarantine_show(keep, show_class);
  cs_quarantine_crashed(&record);
  cs_quarantine_show(NULL, NULL);
  if (shown_count != 0) *ret_first = shown[0];
  return shown_count;
}
