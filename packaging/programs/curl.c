// Loads libcurl at the first request of crash-forward. crashd and crashctl are the same file as crash-forward. Without
// this file, crashd and crashctl would also load libcurl and its thirty libraries when they start. The functions in
// this file have the names of libcurl's functions. They call the libcurl that this file has loaded.
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo

static struct {
  __typeof__(&curl_global_init) global_init;
  __typeof__(&curl_easy_init) easy_init;
  __typeof__(&curl_easy_setopt) easy_setopt;
  __typeof__(&curl_easy_perform) easy_perform;
  __typeof__(&curl_easy_getinfo) easy_getinfo;
  __typeof__(&curl_easy_strerror) easy_strerror;
  __typeof__(&curl_easy_reset) easy_reset;
  __typeof__(&curl_easy_cleanup) easy_cleanup;
  __typeof__(&curl_slist_append) slist_append;
  __typeof__(&curl_slist_free_all) slist_free_all;
} library;

// ISO C does not define the conversion of a data pointer to a function pointer, but POSIX requires that it works for
// dlsym().
static bool find(void *from, const char *name, void *ret_function) {
  void *found = dlsym(from, name);
  __builtin_memcpy(ret_function, (const void *)&found, sizeof found);
  return found != NULL;
}

/// cs_http_make calls this function first, and only from one thread at a time. It calls the other functions only after
/// this one has succeeded.
CURLcode curl_global_init(long flags) {
  if (library.global_init == NULL) {
    void *from = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (from == NULL) return CURLE_FAILED_INIT;
    if (!find(from, "curl_easy_init", (void *)&library.easy_init) ||
        !find(from, "curl_easy_setopt", (void *)&library.easy_setopt) ||
        !find(from, "curl_easy_perform", (void *)&library.easy_perform) ||
        !find(from, "curl_easy_getinfo", (void *)&library.easy_getinfo) ||
        !find(from, "curl_easy_strerror", (void *)&library.easy_strerror) ||
        !find(from, "curl_easy_reset", (void *)&library.easy_reset) ||
        !find(from, "curl_easy_cleanup", (void *)&library.easy_cleanup) ||
        !find(from, "curl_slist_append", (void *)&library.slist_append) ||
        !find(from, "curl_slist_free_all", (void *)&library.slist_free_all) ||
        !find(from, "curl_global_init", (void *)&library.global_init)) {
      return CURLE_FAILED_INIT;
    }
  }
  return library.global_init(flags);
}

CURL *curl_easy_init(void) {
  return library.easy_init();
}
CURLcode curl_easy_perform(CURL *curl) {
  return library.easy_perform(curl);
}
const char *curl_easy_strerror(CURLcode code) {
  return library.easy_strerror(code);
}
void curl_easy_reset(CURL *curl) {
  library.easy_reset(curl);
}
void curl_easy_cleanup(CURL *curl) {
  library.easy_cleanup(curl);
}
void curl_slist_free_all(struct curl_slist *list) {
  library.slist_free_all(list);
}

struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text) {
  return library.slist_append(list, text);
}

// The option's value is a long, a pointer or a curl_off_t. Each of these types has 64 bits, and is passed in the same
// register.
_Static_assert(sizeof(long) == 8 && sizeof(void *) == 8 && sizeof(curl_off_t) == 8, "values of libcurl have 64 bits");

CURLcode curl_easy_setopt(CURL *curl, CURLoption option, ...) {
  va_list arguments;
  va_start(arguments, option);
  void *value = va_arg(arguments, void *);
  va_end(arguments);
  return library.easy_setopt(curl, option, value);
}

CURLcode curl_easy_getinfo(CURL *curl, CURLINFO info, ...) {
  va_list arguments;
  va_start(arguments, info);
  void *value = va_arg(arguments, void *);
  va_end(arguments);
  return library.easy_getinfo(curl, info, value);
}
