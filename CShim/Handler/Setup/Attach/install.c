// Installs the signal handlers and prepares the data that they use.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <ucontext.h>

#include "../Probes/swift_runtime.h"
#include "../setup.h"

#include "../../Signal/Capture/record.h"
#include "../../Signal/Capture/registers.h"
#include "../../Signal/Dispatch/trusted.h"
#include "../../Signal/FirstChance/signal_frame.h"
#include "../../Signal/Threads/sweep_answer.h"
#include "../../Signal/Unwind/unwind.h"

// libstdc++, if the program links it: returns the std::type_info of the exception being handled.
extern void *__cxa_current_exception_type(void) SIGNAL_SAFE __attribute__((weak));

// libstdc++, if the program links it: returns the thread's { exception being handled, … }.
extern void *__cxa_get_globals_fast(void) SIGNAL_SAFE __attribute__((weak));
// The virtual tables of the two kinds of type_info that have bases.
extern void *_ZTVN10__cxxabiv120__si_class_type_infoE[] __attribute__((weak));
extern void *_ZTVN10__cxxabiv121__vmi_class_type_infoE[] __attribute__((weak));
// glibc's loader: the address where the stack of the first thread began.
extern void *__libc_stack_end __attribute__((weak));

// The index of the first function in a virtual table. Objects point to this entry.
#define TABLE_START 2

static const int crash_signals[CS_CRASH_SIGNAL_COUNT] = CS_CRASH_SIGNALS;

void cs_texts_find(void) {
  cs_message_buffer *const message_buffer = cs_swift_runtime_find()->message_buffer;
  if (message_buffer != NULL) cs_process.swift_message = (uint64_t)(uintptr_t)message_buffer();
  // Private to glibc: it cannot be linked, and dlsym() finds it.
  cs_process.abort_message = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "__abort_msg");
  struct dl_find_object object;
  const uintptr_t type_function = (uintptr_t)__cxa_current_exception_type;
  if (type_function != 0 && _dl_find_object((void *)type_function, &object) == 0) {
    cs_process.exception_type = __cxa_current_exception_type;
    cs_process.exception_globals = __cxa_get_globals_fast;
    cs_process.single_class = (uint64_t)(uintptr_t)&_ZTVN10__cxxabiv120__si_class_type_infoE[TABLE_START];
    cs_process.multiple_class = (uint64_t)(uintptr_t)&_ZTVN10__cxxabiv121__vmi_class_type_infoE[TABLE_START];
    cs_process.cxx_runtime_start = (uint64_t)(uintptr_t)object.dlfo_map_start;
    cs_process.cxx_runtime_end = (uint64_t)(uintptr_t)object.dlfo_map_end;
  }
}

bool cs_swift_comes_later(void) {
  struct dl_find_object object;
  cs_message_buffer *const message_buffer = cs_swift_runtime_find()->message_buffer;
  if (message_buffer == NULL || !cs_environment_asks_for_backtracer()) return false;
  if (_dl_find_object((void *)message_buffer, &object) != 0) return false;
  // If the runtime is a shared library, its constructors have run before this one. The executable has an empty name.
  return object.dlfo_link_map->l_name[0] == 0;
}

// The loader reports the executable first.
static int find_tables(struct dl_phdr_info *info, size_t info_bytes, void *unused) {
  (void)info_bytes;
  (void)unused;
  const ElfW(Phdr) *header = NULL;
  for (int index = 0; index < info->dlpi_phnum; index++) {
    if (info->dlpi_phdr[index].p_type == PT_GNU_EH_FRAME) header = &info->dlpi_phdr[index];
  }
  for (int index = 0; header != NULL && index < info->dlpi_phnum; index++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[index];
    const bool has_header = header->p_vaddr - segment->p_vaddr < segment->p_filesz;
    if (segment->p_type != PT_LOAD || !has_header) continue;
    const uint64_t start = info->dlpi_addr + segment->p_vaddr;
    cs_cfi_set_tables(start, start + segment->p_filesz);
  }
  return 1;
}

