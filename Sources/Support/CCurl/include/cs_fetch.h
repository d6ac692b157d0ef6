// Downloads files by HTTP or HTTPS in a sandboxed process, because every response is untrusted input. The process first
// reads files and resolves names, then confines itself (cs_confine_fetch), and then connects to servers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The maximum number of servers in one run.
#define CS_FETCH_SERVER_LIMIT 8

/// The reason of a failure, as one line for people.
struct cs_fetch_problem {
  char text[256];
};

/// The servers of one run, with their addresses and the certificates of the machine.
struct cs_fetcher;

/// Initializes libcurl, reads the machine's certificates, and resolves the servers' names. The URLs must outlive the
/// result. Precondition: called once in a process. Returns NULL and a problem if downloads are impossible. If the name
/// of a server cannot be resolved, a later cs_fetcher_get for this server returns the problem.
struct cs_fetcher *cs_fetcher_make(const char *const *urls, size_t count, struct cs_fetch_problem *ret_problem);

/// A request to one server.
struct cs_fetch_request {
  const char *path; // appended to the server's URL, without a leading slash
  int output;       // the descriptor of a file, which is emptied before the download
  uint64_t limit_bytes;
  uint32_t timeout_ms; // limit of the time for the whole request
};

enum cs_fetch_result {
  CS_FETCH_GOOD = 0,
  CS_FETCH_NOT_THERE = 1, // the server responds that it does not have the file
  CS_FETCH_FAILED = 2,    // `ret_problem` contains the reason
};

/// Downloads a file from the server `index`. The request does not follow redirects, does not request compression, and
/// does not send cookies or passwords.
enum cs_fetch_result cs_fetcher_get(struct cs_fetcher *fetcher, size_t index, const struct cs_fetch_request *request,
                                    struct cs_fetch_problem *ret_problem);
