// Determines the code in which containment must not stop a trapping thread, because the thread can hold a lock there.
// The functions of this file run before the first contained work starts.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cs_testing.h"

#include "../../Signal/Capture/registers_here.h"
#include "../../Signal/Containment/containment.h"
#include "../../Signal/Unwind/cfi.h"

// The beginnings of the file names of unsafe images. A thread with a frame in an unsafe image (executable or shared
// library) can hold a lock that other threads need, such as the loader's lock.
static const char dispatch_image[] = "libdispatch.so";
static const char *const unsafe_images[] = {"libc.so", "libpthread.so", "ld-linux", dispatch_image};

// The runtime's function that initializes a lazy global once. During the initialization, it holds a lock, which is the
// runtime's own futex. The stack then need not contain a frame of libc, so `unsafe_images` does not cover this lock.
extern void swift_once(void *predicate, void (*make)(void *), void *context) __attribute__((weak));

// These functions call the program's code (cancellation handlers, escalation handlers, executors) while they hold a
// task's lock. The runtime can have more such functions, without public names. frames.c therefore refuses to contain a
// trap if any frame of libswift_Concurrency.so is on the stack, except the outermost ones, which call the task's code.
extern void swift_task_cancel(void) __attribute__((weak));
extern void swift_taskGroup_cancelAll(void) __attribute__((weak));
extern void swift_task_cancel_group_child_tasks(void) __attribute__((weak));
extern void swift_task_escalate(void) __attribute__((weak));

static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

static const char *ignored; // for tests: an image whose name begins with this string is not added

void cs_testing_contained_ignore(const char *image) {
  ignored = image;
}

static bool is_unsafe(const char *name) {
  if (ignored != NULL && strncmp(name, ignored, strlen(ignored)) == 0) return false;
  for (size_t index = 0; index < sizeof unsafe_images / sizeof unsafe_images[0]; index++) {
    if (strncmp(name, unsafe_images[index], strlen(unsafe_images[index])) == 0) return true;
  }
  return false;
}

cs_contained_range cs_contained_range_of(const struct dl_phdr_info *information) {
  cs_contained_range range = {.start = UINT64_MAX};
  for (int index = 0; index < information->dlpi_phnum; index++) {
    const ElfW(Phdr) *header = &information->dlpi_phdr[index];
    if (header->p_type != PT_LOAD) continue;
    const uint64_t at = information->dlpi_addr + header->p_vaddr;
    if (at < range.start) range.start = at;
    if (at + header->p_memsz > range.end) range.end = at + header->p_memsz;
  }
  return range;
}

static int note_image(struct dl_phdr_info *information, size_t size, void *context) {
  (void)size;
  cs_contained_layout *layout = context;
  const char *name = name_of(information->dlpi_name);
  if (strcmp(name, "libswift_Concurrency.so") == 0) layout->concurrency = cs_contained_range_of(information);
  if (!is_unsafe(name)) return 0;
  if (layout->image_count >= CS_CONTAINED_IMAGE_LIMIT) return 1;
  layout->is_dispatch[layout->image_count] = strncmp(name, dispatch_image, strlen(dispatch_image)) == 0;
  layout->images[layout->image_count++] = cs_contained_range_of(information);
  return 0;
}

// Adds the function that contains the instruction at `pc` to the layout, the list of code in which a trap is not
// contained. Finds the function's bounds in the same way as the unwinder.
static bool note_function(cs_contained_layout *layout, uint64_t pc) {
  cs_cfi_image image;
  cs_cfi_function function;
  if (layout->function_count >= CS_CONTAINED_FUNCTION_LIMIT) return false;
  if (!cs_cfi_image_of(pc, &image) || !cs_cfi_find(&image, pc, &function)) return false;
  layout->function_start[layout->function_count++] = function.start;
  return true;
}

static void note_caller(void *context) {
  *(uint64_t *)context = (uint64_t)(uintptr_t)__builtin_return_address(0);
}

// Adds the function that calls the initializers of lazy globals. This caller is swift_once() itself, a function to
// which swift_once() makes a tail call, or a function without a public name. Because its name is not certain, this code
// initializes a test variable whose initializer stores its own return address.
static bool note_once(cs_contained_layout *layout) {
  _Alignas(16) static uint64_t predicate[2];
  uint64_t caller = 0;
  if (swift_once == NULL) return true;
  swift_once(predicate, note_caller, &caller);
  layout->has_once = caller != 0 && note_function(layout, caller - 1);
  return layout->has_once;
}

static bool note_cancellation(cs_contained_layout *layout) {
  void (*const functions[])(void) = {swift_task_cancel, swift_taskGroup_cancelAll, swift_task_cancel_group_child_tasks,
                                     swift_task_escalate};
  for (size_t index = 0; index < sizeof functions / sizeof functions[0]; index++) {
    const uint64_t start = (uint64_t)(uintptr_t)functions[index];
    if (start == 0) continue;
    // `start` can be the address of a stub in the procedure linkage table instead of the function's own address. A stub
    // is not the function to find, so this function then returns false.
    if (!note_function(layout, start) || layout->function_start[layout->function_count - 1] != start) return false;
  }
  return true;
}

// Returns the address of the owner field in the lock of a glibc stream: { int lock; int count; void *owner; }. The
// owner field contains the address of the thread's struct pthread, which pthread_self() also returns. On x86-64, this
// address is the thread pointer. On AArch64, the structure is below the thread pointer, at the same distance for all
// threads.
static uint64_t owner_of(const FILE *stream) {
  return (uint64_t)(uintptr_t)stream->_lock + 2 * sizeof(int);
}

// Returns whether `layout` lists libc as an image. A static executable has no image of libc, so libc's code cannot be
// distinguished from the program's code. The check uses the address of getppid, a function of libc that programs rarely
// replace.
static bool has_libc(const cs_contained_layout *layout) {
  const uint64_t pc = (uint64_t)(uintptr_t)getppid;
  for (uint32_t index = 0; index < layout->image_count; index++) {
    if (layout->images[index].start <= pc && pc < layout->images[index].end) return true;
  }
  return false;
}

const char *cs_contained_find(cs_contained_layout *ret_layout) {
  if (dl_iterate_phdr(note_image, ret_layout) != 0) return "there are too many C libraries";
  if (!has_libc(ret_layout)) return "the C library is not found among the images";
  if (!note_once(ret_layout)) return "the function that initializes lazy globals is not found";
  if (!note_cancellation(ret_layout)) return "the functions that cancel tasks are not found";
  const FILE *const streams[CS_CONTAINED_STREAM_COUNT] = {stdin, stdout, stderr};
  for (int index = 0; index < CS_CONTAINED_STREAM_COUNT; index++)
    ret_layout->stream_owner[index] = owner_of(streams[index]);
  ret_layout->self_offset = (int64_t)((uint64_t)pthread_self() - cs_thread_pointer());
  return NULL;
}

#endif