void cs_places_find(void) {
  dl_iterate_phdr(find_tables, NULL);
  cs_task_layout_find(&cs_process.task_layout);
  cs_process.first_stack_end = &__libc_stack_end != NULL ? (uint64_t)(uintptr_t)__libc_stack_end : 0;
}

void cs_warm_up(void) {
  static cs_ring_record record; // one start at a time
  static cs_cfi_scratch scratch;
  ucontext_t context = {0}; // getcontext does not set every field
  if (getcontext(&context) != 0) return;
  memset(&record, 0, sizeof record);
  memset(&scratch, 0, sizeof scratch);
  const siginfo_t information = {.si_signo = SIGSEGV};
  cs_record_signal(&record, cs_gettid(), &information, &context, cs_clock_ns(CLOCK_MONOTONIC));
  cs_record_messages(&record);
  cs_record_task(&record);
  cs_record_memory(&record);
  const cs_frame_list frames = cs_record_frames(&record);
  cs_unwind(&scratch, &record.registers, &frames);
  cs_unwind_find_images(&frames);
}

// Returns SA_RESTART if an interrupted system call must continue after the signal. An ignored signal interrupts no
// system call, and the previous handler may have set SA_RESTART. The kernel reads the flag of our handler, so ours must
// carry it.
static int restart_flag(const cs_kernel_action *previous) {
  return previous->handler == SIG_IGN || (previous->flags & SA_RESTART) != 0 ? SA_RESTART : 0;
}

static void make_action(const cs_kernel_action *previous, struct sigaction *ret_action) {
  memset(ret_action, 0, sizeof *ret_action);
  ret_action->sa_sigaction = cs_handler;
  // SA_NODEFER: without it, a fault while its signal is blocked would end the process at once, without a record.
  ret_action->sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | restart_flag(previous);
  sigfillset(&ret_action->sa_mask);
  for (int index = 0; index < CS_CRASH_SIGNAL_COUNT; index++)
    sigdelset(&ret_action->sa_mask, crash_signals[index]);
}

static bool is_our_handler(const cs_kernel_action *action) {
  return (uintptr_t)action->handler == (uintptr_t)cs_handler;
}

// Derives the action from our installed action, which has the restorer of glibc.
static void prepare_sweep(void) {
  cs_kernel_action action = cs_process.own;
  action.handler = (void (*)(int))(uintptr_t)cs_sweep_answer;
  // SA_RESTART: an interrupted system call of another thread continues, if the kernel can restart that call.
  action.flags = (action.flags & ~(unsigned long)SA_NODEFER) | SA_RESTART;
  cs_process.sweep_action = action;
  cs_process.sweep_ms = cs_environment_sweep_ms();
}

cs_shim_error cs_handlers_install(cs_shim_failure *ret_failure) {
  for (int index = 0; index < CS_CRASH_SIGNAL_COUNT; index++) {
    const int signal = crash_signals[index];
    // Read with the raw system call, because glibc's sigaction() hides the restorer, which the handler has to put back.
    cs_kernel_action present = {0};
    const long result = cs_sigaction(signal, NULL, &present);
    // A forked child that starts the shield again inherits our handler. `previous` already holds the handler before it.
    if (result == 0 && !is_our_handler(&present)) cs_process.previous[signal] = present;
    struct sigaction action;
    make_action(&cs_process.previous[signal], &action);
    errno = (int)-result;
    if (result == 0 && sigaction(signal, &action, NULL) == 0) {
      cs_sigaction(signal, NULL, &cs_process.own);
      continue;
    }
    const cs_shim_error error = cs_setup_failed(ret_failure, "sigaction");
    while (index-- > 0)
      cs_sigaction(crash_signals[index], &cs_process.previous[crash_signals[index]], NULL);
    return error;
  }
  prepare_sweep();
  return CS_SHIM_OK;
}

void cs_handlers_remove(void) {
  for (int index = 0; index < CS_CRASH_SIGNAL_COUNT; index++) {
    const int signal = crash_signals[index];
    cs_kernel_action present = {0};
    // A handler that was installed after ours stays installed.
    if (cs_sigaction(signal, NULL, &present) != 0 || !is_our_handler(&present)) continue;
    cs_sigaction(signal, &cs_process.previous[signal], NULL);
  }
}

#endif
