// Lets programs link until the capture lands; its definitions win over these weak ones.
#include "cs_shim.h"

__attribute__((weak)) cs_shim_error cs_shim_start(const cs_shim_configuration *configuration,
                                                  cs_shim_failure *ret_failure) {
  (void)configuration;
  (void)ret_failure;
  return CS_SHIM_DISABLED;
}

__attribute__((weak)) bool cs_shim_annotate(const char *key, size_t key_bytes, const char *value, size_t value_bytes) {
  (void)key;
  (void)key_bytes;
  (void)value;
  (void)value_bytes;
  return false;
}

__attribute__((weak)) void cs_shim_breadcrumb(const char *text, size_t text_bytes) {
  (void)text;
  (void)text_bytes;
}

__attribute__((weak)) bool cs_shim_is_started(void) {
  return false;
}
