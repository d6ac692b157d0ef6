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

  // Invariant: strerror of glibc returns a constant string or storage of this thread.
  var description: String { unsafe "\(what): \(String(cString: strerror(errno)))" }
}

/// Runs blocking work on a separate thread, because it must not block a thread of Swift's cooperative pool.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    // A new serial queue gets a thread at once. On a global queue, the work would wait for an idle thread.
    DispatchQueue(label: "blocking").async { continuation.resume(with: Swift.Result { try body() }) }
  }
}

enum Environment {
  /// An environment variable of the test process.
  ///
  /// Returns nil if the variable is unset or empty.
  static func value(of name: String) -> String? {
    // Invariant: the string stays valid, because the test process does not change its environment.
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

/// Closes a file descriptor when the object is deallocated.
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

  /// Returns the two ends of a pair of connected sockets.
  ///
  /// A pipe without O_CLOEXEC would not suffice: a child that another thread starts could inherit it. pipe2 could set
  /// O_CLOEXEC, but Swift does not import it.
  static func pair() throws -> (FileDescriptor, FileDescriptor) {
    var ends: [Int32] = [-1, -1]
    guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw SystemError("socketpair", errno)
    }
    return (try FileDescriptor(ends[0], from: "socketpair"), try FileDescriptor(ends[1], from: "socketpair"))
  }

  /// Waits until the descriptor has data to read, or the other end is closed.
  ///
  /// Throws if `isInVain`, which is called after each time slice without data, returns true.
  func awaitInput(unless isInVain: () -> Bool = { false }) throws {
    try Self.awaitInput(of: number, unless: isInVain)
  }

  /// Waits until a descriptor has data to read, or the other end is closed.
  ///
  /// The descriptor belongs to other code, which closes it.
  static func awaitInput(of number: Int32, unless isInVain: () -> Bool) throws {
    try Patience.wait(for: "nothing came") { slice -> Void? in
      var wanted = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
      // Invariant: poll reads and writes one pollfd, as the count argument states.
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
      // Invariant: read() writes at most as many bytes as the array has.
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

  /// Reads one line, without its newline.
  ///
  /// If the other end closes before a newline, returns the rest of the data.
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
