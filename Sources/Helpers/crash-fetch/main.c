// A child process of crashd. Downloads the debug information of a build from debuginfod servers, and writes it to
// stdout. The program is written in C, because a confined process with network access should contain little code.
#include "cs_confine.h"
#include "cs_fetch.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// The exit statuses, from sysexits.h.
enum status {
  STATUS_GOOD = 0,
  STATUS_USAGE = 64,
  STATUS_NOT_THERE = 66, // every server replied that it has no debug information for this build
  STATUS_FAILED = 69,    // no server sent the debug information, and at least one server possibly has it
  STATUS_CONFINEMENT = 71,
};

/// The request from the command line.
struct question {
  char path[160]; // appended to a server's URL
  uint64_t limit_bytes;
  uint32_t timeout_ms;
  const char *const *urls;
  size_t url_count;
};

__attribute__((noreturn, format(printf, 2, 3))) static void end(enum status status, const char *format, ...) {
  char line[CS_FETCH_SERVER_LIMIT * 512];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  (void)dprintf(STDERR_FILENO, "crash-fetch: %s\n", line);
  _exit(status);
}

/// Returns whether a string consists only of lower-case hexadecimal digits. The check is necessary because the build id
/// becomes part of a URL.
static bool is_build_id(const char *text) {
  size_t count = strlen(text);
  return count >= 2 && count <= 128 && strspn(text, "0123456789abcdef") == count;
}

/// Parses a number from 1 to `most` that consists only of digits. Returns 0 for any other string.
static uint64_t number(const char *text, uint64_t most) {
  if (*text == 0 || strspn(text, "0123456789") != strlen(text)) return 0;
  errno = 0;
  unsigned long long value = strtoull(text, NULL, 10);
  return errno == 0 && value <= most ? value : 0;
}

static bool read_question(int count, char **arguments, struct question *ret_question) {
  if (count <= 7 || strcmp(arguments[1], "--build-id") != 0 || strcmp(arguments[3], "--limit-bytes") != 0 ||
      strcmp(arguments[5], "--timeout-ms") != 0 || !is_build_id(arguments[2])) {
    return false;
  }
  struct question question = {
      .limit_bytes = number(arguments[4], INT64_MAX),
      .timeout_ms = (uint32_t)number(arguments[6], UINT32_MAX),
      .urls = (const char *const *)&arguments[7],
      .url_count = (size_t)count - 7,
  };
  if (question.limit_bytes == 0 || question.timeout_ms == 0 || question.url_count > CS_FETCH_SERVER_LIMIT) return false;
  for (size_t at = 0; at < question.url_count; at++) {
    if (question.urls[at][0] == '-') return false;
  }
  (void)snprintf(question.path, sizeof question.path, "buildid/%s/debuginfo", arguments[2]);
  *ret_question = question;
  return true;
}

int main(int count, char **arguments) {
  struct question question;
  if (!read_question(count, arguments, &question)) {
    end(STATUS_USAGE, "usage: crash-fetch --build-id HEX --limit-bytes COUNT --timeout-ms COUNT URL… >FILE");
  }
  struct cs_fetch_problem problem = {0};
  struct cs_fetcher *fetcher = cs_fetcher_make(question.urls, question.url_count, &problem);
  if (fetcher == NULL) end(STATUS_FAILED, "%s", problem.text);
  int code = cs_confine_fetch(question.limit_bytes);
  if (code != 0) end(STATUS_CONFINEMENT, "cannot confine itself: errno %d", code);

  char problems[CS_FETCH_SERVER_LIMIT * 512] = "";
  size_t used = 0;
  for (size_t at = 0; at < question.url_count; at++) {
    struct cs_fetch_request request = {
        .path = question.path,
        .output = STDOUT_FILENO,
        .limit_bytes = question.limit_bytes,
        .timeout_ms = question.timeout_ms,
    };
    enum cs_fetch_result result = cs_fetcher_get(fetcher, at, &request, &problem);
    if (result == CS_FETCH_GOOD) return STATUS_GOOD;
    if (result != CS_FETCH_FAILED) continue;
    int length = snprintf(problems + used, sizeof problems - used, "%s%s: %s", used > 0 ? "; " : "", question.urls[at],
                          problem.text);
    // Messages that do not fit are truncated.
    used = length < 0 || used + (size_t)length >= sizeof problems ? sizeof problems - 1 : used + (size_t)length;
  }
  // Discards a partial transfer.
  if (ftruncate(STDOUT_FILENO, 0) != 0 && errno == EIO) end(STATUS_FAILED, "cannot discard a partial transfer");
  if (used == 0) end(STATUS_NOT_THERE, "no server has the debug information");
  end(STATUS_FAILED, "%s", problems);
}
