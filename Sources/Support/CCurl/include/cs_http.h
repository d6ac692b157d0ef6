// Posts to a server by HTTP or HTTPS. Proxies come from the environment (https_proxy, no_proxy, …), as libcurl reads
// it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  CS_HTTP_BODY_BYTES = 4096,   // what is kept of an answer
  CS_HTTP_PROBLEM_BYTES = 256, // libcurl's CURL_ERROR_SIZE
};

/// A connection that stays open between requests; used by one thread at a time.
struct cs_http;

/// NULL when libcurl cannot be used. The first call of a process must return before another begins.
struct cs_http *cs_http_make(void);
void cs_http_free(struct cs_http *http);

struct cs_http_request {
  const char *url;
  const char *headers; // `Name: value`, each with a line feed behind it
  const void *body;
  size_t body_bytes;
  const char *ca_file; // empty: the machine's certificates
  uint32_t timeout_ms; // for all of it
  int stop;            // a descriptor whose hang-up ends the transfer; -1: none
};

struct cs_http_answer {
  int64_t retry_after_s; // 0 where the server does not say
  int status;            // 0: there was no answer, and `problem` says why
  uint32_t body_bytes;
  char body[CS_HTTP_BODY_BYTES]; // its beginning
  char problem[CS_HTTP_PROBLEM_BYTES];
};

/// Posts a request, and follows no redirect: the headers may contain a secret.
void cs_http_post(struct cs_http *http, const struct cs_http_request *request, struct cs_http_answer *ret_answer);
