import Dispatch
import Glibc

/// A system call that failed.
struct SystemError: Error, CustomStringConvertible {
  var what: String
  var errno: Int32

  init(_ what: String, _ errno: Int32) {
    self.what = what
    self.errno = errno
  }

  // glibc's strerror returns a constant string or storage of this thread.
  var description: String { unsafe "\(what): \(String(cString: strerror(errno)))" }
}

/// Runs blocking work on a separate thread, because it must not block a thread of the cooperative pool.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    // A new serial queue gets a thread immediately. Work on a global queue would wait for an idle thread.
    DispatchQueue(label: "blocking").async { continuation.resume(with: Swift.Result { try body() }) }
  }
}

enum Environment {
  /// An environment variable of the test process.
  ///
  /// Returns nil if the variable is unset or empty.
  static func value(of name: String) -> String? {
    // The test process does not change its environment, and the string therefore stays valid.
    guard let value = unsafe getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
  }
}

/// Reads a whole file as a string.
func contents(of path: String) throws -> String {
  let file = try FileDescriptor(opening: path, O_RDONLY)
  return String(decoding: try file.readToEnd(), as: UTF8.self)
}

/// Returns the names in a directory, without `.` and `..`.
func entries(of path: String) throws -> [String] {
  guard let directory = unsafe opendir(path) else { throw SystemError("opendir '\(path)'", errno) }
  defer { unsafe closedir(directory) }
  var names: [String] = []
  while let entry = unsafe readdir(directory) {
    // d_name is NUL-terminated.
    let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    if name != "." && name != ".." { names.append(name) }
  }
  return names
}

/// A file descriptor that is closed when the object is deallocated.
final class FileDescriptor: Sendable {
  let number: Int32

  init(_ number: Int32, from call: String) throws {
    guard number >= 0 else { throw SystemError(call, errno) }
    self.number = number
  }

  convenience init(opening path: String, _ flags: Int32) throws {
    try self.init(unsafe open(path, flags | O_CLOEXEC), from: "open '\(path)'")
  }

  deinit { close(number) }

  /// Returns the two ends of a socket pair.
  ///
  /// A pipe is not used, because it would need pipe2, which Swift does not import. Without O_CLOEXEC a child that
  /// another thread starts could inherit the pipe.
  static func pair() throws -> (FileDescriptor, FileDescriptor) {
    var ends: [Int32] = [-1, -1]
    guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw SystemError("socketpair", errno)
    }
    return (try FileDescriptor(ends[0], from: "socketpair"), try FileDescriptor(ends[1], from: "socketpair"))
  }

  /// Waits until there is data to read or the other end is closed.
  ///
  /// Throws if `isInVain` returns true.
  func awaitInput(unless isInVain: () -> Bool = { false }) throws {
    try Self.awaitInput(of: number, unless: isInVain)
  }

  /// Waits for data or for the close of the other end.
  ///
  /// Other code owns and closes the descriptor.
  static func awaitInput(of number: Int32, unless isInVain: () -> Bool) throws {
    try Patience.wait(for: "nothing came") { slice -> Void? in
      var wanted = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
      // poll reads and writes one pollfd, as the count argument states.
      let ready = unsafe poll(&wanted, 1, Int32(slice.components.seconds * 1_000))
      if ready < 0 && errno != EINTR { throw SystemError("poll", errno) }
      if ready <= 0, isInVain() { throw SystemError("the process that should write has ended", ECHILD) }
      return ready <= 0 ? nil : ()
    }
  }

  /// Reads at most `count` bytes.
  ///
  /// Returns no bytes at the end of the file.
  func read(_ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var got = -1
    repeat {
      // The access is in bounds, because read() writes at most as many bytes as the array has.
      got = unsafe Glibc.read(number, &bytes, count)
    } while got < 0 && errno == EINTR
    guard got >= 0 else { throw SystemError("read", errno) }
    return Array(bytes.prefix(got))
  }

  func readToEnd() throws -> [UInt8] {
    var all: [UInt8] = []
    while case let bytes = try read(65_536), !bytes.isEmpty { all += bytes }
    return all
  }

  /// Reads one line without its newline, or the rest of the data when the other end closes before a newline.
  func readLine() throws -> String {
    var line: [UInt8] = []
    while true {
      try awaitInput()
      guard let byte = try read(1).first, byte != UInt8(ascii: "\n") else { break }
      line.append(byte)
    }
    return String(decoding: line, as: UTF8.self)
  }
}
