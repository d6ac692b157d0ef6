public import CrashReport
import Foundation
import Glibc

/// An example server in its own process.
///
/// All functions block, so tests call them on a separate thread (`onThread`).
public final class Server: Sendable {
  /// The pid of the started process: the server, or the `crashctl run` that runs it.
  private let pid: pid_t
  private let input: Int32
  private let output: Int32
  private let errors: URL

  /// The port on which the server listens.
  public let port: UInt16

  /// The directory of the test program, which also contains the example servers.
  private static let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()

  /// The directory of crashd and crashctl.
  private static var binaries: URL {
    if let path = ProcessInfo.processInfo.environment["CRASHSHIELD_BINARIES"] { return URL(fileURLWithPath: path) }
    return URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../.build/debug").standardizedFileURL
  }

  /// Starts a server under a private crashd, and waits until the server listens.
  ///
  /// - Throws: `Failure`.
  public convenience init(_ name: String, _ arguments: [String] = [], containment: String) throws {
    let crashctl = Self.binaries.appendingPathComponent("crashctl").path
    let program = Self.folder.appendingPathComponent(name).path
    try self.init(
      [crashctl, "run", "--json=short", "--", program] + arguments,
      environment: ["CRASHSHIELD_CONTAINMENT": containment])
  }

  /// Starts a server that inherits a listening socket, without a crashd, and waits until the server listens.
  ///
  /// - Throws: `Failure`.
  public convenience init(_ name: String, containment: String, on socket: borrowing ListeningSocket) throws {
    let program = Self.folder.appendingPathComponent(name).path
    try self.init(
      ["/bin/sh", "-c", #"LISTEN_PID=$$ LISTEN_FDS=1 exec "$0""#, program],
      environment: ["CRASHSHIELD_CONTAINMENT": containment, "CRASHSHIELD_SOCKET": "/dev/null/attach"],
      socket: socket.descriptor)
  }

  private init(_ words: [String], environment: [String: String], socket: Int32? = nil) throws {
    errors = FileManager.default.temporaryDirectory.appendingPathComponent("server-\(UUID().uuidString)")
    let (input, output) = try (Self.pair(), Self.pair())
    (self.input, self.output) = (input.own, output.own)
    defer {
      close(input.child)
      close(output.child)
    }
    pid = try Self.spawn(
      words, environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }, input: input.child, output: output.child,
      errors: errors.path, socket: socket)
    var line = ""
    while !line.hasPrefix("port ") { line = try Self.line(of: output.own) }
    guard let port = UInt16(line.dropFirst(5)) else { throw Failure("read the port") }
    self.port = port
  }

  deinit {
    // The started process is the leader of its own process group. If the group has already ended, kill has no effect.
    kill(-pid, SIGKILL)
    waitpid(pid, nil, 0)
    close(input)
    close(output)
    do { try FileManager.default.removeItem(at: errors) } catch {}
  }

  /// Waits until the server has written this line to standard output.
  ///
  /// - Throws: `Failure` if the server ends before it has written the line.
  public func wait(for line: String) throws {
    while try Self.line(of: output) != line {}
  }

  /// Writes a line to the server's standard input.
  ///
  /// - Throws: `Failure`.
  public func write(_ line: String) throws {
    let bytes = Array("\(line)\n".utf8)
    // Invariant: the buffer is valid during the call. A line is smaller than the buffer of the socket, so send writes
    // all of it.
    let count = unsafe Glibc.send(input, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    guard count == bytes.count else { throw Failure("write a line") }
  }

  /// How a server ended.
  public struct End: Sendable {
    /// The signal that ended the server, or nil if it exited.
    public let signal: Int32?
    /// The reports of the server's crashes.
    public let reports: [CrashReport]
    /// The standard error.
    public let errors: String
  }

  /// Waits until the server has ended.
  ///
  /// - Throws: The errors of the decoder and of the file system.
  public func waitUntilEnd() throws -> End {
    var status: Int32 = 0
    // Invariant: the pointer is valid during the call. With WNOWAIT, the process remains a zombie. The deinit reaps it.
    var information = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
    status = unsafe information._sifields._sigchld.si_status
    let isExit = unsafe information.si_code == CLD_EXITED
    let text = try String(contentsOf: errors, encoding: .utf8)
    let reports = try text.split(separator: "\n").filter { $0.hasPrefix("{") }
      .map { try JSONDecoder().decode(CrashReport.self, from: Data($0.utf8)) }
    return End(signal: isExit ? nil : status, reports: reports, errors: text)
  }

  /// Sends a signal to the server and to its `crashctl run`.
  public func send(_ signal: Int32) { kill(-pid, signal) }

  private static func line(of descriptor: Int32) throws -> String {
    var line: [UInt8] = []
    while true {
      var byte: UInt8 = 0
      // Invariant: the buffer is valid during the call.
      let count = unsafe read(descriptor, &byte, 1)
      if count < 0 && errno == EINTR { continue }
      guard count == 1 else { throw Failure("read a line of the server") }
      if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
      line.append(byte)
    }
  }

  /// Creates two connected sockets.
  ///
  /// socketpair() creates the sockets with close-on-exec, so that the servers of other tests do not inherit them.
  private static func pair() throws -> (own: Int32, child: Int32) {
    var ends: [Int32] = [0, 0]
    // Invariant: the array has the two elements that socketpair() writes.
    let code = unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
    guard code == 0 else { throw Failure("create a pair of sockets") }
    return (ends[0], ends[1])
  }

  /// Starts a program as the leader of a process group, with a socket as descriptor 3.
  private static func spawn(
    _ words: [String], _ environment: [String: String], input: Int32, output: Int32, errors: String, socket: Int32?
  ) throws -> pid_t {
    let environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    var actions = unsafe posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    // Invariant: both structures are initialized before their first use and destroyed at the end.
    unsafe posix_spawn_file_actions_init(&actions)
    unsafe posix_spawnattr_init(&attributes)
    defer {
      unsafe posix_spawn_file_actions_destroy(&actions)
      unsafe posix_spawnattr_destroy(&attributes)
    }
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, O_WRONLY | O_CREAT, 0o600)
    unsafe posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    if let socket { unsafe posix_spawn_file_actions_adddup2(&actions, socket, 3) }
    // Invariant: strdup returns C strings, which stay valid until the defer block frees them.
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    var variables = unsafe environment.map { unsafe strdup("\($0)=\($1)") } + [nil]
    defer { unsafe (arguments + variables).forEach { unsafe free($0) } }
    var pid: pid_t = 0
    // Invariant: all pointers are valid during the call.
    let code = unsafe posix_spawn(&pid, words[0], &actions, &attributes, &arguments, &variables)
    guard code == 0 else { throw Failure("start '\(words[0])'", code: code) }
    return pid
  }
}
