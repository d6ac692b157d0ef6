#include "cs_platform.h"

#if CS_SUPPORTED

#include "judge.h"

#include "../../Setup/Containment/pool.h"
#include "../Capture/registers.h"
#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "../Threads/own_threads.h"
#include "contained_request.h"
#include "drain.h"
#include "loops.h"

// If this number of traps of the same code were contained, the next one drains the process. If half of the budget of
// contained traps is a larger number, that number applies.
#define REPEATED_LIMIT 4

// The minimum and the maximum number of frames that identify the code of a trap (place_of()). The minimum is above 1:
// if the standard library is static, its frames cannot be distinguished from the program's, and many traps share the
// innermost frame.
#define PLACE_LEAST 4
#define PLACE_LIMIT 8

#define COUNT_TRIES 1000

cs_judge_layout cs_judge_here;

// Returns the image compiled from Swift that contains `pc`, or NULL.
static const cs_swift_image *swift_image_of(uint64_t pc) SIGNAL_SAFE {
  // acquire: pairs with the release store of the setup.
  const uint32_t count = __atomic_load_n(&cs_judge_here.swift_image_count, __ATOMIC_ACQUIRE);
  for (uint32_t index = 0; index < count && index < CS_JUDGE_SWIFT_IMAGE_LIMIT; index++) {
    const cs_swift_image *image = &cs_judge_here.swift_images[index];
    if (image->range.start <= pc && pc < image->range.end) return image;
  }
  return NULL;
}

static bool is_swift(uint64_t pc) SIGNAL_SAFE {
  return swift_image_of(pc) != NULL;
}

static bool is_in_runtime(uint64_t pc) SIGNAL_SAFE {
  const cs_swift_image *image = swift_image_of(pc);
  return image != NULL && image->is_runtime;
}

// Returns whether a check of glibc, such as a heap check, has failed: glibc stores its message before it calls abort().
static bool has_abort_message(void) SIGNAL_SAFE {
  cs_memory memory = {0};
  uint64_t text = 0;
  return cs_process.abort_message != 0 && cs_memory_read_word(&memory, cs_process.abort_message, &text) && text != 0;
}

// Returns why the signal ends the process at once, or NONE.
static cs_ring_verdict_reason reason_to_die(int signal, const siginfo_t *information,
                                            const ucontext_t *context) SIGNAL_SAFE {
  if (signal != CS_TRAP_SIGNAL) return CS_RING_VERDICT_REASON_NOT_TRAP;
  if (information->si_code <= 0) return CS_RING_VERDICT_REASON_SENT;
  if (!cs_contained_is_trap(signal, information, context)) return CS_RING_VERDICT_REASON_NOT_TRAP;
  if (!cs_contained_is_direct(signal)) return CS_RING_VERDICT_REASON_REPLACED;
  if (cs_drain_had_crash() || has_abort_message()) return CS_RING_VERDICT_REASON_CORRUPT;
  if (cs_drain_phase_now() == CS_DRAIN_ENDS) return CS_RING_VERDICT_REASON_DRAINING;
  if (cs_gettid() == cs_own_tid(CS_OWN_ANSWERS)) return CS_RING_VERDICT_REASON_SHIELD;
  if (!is_swift((uint64_t)(uintptr_t)information->si_addr)) return CS_RING_VERDICT_REASON_FOREIGN;
  return CS_RING_VERDICT_REASON_NONE;
}

// Returns whether the frames belong to the functions that run a task on a thread of the pool.
static bool is_way(const cs_ring_frame *frames, uint32_t count, uint32_t way_count) SIGNAL_SAFE {
  if (count < way_count) return false;
  for (uint32_t index = 0; index < way_count; index++) {
    if (frames[index].function_start != cs_judge_here.way[index]) return false;
  }
  return true;
}

static cs_ring_verdict_reason reason_of(const cs_ring_frame *frame, bool is_first) SIGNAL_SAFE {
  switch (cs_contained_place_of(frame)) {
  case CS_CONTAINED_LIBC:
    return CS_RING_VERDICT_REASON_LIBC;
  case CS_CONTAINED_DISPATCH:
    return CS_RING_VERDICT_REASON_DISPATCH;
  case CS_CONTAINED_ONCE:
    return CS_RING_VERDICT_REASON_GLOBAL;
  case CS_CONTAINED_CANCEL:
  case CS_CONTAINED_CONCURRENCY:
    return is_first ? CS_RING_VERDICT_REASON_RUNTIME : CS_RING_VERDICT_REASON_CONCURRENCY;
  case CS_CONTAINED_PROGRAM:
    break;
  }
  // The pc of a caller is a return address, which can be the first byte after the image. The byte before it is in the
  // image.
  return is_swift(frame->pc - !is_first) ? CS_RING_VERDICT_REASON_NONE : CS_RING_VERDICT_REASON_FOREIGN;
}

