// Objects that have gone, where a crash has pointers to them. Runs in the signal handler, so nothing here calls what
// trusted.h does not have; it reads the places of the classes as other threads write them.
#include "../Handler/Signal/trusted.h"
#include "places.h"
#include "ticks_x86_64.h"

#define POINTERS    40 // addresses that are looked for
#define GHOST_LIMIT 4  // of one crash
// A process may survive its crashes, and the ring has so many entries for incidents.
#define CRASH_LIMIT 8
// Of all classes: half a million would be 32 MiB to read, at a moment when time counts.
#define PLACE_LIMIT (1 << 17)
// A place that changes meanwhile has a newer tenant soon; one that stays in hand is of a thread that was stopped.
#define LOOKS        3
#define MARKS        256
#define ADDRESS_BITS 47
#define ALIGNMENT    UINT64_C(16)

// An address, and what the youngest ghost says that has it.
typedef struct pointer {
  uint64_t address;
  uint64_t ticks;
  uint32_t number;
  uint32_t thread;
  uint32_t stack;
  bool has_ghost;
} pointer;

typedef struct pointers {
  uint32_t count;
  pointer list[POINTERS];
  // A bit for each address, by some of its own: most ghosts are passed over by one look.
  uint64_t marks[MARKS / 64];
} pointers;

static uint32_t mark_of(uint64_t address) SIGNAL_SAFE {
  return (uint32_t)(address / ALIGNMENT % MARKS);
}

static void add(pointers *pointers, uint64_t address) SIGNAL_SAFE {
  if (address < 4096 || address >> ADDRESS_BITS != 0 || pointers->count == POINTERS) return;
  for (uint32_t index = 0; index < pointers->count; index++)
    if (pointers->list[index].address == address) return;
  pointers->list[pointers->count++] = (pointer){.address = address};
  pointers->marks[mark_of(address) / 64] |= UINT64_C(1) << mark_of(address) % 64;
}

// Objects that a register points at: at their beginning, at their reference counts or at their first field.
static void add_registers(pointers *pointers, const cs_ring_registers *registers) SIGNAL_SAFE {
  for (uint64_t index = 0; index < registers->general_count && index < CS_RING_REGISTER_LIMIT; index++) {
    const uint64_t value = registers->general[index];
    if (value % 8 != 0) continue;
    add(pointers, value & ~(ALIGNMENT - 1));
    if (value % ALIGNMENT == 0 && value >= ALIGNMENT) add(pointers, value - ALIGNMENT);
  }
}

// NULL: nobody looks for it.
static pointer *find(pointers *pointers, uint64_t address) SIGNAL_SAFE {
  if ((pointers->marks[mark_of(address) / 64] >> mark_of(address) % 64 & 1) == 0) return NULL;
  for (uint32_t index = 0; index < pointers->count; index++)
    if (pointers->list[index].address == address) return &pointers->list[index];
  return NULL;
}

static void keep_younger(pointer *pointer, const cs_slot *ghost) SIGNAL_SAFE {
  if (pointer->has_ghost && ghost->ticks <= pointer->ticks) return;
  pointer->ticks = ghost->ticks;
  pointer->number = cs_label_number(ghost->label);
  pointer->thread = ghost->thread;
  pointer->stack = ghost->stack;
  pointer->has_ghost = true;
}

static void search_places(const cs_class *class, pointers *pointers, uint32_t *left) SIGNAL_SAFE {
  const cs_slot *const end = cs_slots_end(class);
  for (const cs_slot *slot = cs_slots_begin(class); slot < end && *left != 0; slot++, --*left) {
    const cs_object *const past = __atomic_load_n(&slot->past, __ATOMIC_RELAXED);
    pointer *const pointer = find(pointers, (uintptr_t)past);
    if (pointer == NULL) continue;
    int found = -1;
    cs_slot ghost;
    for (uint32_t look = 0; look < LOOKS && found < 0; look++)
      found = cs_slot_look(slot, past, true, &ghost);
    if (found > 0) keep_younger(pointer, &ghost);
  }
}

static void search_ghosts(pointers *pointers) SIGNAL_SAFE {
  for (uint32_t index = 0; index < CS_GHOSTS; index++) {
    const cs_object *const object = atomic_load_explicit(&cs_ghosts[index].object, memory_order_relaxed);
    pointer *const pointer = find(pointers, (uintptr_t)object);
    cs_slot ghost;
    if (pointer != NULL && cs_ghost_look(&cs_ghosts[index], object, &ghost)) keep_younger(pointer, &ghost);
  }
}

// With a frame of its own: an incident is large.
__attribute__((noinline)) static bool show(const pointer *pointer, const cs_ring_record *record,
                                           cs_quarantine_incident_sink *sink) SIGNAL_SAFE {
  cs_quarantine_stack stack;
  const cs_class *const class = cs_classes[cs_number_class(pointer->number)];
  if (class == NULL) return false;
  const cs_ring_class *const counts = atomic_load_explicit(&class->counts, memory_order_relaxed);
  cs_ring_incident incident = {
      // Each crash has its own; an odd number is never 0.
      .key = ((pointer->address ^ (record->sequence + 1) << 48) * UINT64_C(0x9E3779B97F4A7C15)) | 1,
      .address = pointer->address,
      .method = record->address,
      .age_ns = cs_ticks_ns(cs_ticks() - pointer->ticks),
      .amount = (int64_t)record->sequence,
      .source = CS_RING_INCIDENT_QUARANTINE,
      .kind = CS_RING_DANGLING_GHOST,
      .mode = CS_RING_INCIDENT_CRASH,
      .flags = CS_RING_INCIDENT_RECORD | ((pointer->number & CS_NUMBER_EXPLORER) != 0 ? CS_RING_INCIDENT_EXPLORER : 0),
      .id = pointer->number,
      .use_tid = record->tid,
      .free_tid = (int32_t)pointer->thread,
      .object_bytes = counts->instance_bytes,
  };
  cs_stack_read(pointer->stack, &stack);
  incident.free_count = stack.count;
  memcpy(incident.free, stack.frames, stack.count * sizeof stack.frames[0]);
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
  search_ghosts(&pointers);
  uint32_t shown = 0;
  for (uint32_t index = 0; index < pointers.count && shown < GHOST_LIMIT; index++)
    if (pointers.list[index].has_ghost && show(&pointers.list[index], record, sink)) shown++;
}
