import Foundation
import Glibc

/// A program that a test has started.
final class LiveProgram {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var rest = Data()

  /// The directory of the test program, which also contains crash-web.
  static let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

  /// The directory of crashd, crashctl and crash-maker.
  static var binaries: URL {
    if let path = ProcessInfo.processInfo.environment["CRASHSHIELD_BINARIES"] { return URL(fileURLWithPath: path) }
    return URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../.build/debug").standardizedFileURL
  }

  init(_ program: URL, _ arguments: [String]) throws {
    process.executableURL = program
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    (process.standardInput, process.standardOutput) = (input, output)
    process.standardError = FileHandle.nullDevice
    // A child process inherits the signal mask of the thread that starts it. Threads of Dispatch block SIGCHLD. A shell
    // that inherits this mask waits forever.
    var (nothing, before) = (sigset_t(), sigset_t())
    // Invariant: the calls do not keep the pointers. The thread restores its signal mask directly after the start.
    unsafe sigemptyset(&nothing)
    unsafe pthread_sigmask(SIG_SETMASK, &nothing, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    try process.run()
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
  }

  /// Waits for the next line of standard output; nil after the last line.
  func line() -> String? {
    while true {
      if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: rest[..<end], as: UTF8.self)
        rest = Data(rest[rest.index(after: end)...])
        return line
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      rest += more
    }
  }

  /// Closes the standard input of the program, and waits until the program exits.
  func end() throws {
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// Sends SIGTERM, and returns the exit status.
  func terminate() -> Int32 {
    process.terminate()
    process.waitUntilExit()
    return process.terminationStatus
  }

  /// Waits until the program exits, and returns its exit status.
  func status() -> Int32 {
    process.waitUntilExit()
    return process.terminationStatus
  }
}

/// One HTTP request on its own connection.
struct HTTPProbe {
  var status = 0
  var headers: [String: String] = [:]
  var body = ""

  init(port: UInt16, _ target: String, host: String? = nil, headers: [String] = []) throws {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    // Invariant: sockaddr_in begins with the fields of sockaddr, and connect reads it only during the call.
    let isConnected = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isConnected else { throw CocoaError(.fileReadUnknown) }
    let lines = ["GET \(target) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")", "Connection: close"] + headers
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
    try handle.write(contentsOf: Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
    let reply = String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
    let parts = reply.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
    let head = (parts.first ?? "").split(separator: "\r\n")
    status = Int(head.first?.split(separator: " ").dropFirst().first ?? "") ?? 0
    for line in head.dropFirst() {
      let pair = line.split(separator: ":", maxSplits: 1)
      if pair.count == 2 { self.headers[pair[0].lowercased()] = pair[1].trimmingCharacters(in: .whitespaces) }
    }
    body = parts.count > 1 ? String(parts[1]) : ""
  }
}
