// Finds the objects in quarantine, and the freed objects, to which the registers of a crash point. Searches in the
// slots of the quarantine, in the queue of the reaper (the thread that runs deferred deinits), and in the freed-object
// records (records of objects that have left the quarantine). The code runs in the signal handler, and calls only
// functions that trusted.h declares as signal-safe. Other threads can write the slots while this code reads them.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "../../Handler/Signal/Capture/registers.h"
#include "../../Handler/Signal/Dispatch/trusted.h"
#include "../Incidents/incidents.h"
#include "../Machine/clock.h"
#include "../Release/reaper.h"
#include "../Stacks/stacks.h"
#include "../Table/classes.h"
#include "../Table/freed_objects.h"
#include "../Table/places.h"

#define POINTERS    40 // the maximum number of addresses that registers provide for the search
#define FREED_LIMIT 4  // maximum number of freed objects for one crash
#define HELD_LIMIT  4  // maximum number of objects in quarantine for one crash
// The maximum number of crashes for which the search is made. A process can survive many crashes, and the ring has only
// few entries for incidents.
#define CRASH_LIMIT 8
// The maximum number of slots that are searched, in all classes together. Without this limit, the search might read
// half a million slots (32 MiB), which takes too long during a crash.
#define PLACE_LIMIT (1 << 17)
// The maximum number of attempts to read a slot. The number is small, because a slot can stay locked: the thread that
// locked it can be stopped, for example by the crash handler. A slot that keeps changing no longer contains the object.
#define READS     3
#define MARKS     256
#define ALIGNMENT UINT64_C(16)

// An address from a register, and the record of the last release of the latest object with this address.
typedef struct pointer {
  uint64_t address;
  uint64_t ticks;
  uint64_t label;
  uint32_t thread;
  uint32_t stack;
  bool is_held; // whether the object is in quarantine
  bool is_freed;
} pointer;

typedef struct pointers {
  uint32_t count;
  pointer list[POINTERS];
  // A Bloom filter: each searched address sets one bit. For most records, one test of a bit shows that their address is
  // not among the searched ones.
  uint64_t marks[MARKS / 64];
} pointers;

static uint32_t mark_of(uint64_t address) SIGNAL_SAFE {
  return (uint32_t)(address / ALIGNMENT % MARKS);
}

static void add(pointers *pointers, uint64_t address) SIGNAL_SAFE {
  if (address < 4096 || address >> CS_ADDRESS_BITS != 0 || pointers->count == POINTERS) return;
  for (uint32_t index = 0; index < pointers->count; index++)
    if (pointers->list[index].address == address) return;
  pointers->list[pointers->count++] = (pointer){.address = address};
  pointers->marks[mark_of(address) / 64] |= UINT64_C(1) << mark_of(address) % 64;
}

// Adds the addresses of the objects to which registers can point: to the start of an object, to its reference counts or
// to its first field.
static void add_registers(pointers *pointers, const cs_ring_registers *registers) SIGNAL_SAFE {
  for (uint64_t index = 0; index < registers->general_count && index < CS_RING_REGISTER_LIMIT; index++) {
    const uint64_t value = registers->general[index];
    if (value % 8 != 0) continue;
    add(pointers, value & ~(ALIGNMENT - 1));
    if (value % ALIGNMENT == 0 && value >= ALIGNMENT) add(pointers, value - ALIGNMENT);
  }
}

// Returns the entry for the address, or NULL if the address is not searched for.
static pointer *find(pointers *pointers, uint64_t address) SIGNAL_SAFE {
  if ((pointers->marks[mark_of(address) / 64] >> mark_of(address) % 64 & 1) == 0) return NULL;
  for (uint32_t index = 0; index < pointers->count; index++)
    if (pointers->list[index].address == address) return &pointers->list[index];
  return NULL;
}

// Stores a record for an address, unless the stored record for this address takes precedence. The record of an object
// in quarantine takes precedence, because this object still occupies the address. Among freed-object records, the
// latest one takes precedence.
static void keep(pointer *pointer, const cs_slot *record, bool is_held) SIGNAL_SAFE {
  if (!is_held && (pointer->is_held || (pointer->is_freed && record->ticks <= pointer->ticks))) return;
  pointer->ticks = record->ticks;
  pointer->label = record->label;
  pointer->thread = record->thread;
  pointer->stack = record->stack;
  pointer->is_held = is_held;
  pointer->is_freed = !is_held;
}

static void search_place(const cs_slot *slot, const cs_object *object, bool is_past, pointers *pointers) SIGNAL_SAFE {
  pointer *const pointer = find(pointers, (uintptr_t)object);
  if (pointer == NULL) return;
  int found = -1;
  cs_slot record;
  for (uint32_t attempt = 0; attempt < READS && found < 0; attempt++)
    found = cs_slot_read(slot, object, is_past, &record);
  if (found > 0) keep(pointer, &record, !is_past);
}

