// Installs the signal handlers and prepares the data that they use.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "../Probes/swift_runtime.h"
#include "../setup.h"

#include "../../Signal/Capture/record.h"
#include "../../Signal/Capture/registers.h"
#include "../../Signal/Dispatch/trusted.h"
#include "../../Signal/FirstChance/signal_frame.h"
#include "../../Signal/Threads/sweep_answer.h"
#include "../../Signal/Unwind/unwind.h"

// Returns the std::type_info of the exception being handled. This function of libstdc++ is weak: its address is NULL if
// the program does not link libstdc++.
extern void *__cxa_current_exception_type(void) SIGNAL_SAFE __attribute__((weak));

// Returns the address of the thread's exception state, whose first field is the exception being handled. This function
// is weak, too.
extern void *__cxa_get_globals_fast(void) SIGNAL_SAFE __attribute__((weak));
// The virtual tables of libstdc++'s two classes, derived from type_info, that describe types with base classes: the
// first for one base class, the second for several or a virtual one.
extern void *_ZTVN10__cxxabiv120__si_class_type_infoE[] __attribute__((weak));
extern void *_ZTVN10__cxxabiv121__vmi_class_type_infoE[] __attribute__((weak));
// A variable of glibc's loader: the address where the first thread's stack began.
extern void *__libc_stack_end __attribute__((weak));

// The index of the first function in a virtual table. An object's vtable pointer points to this entry, not to the start
// of the table.
#define TABLE_START 2

static const int crash_signals[CS_CRASH_SIGNAL_COUNT] = CS_CRASH_SIGNALS;

void cs_texts_find(void) {
  cs_message_buffer *const message_buffer = cs_swift_runtime_find()->message_buffer;
  if (message_buffer != NULL) cs_process.swift_message = (uint64_t)(uintptr_t)message_buffer();
  // `__abort_msg` is private to glibc: a program cannot link to it, but dlsym() finds it.
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
  // If the Swift runtime is a shared library, its constructors have already run: the result is false. If the runtime is
  // a part of the executable, whose name in the loader's list is empty, they run later: the result is true.
  return object.dlfo_link_map->l_name[0] == 0;
}

// Stores the address range that contains the executable's unwind tables. dl_iterate_phdr reports the executable first,
// so the callback stops the iteration after one image.
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

typedef struct buffers {
  ucontext_t context;
  cs_ring_record record;
  cs_cfi_scratch scratch;
} buffers;

static void warm_up(buffers *own) {
  const siginfo_t information = {.si_signo = SIGSEGV};
  cs_record_signal(&own->record, cs_gettid(), &information, &own->context, cs_clock_ns(CLOCK_MONOTONIC));
  cs_record_messages(&own->record);
  cs_record_task(&own->record);
  cs_record_memory(&own->record);
  const cs_frame_list frames = cs_record_frames(&own->record);
  cs_unwind(&own->scratch, &own->record.registers, &frames);
  cs_unwind_find_images(&frames);
}

void cs_warm_up(void) {
  // The buffers are too large for the stack and are needed only here. This code therefore maps and unmaps them. New
  // mappings contain zeros, which is necessary because getcontext() does not set every field of the context.
  buffers *const own = (buffers *)mmap(NULL, sizeof *own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return;
  if (getcontext(&own->context) == 0) warm_up(own);
  munmap(own, sizeof *own);
}

// Returns SA_RESTART if an interrupted system call must continue after the signal. This is the case if the signal was
// ignored, because an ignored signal does not interrupt system calls. It is also the case if the previous handler was
// installed with SA_RESTART. The kernel reads the flag from the installed handler, which is the shield's. The shield
// therefore copies the previous handler's flag. On AArch64, SIGILL without a previous handler also gets SA_RESTART.
// cs_waiter_send() sends SIGILL to a thread, and the handler then reads the arguments of the interrupted system call.
// Without SA_RESTART, the result EINTR would overwrite the first argument. The flag has no effect for a SIGILL from
// another source, because without a previous handler the thread does not continue after it.
static int restart_flag(int signal, const cs_kernel_action *previous) {
  const bool keeps_argument = CS_EINTR_LOSES_ARGUMENT && signal == SIGILL && previous->handler == SIG_DFL;
  const bool restarts = previous->handler == SIG_IGN || (previous->flags & SA_RESTART) != 0;
  return keeps_argument || restarts ? SA_RESTART : 0;
}

static void make_action(int signal, const cs_kernel_action *previous, struct sigaction *ret_action) {
  memset(ret_action, 0, sizeof *ret_action);
  ret_action->sa_sigaction = cs_handler;
  // SA_NODEFER lets the handler receive its own signal. Without this flag, the kernel would block the signal, and a
  // fault in the handler would end the process at once without a record.
  ret_action->sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | restart_flag(signal, previous);
  sigfillset(&ret_action->sa_mask);
  for (int index = 0; index < CS_CRASH_SIGNAL_COUNT; index++)
    sigdelset(&ret_action->sa_mask, crash_signals[index]);
}

static bool is_our_handler(const cs_kernel_action *action) {
  return (uintptr_t)action->handler == (uintptr_t)cs_handler;
}

// Prepares the action of the sweep signal, with which the crash handler asks the other threads for their stacks. Copies
// the action of our crash handler, because it contains the address of glibc's restorer (the code that returns from a
// signal handler).
static void prepare_sweep(void) {
  cs_kernel_action action = cs_process.own;
  action.handler = (void (*)(int))(uintptr_t)cs_sweep_answer;
  // SA_RESTART: if the signal interrupts a system call of another thread, the kernel restarts the call if possible.
  action.flags = (action.flags & ~(unsigned long)SA_NODEFER) | SA_RESTART;
  cs_process.sweep_action = action;
  cs_process.sweep_ms = cs_environment_sweep_ms();
}

cs_shim_error cs_handlers_install(cs_shim_failure *ret_failure) {
  for (int index = 0; index < CS_CRASH_SIGNAL_COUNT; index++) {
    const int signal = crash_signals[index];
    // Uses the raw system call, because glibc's sigaction() does not return the restorer. The crash handler needs the
    // restorer when it installs the previous action again.
    cs_kernel_action present = {0};
    const long result = cs_sigaction(signal, NULL, &present);
    // In a forked child that starts the shield again, our handler is already installed. In this case, `previous` keeps
    // the handler that ours replaced in the parent.
    if (result == 0 && !is_our_handler(&present)) cs_process.previous[signal] = present;
    struct sigaction action;
    make_action(signal, &cs_process.previous[signal], &action);
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
    // If the program installed a handler after ours, that handler stays installed.
    if (cs_sigaction(signal, NULL, &present) != 0 || !is_our_handler(&present)) continue;
    cs_sigaction(signal, &cs_process.previous[signal], NULL);
  }
}

#endif
