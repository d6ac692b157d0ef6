import TestKit

/// Calls `body` with the path of a new directory under /tmp, short enough for a Unix socket in it, and removes it.
func withTemporaryDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
  let directory = try TestDirectory()
  return try withExtendedLifetime(directory) { try body(directory.path) }
}
