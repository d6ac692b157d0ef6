import CCrashDaemon
import CrashSymbols
import Glibc

/// Makes one symbol cache: runs `crash-analyse build-cache`, which reads the untrusted file in a process of its own.
struct SymbolJob: Sendable {
  var program: String
  var image: Descriptor
  var buildID: String
  var output: String
  var timeout_ms: Int
  /// Where to look when the image has no debug information itself; nil: nowhere.
  var debugFiles: DebugFiles?

  /// Why there is no cache.
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private static let errorTextLimit = 512

  /// Waits for the child; the cache stands at `output` when this returns, and nothing when it throws.
  ///
  /// - Returns: Why files with the debug information of a stripped image were not used; empty when there are none.
  @discardableResult
  func run() throws -> [String] {
    let partial = try make(of: image)
    let (better, problems) = withDebugFile(instead: partial)
    guard unsafe rename(better, output) == 0 else {
      let error = SystemError("rename '\(better)'")
      _ = unsafe unlink(better)
      throw error
    }
    return problems
  }

  /// Makes a cache of these link addresses only, in a fifth of the time; it is open and has no name any more.
  func run(for addresses: Set<UInt64>) throws -> SymbolCache {
    let (better, _) = withDebugFile(instead: try make(of: image, addresses), addresses)
    defer { _ = unsafe unlink(better) }
    return try SymbolCache(path: better, buildID: buildID)
  }

  /// The cache of the first debug file that fits, when the image's own one at `partial` has names only.
  private func withDebugFile(instead partial: String, _ addresses: Set<UInt64>? = nil) -> (String, [String]) {
    var problems: [String] = []
    guard let debugFiles, let own = try? SymbolCache(path: partial, buildID: buildID), !own.hasDebugInformation else {
      return (partial, problems)
    }
    for file in debugFiles.open(buildID: buildID, link: own.debugLink) {
      do {
        let better = try make(of: file.descriptor, addresses)
        if try SymbolCache(path: better, buildID: buildID).hasDebugInformation {
          _ = unsafe unlink(partial)
          return (better, problems)
        }
        _ = unsafe unlink(better)
        problems.append("it has no debug information either")
      } catch {
        problems.append("\(error)")
      }
    }
    return (partial, problems)
  }

  /// The path of a cache that is written and nobody's yet.
  private func make(of image: Descriptor, _ addresses: Set<UInt64>? = nil) throws -> String {
    let partial = "\(output).\(getpid()).\(UInt32.random(in: .min ... .max)).partial"
    // No variadic argument but the mode, which open reads as one.
    let number = unsafe open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw SystemError("create '\(partial)'") }
    do {
      try fill(Descriptor(owning: number), from: image, addresses)
      return partial
    } catch {
      _ = unsafe unlink(partial)
      throw error
    }
  }

  private func fill(_ file: Descriptor, from image: Descriptor, _ addresses: Set<UInt64>?) throws {
    let (errors, errorsForChild) = try Self.pipe()
    let child = try spawn(image, addresses, output: file, error: errorsForChild)
    let status = try Self.wait(for: child, timeout_ms: timeout_ms)
    guard status == 0 else { throw Failure(description: Self.describe(status, Self.firstLine(of: errors))) }
  }

  private func spawn(
    _ image: Descriptor, _ addresses: Set<UInt64>?, output: Descriptor, error: Descriptor
  ) throws(SystemError) -> Int32 {
    var arguments = [program, "build-cache", "--build-id", buildID]
    if let addresses { arguments += ["--at", addresses.map { String($0, radix: 16) }.joined(separator: ",")] }
    var pid: Int32 = 0
    let what = "start '\(program)'"
    // The strings live until the end of this function, the child has its own copy; the list ends with nil.
    var pointers = unsafe arguments.map { unsafe strdup($0) }
    unsafe pointers.append(nil)
    defer { unsafe pointers.forEach { unsafe free($0) } }
    let code = unsafe cd_spawn(program, &pointers, image.number, output.number, error.number, &pid)
    try SystemError.check(code, what)
    return pid
  }

  private static func pipe() throws(SystemError) -> (reader: Descriptor, writer: Descriptor) {
    var (reader, writer): (Int32, Int32) = (-1, -1)
    try SystemError.check(unsafe cd_pipe_create(&reader, &writer), "make a pipe")
    return (Descriptor(owning: reader), Descriptor(owning: writer))
  }

  /// Its exit status, after SIGKILL at the time-out.
  private static func wait(for pid: Int32, timeout_ms: Int) throws -> Int32 {
    var number: Int32 = -1
    let code = unsafe cd_process_open(pid, &number)
    guard code == 0 else {
      // Without a pidfd there is no wait with an end: not a child to keep.
      kill(pid, SIGKILL)
      _ = waitpid(pid, nil, 0)
      throw SystemError("watch process \(pid)", code: code)
    }
    let pidfd = Descriptor(owning: number)
    let isTimely = poll(pidfd, timeout_ms: timeout_ms)
    if !isTimely {
      kill(pid, SIGKILL)
      while !poll(pidfd, timeout_ms: 1_000) {}
    }
    var status: Int32 = 0
    try SystemError.check(unsafe cd_child_status(pid, &status), "wait for process \(pid)")
    guard isTimely else { throw Failure(description: "it took longer than \(timeout_ms) ms") }
    return status
  }

  private static func poll(_ descriptor: Descriptor, timeout_ms: Int) -> Bool {
    let end = Moment.monotonic_ns() + UInt64(timeout_ms) * 1_000_000
    while true {
      let now = Moment.monotonic_ns()
      var wanted = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
      // One pollfd is given and one is told.
      let count = unsafe Glibc.poll(&wanted, 1, now < end ? Int32(clamping: (end - now) / 1_000_000 + 1) : 0)
      if count > 0 { return true }
      if count == 0 && now >= end { return false }
    }
  }

  private static func firstLine(of pipe: Descriptor) -> String {
    var bytes = [UInt8](repeating: 0, count: errorTextLimit)
    // read writes at most as many bytes as the array has; the pipe does not block.
    let count = unsafe read(pipe.number, &bytes, bytes.count)
    let line = bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }
    // It may quote the file: nothing but printable characters goes to the log.
    return String(decoding: line.map { (0x20..<0x7f).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }

  private static func describe(_ status: Int32, _ text: String) -> String {
    let end = status > 128 ? "it was ended by signal \(status - 128)" : "exit status \(status)"
    return text.isEmpty ? end : "\(text) (\(end))"
  }
}
