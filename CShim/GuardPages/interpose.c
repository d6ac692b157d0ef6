// Interposes malloc, free, realloc and malloc_usable_size. The executable's definitions of these functions take
// precedence for all callers, including libc's own functions, libstdc++, and a static or dynamic Swift library.
//
// The functions forward to the next definitions in the loader's search order. The next definitions belong to glibc, or
// to an allocator that was linked or preloaded. The other allocating functions (calloc, posix_memalign, aligned_alloc,
// memalign, …) are not interposed: their allocations are never sampled, which is allowed. libc's reallocarray calls
// realloc.
//
// The first instructions of malloc and free are written in assembly (forward_x86_64.h, forward_aarch64.h), because a
// compiler would generate a stack frame for them. Until slots are enabled, they only forward the call: on x86-64,
// malloc executes three additional instructions and free five; on AArch64, nine and twelve.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "Signal/pages.h"
#include "interpose.h"

// In a build with a sanitizer, this library does not define malloc, because the sanitizer's own malloc must receive
// every call.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(hwaddress_sanitizer) || __has_feature(memory_sanitizer) ||       \
    __has_feature(thread_sanitizer) || __has_feature(leak_sanitizer)
#define CS_LEAVES_MALLOC_ALONE
#endif
#endif

#if !defined(CS_LEAVES_MALLOC_ALONE)

const bool cs_pages_interposes = true;

typedef void *malloc_function(size_t);
typedef void free_function(void *);
typedef void *realloc_function(void *, size_t);
typedef size_t size_function(void *);

#pragma GCC visibility push(hidden)
malloc_function *cs_pages_next_of_malloc;
free_function *cs_pages_next_of_free;
realloc_function *cs_pages_next_of_realloc;
size_function *cs_pages_next_of_size;

__attribute__((used)) void *cs_pages_malloc(size_t size);
__attribute__((used)) void cs_pages_free(void *memory);
__attribute__((used)) void *cs_pages_realloc(void *memory, size_t size);
__attribute__((used)) size_t cs_pages_usable_size(void *memory);
#pragma GCC visibility pop

// Define malloc, free, realloc and malloc_usable_size.
#include "forward_aarch64.h"
#include "forward_x86_64.h"

// glibc's own functions. While dlsym searches for the next allocator, the loader can allocate memory. glibc's functions
// serve these allocations.
extern void *__libc_malloc(size_t) __attribute__((weak));
extern void __libc_free(void *) __attribute__((weak));
extern void *__libc_realloc(void *, size_t) __attribute__((weak));

// The first call of malloc comes from the loader, before a second thread exists. A plain variable is therefore
// sufficient.
static bool is_resolving;
static bool is_resolved; // atomic

void cs_pages_resolve(void) {
  // acquire: pairs with the release store below.
  if (__atomic_load_n(&is_resolved, __ATOMIC_ACQUIRE) || is_resolving) return;
  is_resolving = true;
  malloc_function *const next_malloc = (malloc_function *)dlsym(RTLD_NEXT, "malloc");
  free_function *const next_free = (free_function *)dlsym(RTLD_NEXT, "free");
  realloc_function *const next_realloc = (realloc_function *)dlsym(RTLD_NEXT, "realloc");
  const bool is_whole = next_malloc != NULL && next_free != NULL && next_realloc != NULL;
  // malloc, free and realloc must belong to the same allocator. Otherwise glibc's own functions are used.
  cs_pages_next_of_malloc = is_whole ? next_malloc : __libc_malloc;
  cs_pages_next_of_free = is_whole ? next_free : __libc_free;
  cs_pages_next_of_realloc = is_whole ? next_realloc : __libc_realloc;
  cs_pages_next_of_size = (size_function *)dlsym(RTLD_NEXT, "malloc_usable_size");
  __atomic_store_n(&is_resolved, true, __ATOMIC_RELEASE);
  is_resolving = false;
  // Until slots are enabled, no size is sampled and no address belongs to a slot.
  __atomic_store_n(&cs_pages_limit, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&cs_pages_map_bytes, 0, __ATOMIC_RELEASE);
}