// Returns a number that identifies the code that trapped. Most trap instructions are in the standard library, so the
// number depends on several frames: from the innermost one to the first one outside of Swift's own libraries.
static uint64_t place_of(const cs_ring_frame *frames, uint32_t known) SIGNAL_SAFE {
  uint64_t place = 0;
  for (uint32_t index = 0; index < known && index < PLACE_LIMIT; index++) {
    place = (place ^ frames[index].pc) * UINT64_C(0x9e3779b97f4a7c15);
    place ^= place >> 32;
    if (index + 1 >= PLACE_LEAST && !is_in_runtime(frames[index].pc - 1)) break;
  }
  return place;
}

// Returns why a trap with this stack must not be contained, or NONE. `ret_own` is the number of frames between the trap
// and the functions that run the task, and `ret_count` is the number of all frames in the list.
static cs_ring_verdict_reason look_at_stack(cs_park *park, uint32_t *ret_own, uint32_t *ret_count) SIGNAL_SAFE {
  bool is_deep = false;
  const uint32_t known = cs_contained_list(&park->scratch, &park->registers, park->frames, ret_count, &is_deep);
  park->place = place_of(park->frames, known);
  // acquire: pairs with the release store of the setup.
  const uint32_t way_count = __atomic_load_n(&cs_judge_here.way_count, __ATOMIC_ACQUIRE);
  for (uint32_t index = 0; index < known; index++) {
    const cs_ring_frame *frame = &park->frames[index];
    *ret_own = index;
    if (way_count > 0 && frame->function_start == cs_judge_here.way[0]) {
      if (is_way(frame, known - index, way_count)) return CS_RING_VERDICT_REASON_NONE;
      // The outer frames do not belong to functions of the pool. The task therefore runs on a thread of Dispatch, or in
      // an executor of the program.
      return cs_containment_now.has_pool ? CS_RING_VERDICT_REASON_CONCURRENCY : CS_RING_VERDICT_REASON_NONE;
    }
    const cs_ring_verdict_reason reason = reason_of(frame, index == 0);
    if (reason != CS_RING_VERDICT_REASON_NONE) return reason;
  }
  return is_deep ? CS_RING_VERDICT_REASON_DEEP : CS_RING_VERDICT_REASON_UNKNOWN;
}

