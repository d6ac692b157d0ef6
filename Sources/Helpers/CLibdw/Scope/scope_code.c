// Finds the Swift classes to which a function refers: in its own symbol, in the symbols of its callees, or in the
// symbols of data that it refers to.
//
// Code that uses an object almost always refers to the object's class. For example, the code is a method of the class,
// loads the metadata of the class, or calls a function with the class in its signature. The symbols of the methods, the
// called functions and the metadata contain the name of the class.
#include "scope.h"
#include "scope_machine.h"
#include <stdlib.h>
#include <string.h>

#define CS_CODE_BYTES   (64u << 10) // the maximum number of bytes of a function's code
#define CS_CODE_TARGETS 4096
#define CS_CODE_NAMES   512
#define CS_CODE_CLASSES 16
#define CS_CODE_DEPTH   8 // the maximum number of enclosing functions of a closure
#define CS_CODE_LEAST   8 // names of enclosing functions must be longer than this

// Names above this length are skipped, because searching each name in every other name would take too long.
#define CS_CODE_NAME_BYTES 4096

/// The called functions, the data addresses and the class names to which a function refers.
struct references {
  uint64_t functions[1 + CS_CODE_DEPTH];
  size_t function_count;
  uint64_t targets[CS_CODE_TARGETS];
  size_t target_count;
  const char *names[CS_CODE_NAMES];
  size_t name_count;
};

