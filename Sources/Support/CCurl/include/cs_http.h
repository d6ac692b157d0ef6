// Sends POST requests by HTTP or HTTPS. libcurl reads proxies from the environment (https_proxy, no_proxy, …).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  CS_HTTP_BODY_BYTES = 4096,   // the maximum number of stored bytes of a response
  CS_HTTP_PROBLEM_BYTES = 256, // libcurl's CURL_ERROR_SIZE
};

/// A connection that stays open between requests. Only one thread at a time may use it.
struct cs_http;

/// Returns NULL if libcurl cannot be used. The first call in a process must return before another thread makes a call,
/// because the first call initializes libcurl.
struct cs_http *cs_http_make(void);
void cs_http_free(struct cs_http *http);

/// Sets the PEM files of the client's certificate and of its key, which has no password. libcurl reads them when it
/// opens a connection. Returns false if memory is exhausted.
bool cs_http_set_certificate(struct cs_http *http, const char *certificate, const char *key);

struct cs_http_request {
  const char *url;
  const char *headers; // `Name: value`, each followed by a line feed
  const void *body;
  size_t body_bytes;
  const char *ca_file; // empty means the machine's certificates
  uint32_t timeout_ms; // limit of the time for the whole request
  int stop;            // a descriptor whose hang-up ends the transfer, or -1
};

struct cs_http_answer {
  int64_t retry_after_s; // from the header Retry-After; 0 if the response does not have it
  int status;            // 0 means no response; `problem` is then the reason
  uint32_t body_bytes;
  char body[CS_HTTP_BODY_BYTES]; // the first bytes of the response
  char problem[CS_HTTP_PROBLEM_BYTES];
};

/// Sends a request. Redirects are not followed, because the headers can contain a secret.
void cs_http_post(struct cs_http *http, const struct cs_http_request *request, struct cs_http_answer *ret_answer);
