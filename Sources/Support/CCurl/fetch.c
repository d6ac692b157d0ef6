#include "options.h"
#include "server.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  CERTIFICATES_LIMIT_BYTES = 4 << 20,
  PATH_LIMIT_BYTES = 2048,
  STATUS_OK = 200,
  STATUS_GONE = 410,
  STATUS_NOT_FOUND = 404
};

struct cs_fetcher {
  struct cs_fetch_server servers[CS_FETCH_SERVER_LIMIT];
  size_t count;
  void *certificates; // NULL if the machine has no certificates; https requests then fail
  size_t certificate_bytes;
};

/// One transfer: its output and its limits.
struct transfer {
  CURL *curl;
  int output;
  int error; // the errno of a failed write
  uint64_t left_bytes;
  bool is_too_large;
};

static void tell(struct cs_fetch_problem *problem, const char *text) {
  (void)snprintf(problem->text, sizeof problem->text, "%s", text);
}

/// Reads the certificates before the process is confined. By default, curl reads the file with the certificates during
/// the request, when the process can no longer open files.
static void read_certificates(struct cs_fetcher *fetcher) {
  const curl_version_info_data *version = curl_version_info(CURLVERSION_NOW);
  const char *path = version->age >= CURLVERSION_SEVENTH && version->cainfo ? version->cainfo : NULL;
  const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  struct stat status;
  if (fstat(file, &status) == 0 && status.st_size > 0 && status.st_size <= CERTIFICATES_LIMIT_BYTES) {
    const size_t size = (size_t)status.st_size;
    void *bytes = malloc(size);
    if (bytes && pread(file, bytes, size, 0) == status.st_size) {
      fetcher->certificates = bytes;
      fetcher->certificate_bytes = size;
    } else {
      free(bytes);
    }
  }
  (void)close(file);
}

struct cs_fetcher *cs_fetcher_make(const char *const *urls, size_t count, struct cs_fetch_problem *ret_problem) {
  if (count == 0 || count > CS_FETCH_SERVER_LIMIT) {
    tell(ret_problem, "no servers, or too many");
    return NULL;
  }
  struct cs_fetcher *fetcher = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? calloc(1, sizeof *fetcher) : NULL;
  if (!fetcher) {
    tell(ret_problem, "libcurl cannot be used");
    return NULL;
  }
  read_certificates(fetcher);
  fetcher->count = count;
  for (size_t i = 0; i < count; i++)
    cs_fetch_server_find(&fetcher->servers[i], urls[i]);
  return fetcher;
}

static size_t take(char *bytes, size_t size, size_t count, void *argument) {
  (void)size; // the size of an item, which is always 1
  struct transfer *transfer = argument;
  long status = 0;
  // The body of an error response is discarded.
  if (curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status) != CURLE_OK || status != STATUS_OK) return 0;
  if (count > transfer->left_bytes) {
    transfer->is_too_large = true;
    return 0;
  }
  for (size_t done = 0; done < count;) {
    const ssize_t written = write(transfer->output, bytes + done, count - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      transfer->error = written < 0 ? errno : EIO;
      return 0;
    }
    done += (size_t)written;
  }
  transfer->left_bytes -= count;
  return count;
}

/// Sets the options of a download. Returns false if libcurl does not support an option.
static bool set(CURL *curl, const struct cs_fetcher *fetcher, const struct cs_fetch_server *server, const char *url,
                const struct cs_fetch_request *request) {
  struct curl_blob certificates = {
      .data = fetcher->certificates, .len = fetcher->certificate_bytes, .flags = CURL_BLOB_NOCOPY};
  return cs_curl_set_common(curl, url, request->timeout_ms) &&
         // An empty proxy makes libcurl ignore the proxy variables of the environment.
         curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)request->limit_bytes) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_RESOLVE, server->addresses) == CURLE_OK &&
         (!fetcher->certificates || curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &certificates) == CURLE_OK) &&
         curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take) == CURLE_OK;
}

static enum cs_fetch_result judge(CURLcode code, const struct transfer *transfer, const char *message,
                                  struct cs_fetch_problem *ret_problem) {
  long status = 0;
  (void)curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
  // Check the status first, because libcurl also refuses a response whose header announces a large body. The size of an
  // error response does not matter.
  if (status == STATUS_NOT_FOUND || status == STATUS_GONE) return CS_FETCH_NOT_THERE;
  if (transfer->error != 0)
    (void)snprintf(ret_problem->text, sizeof ret_problem->text, "cannot write: errno %d", transfer->error);
  else if (transfer->is_too_large || code == CURLE_FILESIZE_EXCEEDED)
    tell(ret_problem, "the file exceeds the size limit");
  else if (status != 0 && status != STATUS_OK)
    (void)snprintf(ret_problem->text, sizeof ret_problem->text, "the server answers with status %ld", status);
  else if (code != CURLE_OK)
    tell(ret_problem, message[0] ? message : curl_easy_strerror(code));
  else
    return CS_FETCH_GOOD;
  return CS_FETCH_FAILED;
}

enum cs_fetch_result cs_fetcher_get(struct cs_fetcher *fetcher, size_t index, const struct cs_fetch_request *request,
                                    struct cs_fetch_problem *ret_problem) {
  const struct cs_fetch_server *server = &fetcher->servers[index];
  char url[PATH_LIMIT_BYTES];
  const size_t length = strlen(server->url);
  const char *slash = length > 0 && server->url[length - 1] == '/' ? "" : "/";
  const int needed = snprintf(url, sizeof url, "%s%s%s", server->url, slash, request->path);
  *ret_problem = server->problem;
  if (!server->is_usable) return CS_FETCH_FAILED;
  if (needed < 0 || (size_t)needed >= sizeof url) {
    tell(ret_problem, "the URL is too long");
    return CS_FETCH_FAILED;
  }
  if (ftruncate(request->output, 0) != 0 || lseek(request->output, 0, SEEK_SET) != 0) {
    (void)snprintf(ret_problem->text, sizeof ret_problem->text, "cannot write: errno %d", errno);
    return CS_FETCH_FAILED;
  }
  struct transfer transfer = {.curl = curl_easy_init(), .output = request->output, .left_bytes = request->limit_bytes};
  char message[CURL_ERROR_SIZE] = "";
  if (!transfer.curl || !set(transfer.curl, fetcher, server, url, request) ||
      curl_easy_setopt(transfer.curl, CURLOPT_WRITEDATA, &transfer) != CURLE_OK ||
      curl_easy_setopt(transfer.curl, CURLOPT_ERRORBUFFER, message) != CURLE_OK) {
    curl_easy_cleanup(transfer.curl);
    tell(ret_problem, "libcurl cannot be used");
    return CS_FETCH_FAILED;
  }
  const CURLcode code = curl_easy_perform(transfer.curl);
  const enum cs_fetch_result result = judge(code, &transfer, message, ret_problem);
  curl_easy_cleanup(transfer.curl);
  return result;
}
