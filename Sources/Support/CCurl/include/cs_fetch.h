// Downloads files by HTTP in a sandboxed process that treats every answer as untrusted input. It reads files and
// resolves names first, then confines itself (cs_confine_fetch), then talks to servers.
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

/// Initializes libcurl, reads the machine's certificates and resolves the servers' names. The URLs must outlive it.
/// Called once in a process; NULL, with a problem, when nothing can be downloaded. cs_fetcher_get reports a server that
/// cannot be resolved.
struct cs_fetcher *cs_fetcher_make(const char *const *urls, size_t count, struct cs_fetch_problem *ret_problem);

/// A request to one server.
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

/// Downloads a file from server `index`. It follows no redirect, asks for no compression, and sends no cookie or
/// password.
enum cs_fetch_result cs_fetcher_get(struct cs_fetcher *fetcher, size_t index, const struct cs_fetch_request *request,
                                    struct cs_fetch_problem *ret_problem);