void *cs_pages_next_malloc(void) {
  return (void *)cs_pages_next_of_malloc;
}

// The constructor finds the next allocator while the program has one thread, even if the first allocation comes from a
// second thread.
__attribute__((constructor(101))) static void resolve_early(void) {
  cs_pages_resolve();
}

// `caller` is the return address of malloc.
__attribute__((noinline)) static void *allocate(size_t size, uint64_t caller) {
  cs_pages_resolve();
  if (is_resolving) return __libc_malloc(size);
  if (size <= CS_PAGES_OBJECT_LIMIT && __atomic_load_n(&cs_page_sizes[size], __ATOMIC_RELAXED) != 0 &&
      cs_page_should_sample()) {
    const uint64_t object = cs_page_allocate((uint32_t)size, caller);
    if (object != 0) return (void *)(uintptr_t)object;
  }
  return cs_pages_next_of_malloc(size);
}

void *cs_pages_malloc(size_t size) {
  malloc_function *const next = cs_pages_next_of_malloc;
  // The call took the slow path because its size is below cs_pages_limit. If no listed class has this size, the
  // allocation is not sampled.
  if (size <= CS_PAGES_OBJECT_LIMIT && __atomic_load_n(&cs_page_sizes[size], __ATOMIC_RELAXED) == 0 && next != NULL)
    return next(size);
  return allocate(size, (uint64_t)(uintptr_t)__builtin_return_address(0));
}

static bool is_slot(const void *memory) {
  return cs_page_slots != NULL && cs_page_is_ours((uint64_t)(uintptr_t)memory);
}

void cs_pages_free(void *memory) {
  cs_pages_resolve();
  if (is_resolving) {
    __libc_free(memory);
  } else if (is_slot(memory)) {
    cs_page_deallocate((uint64_t)(uintptr_t)memory, (uint64_t)(uintptr_t)__builtin_return_address(0));
  } else {
    cs_pages_next_of_free(memory);
  }
}

static void *move(void *memory, size_t size, uint64_t caller) {
  const uint64_t object = (uint64_t)(uintptr_t)memory;
  uint32_t bytes = 0;
  if (!cs_page_size(object, &bytes)) {
    // The pointer is invalid: record the invalid free. The new block gets no contents, because the invalid pointer
    // refers to no allocation whose contents could be copied.
    cs_page_deallocate(object, caller);
    return cs_pages_own_malloc(size);
  }
  if (size == 0) {
    cs_page_deallocate(object, caller);
    return NULL;
  }
  void *const fresh = cs_pages_own_malloc(size);
  if (fresh == NULL) return NULL;
  memcpy(fresh, memory, size < bytes ? size : bytes);
  cs_page_deallocate(object, caller);
  return fresh;
}

void *cs_pages_realloc(void *memory, size_t size) {
  cs_pages_resolve();
  if (is_resolving) return __libc_realloc(memory, size);
  if (is_slot(memory)) return move(memory, size, (uint64_t)(uintptr_t)__builtin_return_address(0));
  return cs_pages_next_of_realloc(memory, size);
}

size_t cs_pages_usable_size(void *memory) {
  cs_pages_resolve();
  uint32_t bytes = 0;
  if (is_slot(memory)) return cs_page_size((uint64_t)(uintptr_t)memory, &bytes) ? bytes : 0;
  return is_resolving || cs_pages_next_of_size == NULL ? 0 : cs_pages_next_of_size(memory);
}

#else

const bool cs_pages_interposes = false;

void *cs_pages_own_malloc(unsigned long size) {
  (void)size;
  return NULL;
}

void *cs_pages_next_malloc(void) {
  return NULL;
}

void cs_pages_resolve(void) {}

#endif

#endif
