import Glibc

/// A directory with a path short enough for sockets, removed with everything in it.
final class TemporaryDirectory: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/cs.XXXXXX".utf8CString)
    // mkdtemp writes the name into the template, which ends with NUL.
    guard let path = unsafe mkdtemp(&template) else { throw SystemError("mkdtemp", errno) }
    self.path = unsafe String(cString: path)
  }

  deinit { Self.remove(path) }

  /// Children before their directory; a link is removed, not followed.
  private static func remove(_ path: String) {
    if unsafe Glibc.remove(path) == 0 || errno != ENOTEMPTY { return }
    // What cannot be listed stays: a temporary directory is no reason to fail a test.
    for name in (try? entries(of: path)) ?? [] { remove(path + "/" + name) }
    unsafe Glibc.remove(path)
  }

  /// Makes a directory inside and returns its path.
  func directory(_ name: String, mode: mode_t = 0o700) throws -> String {
    let path = path + "/" + name
    guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else { throw SystemError("mkdir '\(path)'", errno) }
    return path
  }
}
