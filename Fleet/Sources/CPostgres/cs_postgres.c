#include "cs_postgres.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

PGconn *cs_pg_connect(const char *info) {
  static const char session[] =
      "-c timezone=UTC -c statement_timeout=30s -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s";
  // A later keyword takes precedence over an earlier one, and libpq expands the value of `dbname` as a connection
  // string. Therefore `info` overrides the keywords before `dbname`.
  static const char *const keywords[] = {"target_session_attrs",
                                         "connect_timeout",
                                         "tcp_user_timeout",
                                         "keepalives_idle",
                                         "keepalives_interval",
                                         "keepalives_count",
                                         "application_name",
                                         "options",
                                         "dbname",
                                         "client_encoding",
                                         NULL};
  const char *const values[] = {"read-write", "5", "15000", "10", "5", "3", "crash-fleet", session, info, "UTF8", NULL};
  return PQconnectdbParams(keywords, values, 1);
}

/// Records the warning that PostgreSQL sends if an operator cancels a commit's wait for standbys. The commit succeeds,
/// but the transaction can be lost with the primary.
static void notice(void *argument, const PGresult *result) {
  struct cs_pg_notices *notices = argument;
  const char *function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
  if (function && strcmp(function, "SyncRepWaitForLSN") == 0) notices->is_unreplicated = true;
}

void cs_pg_watch(PGconn *connection, struct cs_pg_notices *notices) {
  (void)PQsetNoticeReceiver(connection, notice, notices);
}

enum { MILLISECONDS = 1000, NANOSECONDS = 1000000 };

static int64_t now_ms(void) {
  struct timespec now = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * MILLISECONDS + now.tv_nsec / NANOSECONDS;
}

/// Waits until PQgetResult() does not block, or the deadline has passed.
static enum cs_pg_outcome await(PGconn *connection, int64_t deadline_ms) {
  while (PQisBusy(connection)) {
    struct pollfd set = {.fd = PQsocket(connection), .events = POLLIN};
    const int64_t left_ms = deadline_ms < 0 ? -1 : deadline_ms - now_ms();
    if (deadline_ms >= 0 && left_ms <= 0) return CS_PG_TIMED_OUT;
    // A signal ends poll() early, and the loop repeats it.
    if (poll(&set, 1, (int)left_ms) < 0 && errno != EINTR) return CS_PG_BROKEN;
    if (set.revents != 0 && !PQconsumeInput(connection)) return CS_PG_BROKEN;
  }
  return CS_PG_ANSWERED;
}

/// Reads all results of a command, and returns the first result that is an error, or else the last result.
static enum cs_pg_outcome take(PGconn *connection, int is_sent, int timeout_ms, PGresult **ret_result) {
  const int64_t deadline_ms = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
  enum cs_pg_outcome outcome = is_sent ? CS_PG_ANSWERED : CS_PG_BROKEN;
  PGresult *kept = NULL;
  bool has_failed = false;
  while (outcome == CS_PG_ANSWERED && (outcome = await(connection, deadline_ms)) == CS_PG_ANSWERED) {
    PGresult *next = PQgetResult(connection);
    if (!next) break;
    if (has_failed) {
      PQclear(next);
      continue;
    }
    PQclear(kept);
    kept = next;
    has_failed = PQresultStatus(next) == PGRES_FATAL_ERROR;
  }
  if (outcome != CS_PG_ANSWERED || !kept) {
    PQclear(kept);
    return outcome == CS_PG_ANSWERED ? CS_PG_BROKEN : outcome;
  }
  *ret_result = kept;
  return CS_PG_ANSWERED;
}

enum cs_pg_outcome cs_pg_prepare(PGconn *connection, const char *name, const char *sql, int timeout_ms,
                                 PGresult **ret_result) {
  return take(connection, PQsendPrepare(connection, name, sql, 0, NULL), timeout_ms, ret_result);
}

enum cs_pg_outcome cs_pg_run(PGconn *connection, const char *name, const struct cs_pg_parameters *parameters,
                             int timeout_ms, PGresult **ret_result) {
  const char *values[CS_PG_PARAMETER_LIMIT];
  int lengths[CS_PG_PARAMETER_LIMIT], formats[CS_PG_PARAMETER_LIMIT];
  if (parameters->count > CS_PG_PARAMETER_LIMIT) return CS_PG_BROKEN;
  int32_t start = 0;
  for (size_t i = 0; i < parameters->count; i++) {
    const int32_t end = parameters->ends[i];
    // An empty value is not null, so its pointer must not be NULL.
    values[i] = end < 0 ? NULL : parameters->bytes ? (const char *)parameters->bytes + start : "";
    lengths[i] = end < 0 ? 0 : end - start;
    formats[i] = 1;
    if (end >= 0) start = end;
  }
  const int is_sent = PQsendQueryPrepared(connection, name, (int)parameters->count, values, lengths, formats, 0);
  return take(connection, is_sent, timeout_ms, ret_result);
}

enum cs_pg_outcome cs_pg_script(PGconn *connection, const char *sql, int timeout_ms, PGresult **ret_result) {
  return take(connection, PQsendQuery(connection, sql), timeout_ms, ret_result);
}

enum cs_pg_outcome cs_pg_await_notification(PGconn *connection, const char *payload, int timeout_ms) {
  const int64_t deadline_ms = now_ms() + timeout_ms;
  while (true) {
    bool has_arrived = false;
    for (PGnotify *next; (next = PQnotifies(connection)); PQfreemem(next)) {
      has_arrived |= strcmp(next->extra, payload) == 0;
    }
    if (has_arrived) return CS_PG_ANSWERED;
    // PQnotifies() also reads messages, and closes the socket if one is malformed.
    if (PQstatus(connection) != CONNECTION_OK) return CS_PG_BROKEN;
    struct pollfd set = {.fd = PQsocket(connection), .events = POLLIN};
    const int64_t left_ms = deadline_ms - now_ms();
    if (left_ms <= 0) return CS_PG_TIMED_OUT;
    if (poll(&set, 1, (int)left_ms) < 0 && errno != EINTR) return CS_PG_BROKEN;
    if (set.revents != 0 && !PQconsumeInput(connection)) return CS_PG_BROKEN;
  }
}

void cs_pg_finish(PGconn *connection) {
  PQfinish(connection);
}