static int compare(const void *left, const void *right) {
  const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

/// Returns the function that contains the address, or NULL if no symbol contains it.
static const char *find_function(const struct cs_scope *scope, const struct cs_scope_symbols *symbols,
                                 GElf_Sym *ret_function) {
  for (size_t i = 1; i < symbols->count; i++) {
    const char *name = cs_scope_symbol(symbols, i, ret_function);
    if (!name || GELF_ST_TYPE(ret_function->st_info) != STT_FUNC) continue;
    if (scope->pc >= ret_function->st_value && scope->pc - ret_function->st_value < ret_function->st_size) return name;
  }
  return NULL;
}

static void add_function(struct references *references, Elf *elf, const GElf_Sym *function) {
  size_t bytes = 0;
  const uint8_t *code = cs_scope_bytes(elf, function->st_value, &bytes);
  if (!code || references->function_count == 1 + CS_CODE_DEPTH) return;
  references->functions[references->function_count++] = function->st_value;
  if (bytes > function->st_size) bytes = function->st_size;
  if (bytes > CS_CODE_BYTES) bytes = CS_CODE_BYTES;
  references->target_count +=
      cs_machine_targets(elf, code, bytes, function->st_value, references->targets + references->target_count,
                         CS_CODE_TARGETS - references->target_count);
}

/// Returns the name of a Swift symbol, or NULL for any other symbol.
static const char *swift_symbol(const struct cs_scope_symbols *symbols, size_t index, GElf_Sym *ret_symbol) {
  const char *name = cs_scope_symbol(symbols, index, ret_symbol);
  return name && strncmp(name, "$s", 2) == 0 && strnlen(name, CS_CODE_NAME_BYTES) < CS_CODE_NAME_BYTES ? name : NULL;
}

/// Returns whether a function is a specialization for the closure, or for a function that encloses the closure. The
/// name of a specialization contains the length and the name of the function for which it was made
/// (`…15$s4mainyycfU11_Tf3npf_n`).
static bool is_specialized(const char *name, const char *closure) {
  for (const char *at = name + 2; (at = strstr(at, "$s")); at++) {
    const char *digits = at;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
      digits--;
    const unsigned long length = strtoul(digits, NULL, 10);
    if (length > CS_CODE_LEAST && length < CS_CODE_NAME_BYTES && strnlen(at, length) == length &&
        strncmp(closure, at, length) == 0)
      return true;
  }
  return false;
}

/// Adds the functions that enclose a closure, and the specializations of these functions. The name of an enclosing
/// function is a prefix of the closure's name.
static void add_around(struct references *references, const struct cs_scope_symbols *symbols, const char *closure) {
  for (size_t i = 1; i < symbols->count; i++) {
    GElf_Sym symbol;
    const char *name = swift_symbol(symbols, i, &symbol);
    if (!name || GELF_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    const size_t length = strlen(name);
    const bool is_around = length > CS_CODE_LEAST && strncmp(closure, name, length) == 0 && closure[length] != 0;
    if (is_around || is_specialized(name, closure)) add_function(references, symbols->elf, &symbol);
  }
}

/// Adds the symbols whose addresses the code refers to (targets), and the symbols of the functions themselves.
static void add_names(struct references *references, const struct cs_scope_symbols *symbols) {
  for (size_t i = 1; i < symbols->count && references->name_count < CS_CODE_NAMES; i++) {
    GElf_Sym symbol;
    const char *name = swift_symbol(symbols, i, &symbol);
    if (!name) continue;
    // If code refers to a class's metadata, the target is the address point, not the start of the symbol.
    const uint64_t address = symbol.st_value + (cs_scope_is_metadata(name) ? CS_SCOPE_METADATA_BYTES : 0);
    bool is_named = bsearch(&address, references->targets, references->target_count, sizeof(uint64_t), compare);
    for (size_t function = 0; function < references->function_count; function++)
      is_named |= symbol.st_value == references->functions[function];
    if (is_named) references->names[references->name_count++] = name;
  }
}

/// Finds the part of a class's mangled name that identifies the class: `4CartC` of `$s4shop4CartCMn`. For a private
/// class, or a name with word substitutions, the part is everything between `$s` and `Mn`.
static size_t identifier(const char *name, size_t length, const char **ret_start) {
  // In a mangled name, a class consists of a number, an identifier of this length, and the letter C.
  for (size_t start = length - 2; start > 1; start--) {
    if (name[start] < '0' || name[start] > '9') continue;
    char *end;
    size_t first = start;
    while (first > 2 && name[first - 1] >= '0' && name[first - 1] <= '9')
      first--;
    const unsigned long count = strtoul(name + first, &end, 10);
    if (name[first] != '0' && count == (size_t)(name + length - 1 - end)) {
      *ret_start = name + first;
      return length - first;
    }
    start = first;
  }
  *ret_start = name + 2;
  return length - 2;
}

/// Returns whether a name contains the identifying part of a class, but not directly after a digit. For example,
/// `14CartCounterC` does not contain `4CartC` in this sense.
static bool has_part(const char *name, const char *part, size_t length) {
  const char *end = name + strlen(name);
  for (const char *at = name; (at = memmem(at, (size_t)(end - at), part, length)); at++) {
    if (at == name || at[-1] < '0' || at[-1] > '9') return true;
  }
  return false;
}

/// Returns whether a name contains all identifiers of the range, which are modules and enclosing types.
static bool has_context(const char *name, const char *from, const char *to) {
  while (from < to) {
    if (*from < '1' || *from > '9') {
      // An identifier that begins with 0 contains word substitutions, which cannot be resolved here, so assume a match.
      if (*from++ == '0') return true;
      continue;
    }
    char *letters;
    const unsigned long count = strtoul(from, &letters, 10);
    if (letters >= to || count > (size_t)(to - letters)) return true;
    const size_t length = (size_t)(letters - from) + count;
    if (!has_part(name, from, length)) return false;
    from += length;
  }
  return true;
}

static bool is_between(char letter, char first, char last) {
  return letter >= first && letter <= last;
}

/// Returns whether the text directly before `end` in the name is a substitution, such as `AA` or `AnC`, and not an
/// enclosing type, such as `7AccountC`.
static bool is_substitution(const char *name, const char *end) {
  if (end - name < 2 || !is_between(end[-1], 'A', 'Z')) return false;
  const char *at = end - 2;
  while (at > name && is_between(*at, 'a', 'z'))
    at--;
  return *at == 'A' && (at == name || !is_between(at[-1], '0', '9'));
}

/// Returns whether a name contains the class `part` in its `context`. The class follows the context directly, or it
/// follows a substitution (`AA4CartC`) and the context is somewhere else in the name.
static bool has_class(const char *name, const char *context, const char *part, size_t length) {
  const size_t around = (size_t)(part - context);
  const char *end = name + strlen(name);
  for (const char *at = name; (at = memmem(at, (size_t)(end - at), part, length)); at++) {
    const size_t before = (size_t)(at - name);
    if (around == 0 && (before == 0 || at[-1] < '0' || at[-1] > '9')) return true;
    if (around > 0 && before >= around && memcmp(at - around, context, around) == 0) return true;
    if (around > 0 && is_substitution(name, at) && has_context(name, context, part)) return true;
  }
  return false;
}

static bool is_named(const struct references *references, const char *context, const char *part, size_t length) {
  for (size_t i = 0; i < references->name_count; i++) {
    if (has_class(references->names[i], context, part, length)) return true;
  }
  return false;
}

static void add_classes(struct cs_scope *scope, const struct cs_scope_symbols *symbols,
                        const struct references *references) {
  size_t count = 0;
  for (size_t i = 1; i < symbols->count && count < CS_CODE_CLASSES; i++) {
    GElf_Sym symbol;
    const char *name = swift_symbol(symbols, i, &symbol);
    const size_t length = name ? strlen(name) : 0;
    if (length < 6 || strcmp(name + length - 3, "CMn") != 0) continue;
    // Skip classes of the standard library, because any code can refer to them.
    if (name[2] == 's') continue;
    const char *start;
    const size_t part = identifier(name, length - 2, &start);
    if (!is_named(references, name + 2, start, part)) continue;
    cs_scope_add_named_class(scope, symbols, name);
    count++;
  }
}

void cs_scope_add_named_classes(struct cs_scope *scope) {
  const struct cs_scope_symbols symbols = cs_scope_symbols_of(scope->image->elf);
  GElf_Sym function;
  const char *name = find_function(scope, &symbols, &function);
  // Accept Swift functions, and `main`, which is the symbol of the top-level code of a Swift program.
  if (!name || (strncmp(name, "$s", 2) != 0 && strcmp(name, "main") != 0)) return;
  struct references *references = calloc(1, sizeof *references);
  if (!references) return;
  add_function(references, symbols.elf, &function);
  add_around(references, &symbols, name);
  qsort(references->targets, references->target_count, sizeof(uint64_t), compare);
  add_names(references, &symbols);
  add_classes(scope, &symbols, references);
  free(references);
}
