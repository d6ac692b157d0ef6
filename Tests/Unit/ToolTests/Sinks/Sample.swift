import CrashProtocol
import CrashReport
import Foundation
import Glibc
import LinuxSystem
import TestKit

@testable import crash_forward

/// Reports and events that tests pass to a sink.
enum Sample {
  /// Returns a report as crash-forward receives it from crashd.
  ///
  /// `more` has additional JSON members, each followed by a comma. Such a member replaces a member of the same name.
  static func received(id: String, more: String = "") throws -> ReceivedReport {
    let decoder = JSONDecoder()
    guard case .object(var members) = try decoder.decode(JSONValue.self, from: Data(SampleJSON.report(id: id).utf8)),
      case .object(let others) = try decoder.decode(JSONValue.self, from: Data("{\(more.dropLast())}".utf8))
    else { throw CocoaError(.coderInvalidValue) }
    members.merge(others) { $1 }
    return try decoder.decode(ReceivedReport.self, from: JSONEncoder().encode(JSONValue.object(members)))
  }

  /// The JSON members in which crashd reports the release, the machine and the process.
  static let facts = #"""
    "release":"shop@2/4","environment":"staging","user":"17","annotations":{"region":"eu","long":"\#(long)",
    "a b":"c"},"machine":{"host":"web-3","id":"43c2","kernel":"Linux 6.1.0","distribution":"Debian GNU/Linux 12",
    "processor":"AMD EPYC","processors":8,"memoryBytes":1024},"container":{"id":"c0ff","runtime":"docker",
    "source":"cgroup"},"resources":{"time":"2026-11-21T08:10:11.000123Z","residentBytes":430,"peakResidentBytes":498,
    "memoryLimitBytes":512,"memoryLimitSource":"cgroup","openDescriptors":87,"descriptorLimit":1024},
    "process":{"pid":4711,"uid":1000,"name":"shop","executable":"/srv/shop","buildID":"ab",
    "startTime":"2026-11-21T08:00:00Z","commandLine":"shop --port 80","cgroup":"/docker/c0ff",
    "swiftVersion":"6.3","architecture":"aarch64","uptime_ms":611000},
    """#.split(separator: "\n").joined()
  /// A crash in a pod.
  static let pod = #"""
    "container":{"id":"c0ff","runtime":"containerd","source":"cgroup","podUID":"2f7a","pod":"shop-7c5",
    "namespace":"production","node":"node-2","name":"web","claimed":["name","namespace","node","pod"]},
    "annotations":{"k8s.pod.name":"shop-7c5","region":"eu"},
    """#.split(separator: "\n").joined()
  /// A crash in a request.
  static let request = #"""
    "threads":[{"tid":7,"name":"w","crashed":true,"registers":{},"frames":[],"request":{"number":5,
    "operation":"GET /cart/{id}","id":"7F3A","traceID":"4bf92f3577b34da6a3ce929d0e0e4736","spanID":"00f067aa0ba902b7",
    "startTime":"2026-11-21T08:10:10.000123Z","age_ns":34000000,"tags":{"tier":"gold"}}}],
    "inFlight":{"total":51,"overflow":0,"requests":[]},
    "breadcrumbs":[{"time":"2026-11-21T08:10:10.500123Z","text":"pay","request":5}],
    """#.split(separator: "\n").joined()
  /// A crash that drained its process.
  static let containment = #"""
    "containment":{"mode":"contain","verdict":"drain","reason":"actor","budget":20,"contained":2,
    "drain":{"endedBy":"done","finished":50,"lost":1,"durationNanoseconds":230000000}},
    """#.split(separator: "\n").joined()
  /// The sentences about `containment`.
  static let containmentText =
    "Not contained: the trap was on an actor. Drained: 50 requests finished, 1 lost, in 0.23 s; the process then ended "
    + "by SIGILL. Contained before: 2 traps."
  /// A value that is too long for a tag of Sentry, whose limit is 200 characters.
  static let long = String(repeating: "x", count: 201)

  static func event(id: String, more: String = "") throws -> SinkEvent {
    try SinkEvent(received(id: id, more: more))
  }
}

/// Parses messages in the protocol of journald.
enum JournalText {
  static func fields(_ bytes: [UInt8]) -> [String: String] {
    var fields: [String: String] = [:]
    var rest = bytes[...]
    while let end = rest.firstIndex(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "\n") }) {
      let name = String(decoding: rest[..<end], as: UTF8.self)
      let isLine = rest[end] == UInt8(ascii: "=")
      rest = rest[(end + 1)...]
      let count: Int
      if isLine {
        count = (rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex) - rest.startIndex
      } else {
        count = rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(8)
      }
      fields[name] = String(decoding: rest.prefix(count), as: UTF8.self)
      rest = rest.dropFirst(count + 1)
    }
    return fields
  }
}

/// A datagram socket that stands for the socket of journald.
final class DatagramListener {
  struct Message {
    var bytes: [UInt8]
    var isFile: Bool
    var seals: Int32
  }

  let path: String
  private let directory: String
  private let descriptor: Int32

  init() throws {
    directory = "/tmp/cs-sink-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    path = directory + "/j"
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard UnixAddress(path: path)?.bind(descriptor) == 0 else { throw CocoaError(.fileWriteUnknown) }
  }

  func close() {
    Glibc.close(descriptor)
    // An error is only printed, because the test can do nothing about it.
    do { try FileManager.default.removeItem(atPath: directory) } catch { print("leaving \(directory): \(error)") }
  }

  /// Receives a message that the sink has already sent.
  ///
  /// Does not wait, because the message is already in the queue of the socket.
  func receive() throws -> Message {
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    // 24 bytes: a control message with one descriptor has a header of 16 bytes and a descriptor of 4 bytes, padded to
    // 8.
    var control = [UInt64](repeating: 0, count: 3)
    var (count, file) = (0, Int32(-1))
    // Invariant: both buffers exist until the call returns, and the passed sizes are their sizes.
    unsafe bytes.withUnsafeMutableBytes { data in
      unsafe control.withUnsafeMutableBytes { extra in
        var part = unsafe iovec(iov_base: data.baseAddress, iov_len: data.count)
        unsafe withUnsafeMutablePointer(to: &part) { part in
          var message = unsafe msghdr()
          unsafe message.msg_iov = part
          unsafe message.msg_iovlen = 1
          unsafe message.msg_control = extra.baseAddress
          unsafe message.msg_controllen = extra.count
          count = unsafe recvmsg(descriptor, &message, Int32(MSG_DONTWAIT) | Int32(MSG_CMSG_CLOEXEC))
          if unsafe message.msg_controllen >= 20 { file = unsafe extra.load(fromByteOffset: 16, as: Int32.self) }
        }
      }
    }
    guard count >= 0 else { throw CocoaError(.fileReadUnknown) }
    if file < 0 { return Message(bytes: Array(bytes.prefix(count)), isFile: false, seals: 0) }
    let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
    // 1,034 is F_GET_SEALS, which Swift does not import.
    let seals = fcntl(file, 1_034)
    try handle.seek(toOffset: 0)
    return Message(bytes: Array(try handle.readToEnd() ?? Data()), isFile: count == 0, seals: seals)
  }
}
