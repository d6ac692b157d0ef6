// Gets files by HTTP for a process that trusts nobody who answers: what needs files and names is done first, then the
// process takes its rights away (cs_confine_fetch), then it talks.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Servers in one run.
#define CS_FETCH_SERVER_LIMIT 8

/// One line for people.
struct cs_fetch_problem {
  char text[256];
};

/// The servers of one run, with their addresses and the certificates of the machine.
struct cs_fetcher;

/// Sets libcurl up, reads the machine's certificates and asks for the servers' addresses. The URLs must outlive it.
/// Once a process; NULL, and why, when nothing can be fetched. A server that cannot be found is told by cs_fetcher_get.
struct cs_fetcher *cs_fetcher_make(const char *const *urls, size_t count, struct cs_fetch_problem *ret_problem);

/// What is asked of one server.
struct cs_fetch_request {
  const char *path; // behind the server's URL, without a slash in front
  int output;       // a file: emptied first
  uint64_t limit_bytes;
  uint32_t timeout_ms; // for all of it
};

enum cs_fetch_result {
  CS_FETCH_GOOD = 0,
  CS_FETCH_NOT_THERE = 1, // the server says that it does not have it
  CS_FETCH_FAILED = 2,    // `ret_problem` says why
};

/// Gets a file from server `index`. Follows nobody elsewhere, asks for no compression, sends no cookie or password.
enum cs_fetch_result cs_fetcher_get(struct cs_fetcher *fetcher, size_t index, const struct cs_fetch_request *request,
                                    struct cs_fetch_problem *ret_problem);
