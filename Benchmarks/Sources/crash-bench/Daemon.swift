import Foundation
import Glibc

/// A private crashd in a temporary directory.
final class Daemon {
  let directory: String
  private let process = Process()

  var attachSocket: String { directory + "/run/attach" }
  var clientSocket: String { directory + "/run/io.crashshield.Crashd" }

  /// Starts `crashd`, and returns when it reports READY=1.
  init(executable: String, name: String = "all") throws {
    directory = NSTemporaryDirectory() + "crash-bench." + String(getpid()) + "." + name
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    let notify = try NotifySocket(path: directory + "/notify")
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = ["--runtime-directory", directory + "/run", "--state-directory", directory + "/state"]
    process.environment = ["NOTIFY_SOCKET": directory + "/notify", "PATH": "/usr/bin:/bin"]
    process.standardInput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    try notify.waitForReady()
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
    do { try FileManager.default.removeItem(atPath: directory) } catch { print("left behind: \(directory): \(error)") }
  }
}

/// The datagram socket on which a service reports that it is ready (sd_notify(3)).
private struct NotifySocket {
  private let descriptor: Int32

  struct Failure: Error { var what: String }

  init(path: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { throw Failure(what: "path too long") }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else { throw Failure(what: "cannot bind \(path): errno \(errno)") }
  }

  func waitForReady() throws {
    var seconds = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &seconds, socklen_t(MemoryLayout<timeval>.size))
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { throw Failure(what: "crashd did not say READY=1 in 20 s") }
      if String(decoding: buffer[..<count], as: UTF8.self).contains("READY=1") { break }
    }
    close(descriptor)
  }
}
