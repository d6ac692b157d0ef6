#include "store.h"
#include <stdlib.h>
#include <string.h>

// The maximum size of one table in bytes. The cache file must be smaller than crash-analyse's RLIMIT_FSIZE, and offsets
// and indexes have 32 bits.
#define CS_STORE_LIMIT_BYTES ((size_t)192 << 20)

void *cs_buffer_extend(struct cs_store *store, struct cs_buffer *buffer, size_t count, size_t item_bytes) {
  size_t needed = buffer->count + count;
  if (needed > CS_STORE_LIMIT_BYTES / item_bytes) {
    store->failure = CS_STORE_TOO_LARGE;
    return NULL;
  }
  if (needed > buffer->capacity) {
    size_t capacity = needed * 2 > 64 ? needed * 2 : 64;
    void *items = realloc(buffer->items, capacity * item_bytes);
    if (!items) {
      store->failure = CS_STORE_OUT_OF_MEMORY;
      return NULL;
    }
    buffer->items = items;
    buffer->capacity = capacity;
  }
  void *room = (char *)buffer->items + buffer->count * item_bytes;
  buffer->count = needed;
  return room;
}

void cs_buffer_free(struct cs_buffer *buffer) {
  free(buffer->items);
}

static uint32_t hash_bytes(const void *bytes, size_t count) {
  const unsigned char *next = bytes;
  uint64_t hash = 0x9e3779b97f4a7c15 ^ count;
  for (; count >= 8; count -= 8, next += 8) {
    uint64_t word;
    memcpy(&word, next, 8);
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  uint64_t word = 0;
  memcpy(&word, next, count);
  hash = (hash ^ word) * 0xff51afd7ed558ccd;
  return (uint32_t)(hash ^ hash >> 32);
}

/// Doubles the index if less than half of its slots are free.
static bool index_grow(struct cs_store *store, struct cs_index *index) {
  if (index->count * 2 < index->capacity) return true;
  size_t capacity = index->capacity ? index->capacity * 2 : 4096;
  struct cs_index_slot *slots = calloc(capacity, sizeof *slots);
  if (!slots) {
    store->failure = CS_STORE_OUT_OF_MEMORY;
    return false;
  }
  for (size_t i = 0; i < index->capacity; i++) {
    if (index->slots[i].item_plus_one <= index->forgotten) continue;
    size_t at = index->slots[i].hash & (capacity - 1);
    while (slots[at].item_plus_one)
      at = (at + 1) & (capacity - 1);
    slots[at] = index->slots[i];
  }
  free(index->slots);
  index->slots = slots;
  index->capacity = capacity;
  return true;
}

/// Returns the slot of an equal item, or a free slot. The first `count` bytes of `key` are compared with the item at
/// `items + item * stride`.
static struct cs_index_slot *index_find(struct cs_store *store, struct cs_index *index, const struct cs_buffer *items,
                                        size_t stride, const void *key, size_t count) {
  if (!index_grow(store, index)) return NULL;
  uint32_t hash = hash_bytes(key, count);
  size_t at = hash & (index->capacity - 1);
  for (;; at = (at + 1) & (index->capacity - 1)) {
    struct cs_index_slot *slot = &index->slots[at];
    if (slot->item_plus_one <= index->forgotten) {
      slot->item_plus_one = 0;
      slot->hash = hash;
      return slot;
    }
    size_t offset = (size_t)(slot->item_plus_one - 1) * stride;
    // Compare the lengths before the bytes. The item can be the last string of the table and shorter than `key`, so
    // memcmp could read beyond the table.
    if (slot->hash == hash && count <= items->count * stride - offset &&
        memcmp((const char *)items->items + offset, key, count) == 0)
      return slot;
  }
}

/// Returns the index of an item equal to `key`. If there is no equal item, appends a new item.
static uint32_t intern(struct cs_store *store, struct cs_index *index, struct cs_buffer *items, size_t stride,
                       const void *key, size_t bytes) {
  struct cs_index_slot *slot = index_find(store, index, items, stride, key, bytes);
  if (!slot) return 0;
  if (slot->item_plus_one) return slot->item_plus_one - 1;
  uint32_t item = (uint32_t)items->count;
  void *room = cs_buffer_extend(store, items, bytes / stride, stride);
  if (!room) return 0;
  memcpy(room, key, bytes);
  slot->item_plus_one = item + 1;
  index->count++;
  return item;
}

static void forget(struct cs_index *index, const struct cs_buffer *items) {
  index->forgotten = (uint32_t)items->count;
  index->count = 0;
}

void cs_store_begin_unit(struct cs_store *store) {
  forget(&store->location_index, &store->locations);
  forget(&store->context_index, &store->contexts);
}

uint32_t cs_store_string(struct cs_store *store, const char *text) {
  if (!text || !*text) return 0;
  return intern(store, &store->string_index, &store->strings, 1, text, strlen(text) + 1);
}

uint32_t cs_store_location(struct cs_store *store, struct cs_place place) {
  static const uint32_t line_mask = (UINT32_C(1) << CS_SYMBOLS_LINE_BITS) - 1;
  const struct cs_symbols_context context = {
      .function = place.function,
      .file = place.file,
      .parent = place.parent,
      .line_base = place.line & ~line_mask,
  };
  uint32_t column = place.column >> CS_SYMBOLS_COLUMN_BITS ? 0 : place.column;
  const struct cs_symbols_location location = {
      .context = intern(store, &store->context_index, &store->contexts, sizeof context, &context, sizeof context),
      .line_column = (place.line & line_mask) << CS_SYMBOLS_COLUMN_BITS | column,
  };
  return intern(store, &store->location_index, &store->locations, sizeof location, &location, sizeof location);
}

uint32_t cs_store_function(struct cs_store *store, struct cs_symbols_function function) {
  return intern(store, &store->function_index, &store->functions, sizeof function, &function, sizeof function);
}

/// Store the empty string as the first string, and a function without a name as the first function, so that 0 means
/// unknown for both.
bool cs_store_begin(struct cs_store *store) {
  char *empty = cs_buffer_extend(store, &store->strings, 1, 1);
  if (!empty) return false;
  *empty = 0;
  cs_store_function(store, (struct cs_symbols_function){.name = 0, .entry = CS_SYMBOLS_NONE});
  return store->failure == CS_STORE_GOOD;
}

void cs_store_free(struct cs_store *store) {
  cs_buffer_free(&store->strings);
  cs_buffer_free(&store->locations);
  cs_buffer_free(&store->contexts);
  cs_buffer_free(&store->functions);
  cs_buffer_free(&store->ranges);
  free(store->string_index.slots);
  free(store->location_index.slots);
  free(store->context_index.slots);
  free(store->function_index.slots);
}

static size_t memo_at(const struct cs_memo_slot *slots, size_t capacity, uint64_t key) {
  size_t at = (size_t)((key * 0x9e3779b97f4a7c15) >> 20) & (capacity - 1);
  while (slots[at].used && slots[at].key != key)
    at = (at + 1) & (capacity - 1);
  return at;
}

struct cs_memo_slot *cs_memo_find(struct cs_store *store, struct cs_memo *memo, uint64_t key) {
  if (memo->count * 2 >= memo->capacity) {
    size_t capacity = memo->capacity ? memo->capacity * 2 : 1024;
    struct cs_memo_slot *slots = calloc(capacity, sizeof *slots);
    if (!slots) {
      store->failure = CS_STORE_OUT_OF_MEMORY;
      return NULL;
    }
    for (size_t i = 0; i < memo->capacity; i++) {
      if (memo->slots[i].used) slots[memo_at(slots, capacity, memo->slots[i].key)] = memo->slots[i];
    }
    free(memo->slots);
    memo->slots = slots;
    memo->capacity = capacity;
  }
  struct cs_memo_slot *slot = &memo->slots[memo_at(memo->slots, memo->capacity, key)];
  if (!slot->used) {
    slot->key = key;
    memo->count++;
  }
  return slot;
}

void cs_memo_free(struct cs_memo *memo) {
  free(memo->slots);
}
