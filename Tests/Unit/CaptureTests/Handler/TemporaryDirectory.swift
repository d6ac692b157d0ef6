import TestKit

/// Calls `body` with the path of a new directory, and then removes the directory.
///
/// The path is short enough for a Unix socket.
func withTemporaryDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
  let directory = try TestDirectory()
  return try withExtendedLifetime(directory) { try body(directory.path) }
}
