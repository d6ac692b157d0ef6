// Calls libpq with all parameters in one buffer, so that Swift needs no arrays of pointers.
#pragma once

#include <postgresql/libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The maximum number of parameters of a statement.
#define CS_PG_PARAMETER_LIMIT 24

/// The parameters of one statement, in PostgreSQL's binary format.
struct cs_pg_parameters {
  /// All values, one after another.
  const uint8_t *bytes;
  /// The offset after each value; the offset of a null value is negative.
  const int32_t *ends;
  size_t count;
};

/// What a connection reported in notices, which are not part of results.
struct cs_pg_notices {
  /// A commit returned before a standby had confirmed it, because an operator canceled the wait.
  bool is_unreplicated;
};

/// Connects with a connection string or a URI of libpq. Its values override the defaults of this function.
///
/// Returns NULL if memory is exhausted.
PGconn *cs_pg_connect(const char *info);

/// Stores the notices of a connection in `notices`. `notices` must stay valid until the connection is closed.
void cs_pg_watch(PGconn *connection, struct cs_pg_notices *notices);

/// How a call ended.
enum cs_pg_outcome {
  /// The call stored a result in `ret_result`. The result can be an error of the server.
  CS_PG_ANSWERED,
  /// The connection is broken.
  CS_PG_BROKEN,
  /// The server did not answer in time. The connection cannot be used any more.
  CS_PG_TIMED_OUT
};

/// Prepares a statement.
///
/// A negative timeout waits without limit.
enum cs_pg_outcome cs_pg_prepare(PGconn *connection, const char *name, const char *sql, int timeout_ms,
                                 PGresult **ret_result);

/// Runs a prepared statement.
enum cs_pg_outcome cs_pg_run(PGconn *connection, const char *name, const struct cs_pg_parameters *parameters,
                             int timeout_ms, PGresult **ret_result);

/// Runs SQL, which can contain several statements. The result is that of the statement that failed, or else that of the
/// last statement.
enum cs_pg_outcome cs_pg_script(PGconn *connection, const char *sql, int timeout_ms, PGresult **ret_result);

/// Waits for a notification with this payload. The call discards this notification, and all others that have arrived.
///
/// `CS_PG_ANSWERED` means that the notification arrived. After `CS_PG_TIMED_OUT`, the connection can still be used.
enum cs_pg_outcome cs_pg_await_notification(PGconn *connection, const char *payload, int timeout_ms);

/// Closes the connection without waiting for the server, and then frees it.
void cs_pg_finish(PGconn *connection);