static void search_places(const cs_class *class, pointers *pointers, uint32_t *left) SIGNAL_SAFE {
  const cs_slot *const end = cs_slots_end(class);
  for (const cs_slot *slot = cs_slots_begin(class); slot < end && *left != 0; slot++, --*left) {
    search_place(slot, atomic_load_explicit(&slot->object, memory_order_relaxed), false, pointers);
    search_place(slot, __atomic_load_n(&slot->past, __ATOMIC_RELAXED), true, pointers);
  }
}

// Searches the queue of the reaper, which also contains the object whose deinit is running.
static void search_waiting(pointers *pointers) SIGNAL_SAFE {
  cs_slot record;
  for (uint32_t index = 0; index < pointers->count; index++) {
    pointer *const pointer = &pointers->list[index];
    if (!pointer->is_held && cs_reaper_find((const cs_object *)(uintptr_t)pointer->address, &record))
      keep(pointer, &record, true);
  }
}

static void search_freed_objects(pointers *pointers) SIGNAL_SAFE {
  for (uint32_t index = 0; index < CS_FREED_OBJECTS; index++) {
    const cs_object *const object = atomic_load_explicit(&cs_freed_objects[index].object, memory_order_relaxed);
    pointer *const pointer = find(pointers, (uintptr_t)object);
    cs_slot freed;
    if (pointer != NULL && cs_freed_object_read(&cs_freed_objects[index], object, &freed)) keep(pointer, &freed, false);
  }
}

// Records an incident for an object that was found. Not inlined, because the incident would enlarge the caller's stack
// frame.
__attribute__((noinline)) static bool show(const pointer *pointer, const cs_ring_record *record,
                                           cs_quarantine_incident_sink *sink) SIGNAL_SAFE {
  cs_quarantine_stack stack;
  const uint32_t number = cs_label_number(pointer->label);
  const cs_class *const class = cs_classes[cs_number_class(number)];
  if (class == NULL) return false;
  const uint32_t kind = pointer->is_held ? CS_RING_DANGLING_HELD : CS_RING_DANGLING_FREED;
  const cs_ring_class *const counts = atomic_load_explicit(&class->counts, memory_order_relaxed);
  cs_ring_incident incident = {
      // The key of the incident differs for each crash. The key is odd, so it is never 0.
      .key =
          ((pointer->address ^ (record->sequence + 1) << 48 ^ (uint64_t)kind << 60) * UINT64_C(0x9E3779B97F4A7C15)) | 1,
      .address = pointer->address,
      .method = record->address,
      .age_ns = cs_ticks_ns(cs_ticks() - pointer->ticks),
      .amount = (int64_t)record->sequence,
      .source = CS_RING_INCIDENT_QUARANTINE,
      .kind = kind,
      .mode = pointer->is_held ? cs_label_policy(pointer->label) : CS_MODE_CRASH,
      .flags = CS_RING_INCIDENT_RECORD | ((number & CS_NUMBER_EXPLORER) != 0 ? CS_RING_INCIDENT_EXPLORER : 0),
      .id = number,
      .use_tid = record->tid,
      .free_tid = (int32_t)pointer->thread,
      .object_bytes = counts->instance_bytes,
  };
  cs_stack_read_whole(pointer->stack, &stack);
  incident.free_count = stack.count;
  memcpy(incident.detail.object.free, stack.frames, stack.count * sizeof stack.frames[0]);
  incident.subject_bytes =
      counts->name_bytes < CS_RING_SUBJECT_LIMIT_BYTES ? counts->name_bytes : CS_RING_SUBJECT_LIMIT_BYTES;
  memcpy(incident.subject, counts->name, incident.subject_bytes);
  sink(&incident);
  return true;
}

void cs_quarantine_crashed(const cs_ring_record *record) SIGNAL_SAFE {
  cs_quarantine_incident_sink *const sink = atomic_load(&cs_incident_sink);
  if (!sink || record->sequence >= CRASH_LIMIT) return;
  pointers pointers;
  memset(&pointers, 0, sizeof pointers);
  add_registers(&pointers, &record->registers);
  uint32_t left = PLACE_LIMIT;
  for (uint32_t index = 0; index < cs_class_count() && left != 0; index++)
    search_places(cs_classes[index], &pointers, &left);
  search_waiting(&pointers);
  search_freed_objects(&pointers);
  uint32_t freed = 0, held = 0;
  for (uint32_t index = 0; index < pointers.count; index++) {
    const pointer *const pointer = &pointers.list[index];
    if (pointer->is_freed && freed < FREED_LIMIT && show(pointer, record, sink)) freed++;
    if (pointer->is_held && held < HELD_LIMIT && show(pointer, record, sink)) held++;
  }
}

#endif
