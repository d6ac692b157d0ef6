#include "scope.h"
#include <stdarg.h>
#include <stdio.h>

bool cs_scope_add(struct cs_scope *scope, const char *format, ...) {
  const size_t room = CS_SCOPE_TEXT_BYTES - scope->count;
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(scope->text + scope->count, room, format, arguments);
  va_end(arguments);
  if (length <= 0 || (size_t)length >= room) return false;
  scope->count += (size_t)length;
  return true;
}
