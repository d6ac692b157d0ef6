#include "cs_http.h"
#include "options.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(CS_HTTP_PROBLEM_BYTES >= CURL_ERROR_SIZE, "curl writes as much");

struct cs_http {
  CURL *curl;
  // The paths of the client's certificate and of its key, or NULL.
  char *certificate, *key;
};

struct cs_http *cs_http_make(void) {
  static bool is_ready = false;
  if (!is_ready && curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return NULL;
  is_ready = true;
  struct cs_http *http = calloc(1, sizeof *http);
  if (!http) return NULL;
  http->curl = curl_easy_init();
  if (http->curl) return http;
  free(http);
  return NULL;
}

void cs_http_free(struct cs_http *http) {
  if (!http) return;
  curl_easy_cleanup(http->curl);
  free(http->certificate);
  free(http->key);
  free(http);
}

bool cs_http_set_certificate(struct cs_http *http, const char *certificate, const char *key) {
  free(http->certificate);
  free(http->key);
  http->certificate = strdup(certificate);
  http->key = strdup(key);
  return http->certificate && http->key;
}

/// Keeps the first bytes of the response, and discards the rest.
static size_t keep(char *bytes, size_t size, size_t count, void *argument) {
  (void)size; // the size of an item, which is always 1
  struct cs_http_answer *answer = argument;
  const size_t room = sizeof answer->body - answer->body_bytes;
  const size_t kept = count < room ? count : room;
  memcpy(answer->body + answer->body_bytes, bytes, kept);
  answer->body_bytes += (uint32_t)kept;
  return count;
}

/// libcurl calls this function about once a second. A result other than 0 ends the transfer.
static int is_stopped(void *argument, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
  (void)a, (void)b, (void)c, (void)d;
  struct pollfd stop = {.fd = *(const int *)argument};
  return poll(&stop, 1, 0) > 0;
}

static bool set_certificate(const struct cs_http *http) {
  if (!http->certificate) return true;
  // An empty password keeps OpenSSL from asking for one on the terminal. The session cache is disabled, because a
  // resumed TLS session would keep the certificate of its first connection, even if the file has changed since.
  return curl_easy_setopt(http->curl, CURLOPT_SSLCERT, http->certificate) == CURLE_OK &&
         curl_easy_setopt(http->curl, CURLOPT_SSLKEY, http->key) == CURLE_OK &&
         curl_easy_setopt(http->curl, CURLOPT_KEYPASSWD, "") == CURLE_OK &&
         curl_easy_setopt(http->curl, CURLOPT_SSL_SESSIONID_CACHE, 0L) == CURLE_OK;
}

/// Sets the options of a request. Returns false if libcurl does not support an option.
static bool set(const struct cs_http *http, const struct cs_http_request *request, struct curl_slist *headers,
                struct cs_http_answer *answer) {
  CURL *curl = http->curl;
  return set_certificate(http) && cs_curl_set_common(curl, request->url, request->timeout_ms) &&
         curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_POST, 1L) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_bytes) == CURLE_OK &&
         (!request->ca_file[0] || curl_easy_setopt(curl, CURLOPT_CAINFO, request->ca_file) == CURLE_OK) &&
         curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, is_stopped) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &request->stop) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, answer->problem) == CURLE_OK;
}

/// Returns the headers in `text` as a list, or NULL if memory is exhausted.
static struct curl_slist *make_headers(const char *text) {
  // Disable the Expect header with an empty one. Without this option, libcurl sends `Expect: 100-continue` before a
  // large body. libcurl then waits a second for the answer of a server that does not support this header.
  struct curl_slist *list = curl_slist_append(NULL, "Expect:");
  char *copy = strdup(text);
  char *rest = NULL;
  for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; list && line; line = strtok_r(NULL, "\n", &rest)) {
    struct curl_slist *longer = curl_slist_append(list, line);
    if (!longer) curl_slist_free_all(list);
    list = longer;
  }
  if (!copy) {
    curl_slist_free_all(list);
    list = NULL;
  }
  free(copy);
  return list;
}

void cs_http_post(struct cs_http *http, const struct cs_http_request *request, struct cs_http_answer *ret_answer) {
  CURL *curl = http->curl;
  memset(ret_answer, 0, sizeof *ret_answer);
  // curl_easy_reset resets the options, but keeps the connection open.
  curl_easy_reset(curl);
  struct curl_slist *headers = make_headers(request->headers);
  if (!headers || !set(http, request, headers, ret_answer)) {
    (void)snprintf(ret_answer->problem, sizeof ret_answer->problem, "libcurl cannot be used");
  } else {
    const CURLcode code = curl_easy_perform(curl);
    long status = 0;
    curl_off_t retry_after_s = 0;
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after_s);
    // Do not use the body of a truncated response.
    if (code == CURLE_OK)
      ret_answer->status = (int)status;
    else if (!ret_answer->problem[0])
      (void)snprintf(ret_answer->problem, sizeof ret_answer->problem, "%s", curl_easy_strerror(code));
    ret_answer->retry_after_s = retry_after_s > 0 ? (int64_t)retry_after_s : 0;
  }
  // Reset the options after the request, because they contain pointers to the caller's data.
  curl_easy_reset(curl);
  curl_slist_free_all(headers);
}