static bool has_budget(void) SIGNAL_SAFE {
  uint32_t *const count = &cs_process.ring->header.containment_count;
  uint32_t seen = __atomic_load_n(count, __ATOMIC_RELAXED);
  for (int attempt = 0; attempt < COUNT_TRIES; attempt++) {
    if (seen >= cs_containment_now.budget) return false;
    if (__atomic_compare_exchange_n(count, &seen, seen + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return true;
  }
  return false;
}

static bool is_repeated(uint64_t place) SIGNAL_SAFE {
  const uint32_t half = cs_containment_now.budget / 2;
  return cs_park_traps_at(place) >= (half > REPEATED_LIMIT ? half : REPEATED_LIMIT);
}

// Returns why the process must not continue after this trap, or NONE.
static cs_ring_verdict_reason reason_to_drain(cs_park *park, const cs_request_found *request, uint32_t *ret_own,
                                              uint32_t *ret_count) SIGNAL_SAFE {
  uint64_t executor = 0;
  const bool has_executor = cs_task_executor_read(&cs_process.task_layout, &executor);
  if (cs_drain_phase_now() != CS_DRAIN_NONE) return CS_RING_VERDICT_REASON_DRAINING;
  if (park->is_loop) return CS_RING_VERDICT_REASON_LOOP;
  if (!request->has_task) return CS_RING_VERDICT_REASON_TASK;
  if (has_executor && executor != 0) return CS_RING_VERDICT_REASON_ACTOR;
  const cs_ring_verdict_reason reason = look_at_stack(park, ret_own, ret_count);
  if (reason != CS_RING_VERDICT_REASON_NONE) return reason;
  if (cs_contained_has_stream(&park->scratch.memory)) return CS_RING_VERDICT_REASON_STREAM;
  if (request->is_held) return CS_RING_VERDICT_REASON_SHIELD;
  if (request->handle == 0) return CS_RING_VERDICT_REASON_REQUEST;
  if (cs_containment_mode() != CS_RING_CONTAINMENT_CONTAIN) return CS_RING_VERDICT_REASON_BUDGET;
  if (!has_executor || __atomic_load_n(&cs_containment_now.can_contain, __ATOMIC_ACQUIRE) == 0 ||
      cs_seat_here() == NULL) {
    return CS_RING_VERDICT_REASON_UNAVAILABLE;
  }
  if (is_repeated(park->place)) return CS_RING_VERDICT_REASON_REPEATED;
  return CS_RING_VERDICT_REASON_NONE;
}

static void judge(cs_park *park, cs_judgement *judgement) SIGNAL_SAFE {
  uint32_t own = 0, count = 0;
  memset(&park->registers, 0, sizeof park->registers);
  cs_registers_from_context(park->context, &park->registers);
  const cs_request_found request = cs_contained_request_find();
  park->seat = cs_seat_here();
  park->is_worker = request.has_task || park->seat != NULL;
  park->is_loop = cs_loop_is_here();
  park->handle = request.handle;
  if (request.handle != 0) park->number = cs_contained_request_number(request.handle);
  judgement->verdict = CS_RING_VERDICT_DRAIN;
  judgement->reason = reason_to_drain(park, &request, &own, &count);
  if (judgement->reason != CS_RING_VERDICT_REASON_NONE) return;
  if (!has_budget()) {
    judgement->reason = CS_RING_VERDICT_REASON_BUDGET;
  } else if (!cs_contained_record(CS_RING_CONTAINED_REQUEST, (int64_t)park->number, &park->registers, park->frames, own,
                                  count, &park->message)) {
    __atomic_fetch_sub(&cs_process.ring->header.containment_count, 1, __ATOMIC_RELAXED);
    judgement->reason = CS_RING_VERDICT_REASON_FULL;
  } else {
    judgement->verdict = CS_RING_VERDICT_CONTAIN;
  }
}

// Marks the request as trapped, and makes the parked thread visible to the thread of the answers.
static void settle(cs_park *park, const cs_judgement *judgement) SIGNAL_SAFE {
  park->verdict = judgement->verdict;
  park->reason = judgement->reason;
  park->must_answer = cs_contained_request_trap(park->handle, false);
  if (park->seat != NULL) cs_seat_park(park->seat);
  cs_park_tell(park);
  // The drain begins only now, because the ender (drain.h) must find the thread in the table of parked threads.
  if (judgement->verdict == CS_RING_VERDICT_DRAIN) cs_drain_begin(park);
}

cs_judgement cs_judge(int tid, int signal, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE {
  cs_judgement judgement = {0};
  if (cs_containment_mode() == CS_RING_CONTAINMENT_OFF) return judgement;
  judgement.verdict = CS_RING_VERDICT_DIE;
  cs_park *const refused = cs_park_before_stay(tid);
  // After a fault during judging, the entry is in the state REFUSED and is no longer needed. If a sent signal has
  // interrupted the thread in the state JUDGING, the entry stays in use.
  if (refused != NULL && cs_park_is_refused(refused)) cs_park_give_back(refused);
  judgement.reason = refused != NULL ? CS_RING_VERDICT_REASON_UNKNOWN : reason_to_die(signal, information, context);
  if (judgement.reason != CS_RING_VERDICT_REASON_NONE) return judgement;
  cs_park *const park = cs_park_take(tid);
  if (park == NULL) {
    judgement.reason = CS_RING_VERDICT_REASON_FULL;
    return judgement;
  }
  park->context = context;
  park->pc = (uint64_t)(uintptr_t)information->si_addr;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  judge(park, &judgement);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  judgement.park = park;
  settle(park, &judgement);
  return judgement;
}

bool cs_judge_takes_fault(int tid, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE {
  if (information->si_code <= 0 || cs_containment_mode() == CS_RING_CONTAINMENT_OFF) return false;
  cs_park *const park = cs_park_before_stay(tid);
  if (park == NULL || !cs_park_refuse(park)) return false;
  cs_context_copy(park->context, context);
  return true;
}

#endif
