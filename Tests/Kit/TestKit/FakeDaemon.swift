import Foundation
import Glibc
import LinuxSystem

/// A replacement for crashd's Varlink server, on its own socket.
///
/// It calls a closure of the test for each connection.
public final class FakeDaemon: Sendable {
  /// The path of the socket.
  public let socketPath: String
  private let directory: String
  private let listener: Int32

  /// Starts to listen.
  ///
  /// Calls `answer` for each connection, on a separate thread.
  /// - Throws: `CocoaError` if the directory cannot be created.
  public init(answer: @escaping @Sendable (FakeConnection) -> Void) throws {
    directory = "/tmp/cs-fake-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    socketPath = directory + "/s"
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    self.listener = listener
    guard UnixAddress(path: socketPath)?.bind(listener) == 0, listen(listener, 16) == 0 else {
      throw CocoaError(.fileWriteUnknown)
    }
    Foundation.Thread.detachNewThread {
      while true {
        // accept() fails after `stop` has shut the listener down.
        let descriptor = accept(listener, nil, nil)
        if descriptor < 0 && errno == EINTR { continue }
        guard descriptor >= 0 else { break }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        Foundation.Thread.detachNewThread { answer(FakeConnection(descriptor: descriptor)) }
      }
      close(listener)
    }
  }

  /// Stops the listener.
  ///
  /// Must be called exactly once.
  public func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    // An error in the removal is only printed; the directory then stays.
    do { try FileManager.default.removeItem(atPath: directory) } catch { print("leaving \(directory): \(error)") }
  }
}

/// A connection to the fake daemon.
///
/// The deinit closes it.
public final class FakeConnection {
  private let descriptor: Int32

  init(descriptor: Int32) { self.descriptor = descriptor }

  deinit {
    // Ends the connection, even if a child process of another test has a copy of the descriptor.
    shutdown(descriptor, Int32(SHUT_RDWR))
    close(descriptor)
  }

  /// Reads the next call, and returns it without its NUL.
  ///
  /// Returns nil if the client has closed the connection.
  public func call() -> String? {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while bytes.last != 0 {
      // Invariant: the pointer covers the array's storage, and is used only during the call.
      let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { return nil }
      bytes += chunk[..<count]
    }
    return String(decoding: bytes.dropLast(), as: UTF8.self)
  }

  /// Sends bytes, at most `size` at a time.
  ///
  /// Ignores an error if the client has closed the connection.
  public func send(_ text: String, piecesOf size: Int = .max) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let piece = Array(rest.prefix(size))
      // Invariant: the pointer covers the array's storage, and is used only during the call.
      let count = unsafe Glibc.send(descriptor, piece, piece.count, Int32(MSG_NOSIGNAL))
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Sends a reply with these parameters, which the caller has encoded as JSON.
  public func reply(_ parameters: String, continues: Bool = false, error: String? = nil, piecesOf size: Int = .max) {
    let name = error.map { #","error":"\#($0)""# } ?? ""
    send(#"{"parameters":\#(parameters)\#(continues ? #","continues":true"# : "")\#(name)}"# + "\0", piecesOf: size)
  }

  /// Waits until the client closes the connection.
  public func waitForHangup() { while call() != nil {} }
}

// Not Sendable, because only the thread that serves a connection may use the connection.
@available(*, unavailable)
extension FakeConnection: Sendable {}
