import CShimRing
import CrashShield
import Dispatch
import Glibc
import LinuxSystem

/// Counts how often the program is notified that the process is attached.
final class Attached: Sendable {
  private let notifications = DispatchSemaphore(value: 0)

  func note(_ status: Shield.Status) { if status.connection == .attached { notifications.signal() } }
  func wait() { notifications.wait() }
}

/// Acts as crashd at the attach socket, in the process that attaches.
final class ControllingDaemon {
  private let listener: Int32
  private let path: String
  private var connection: Int32 = -1
  private var number: UInt32 = 0
  private var unanswered: [UInt32] = []

  init() {
    path = "/tmp/cs-control-\(getpid())"
    unsafe unlink(path)
    listener = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
    check(UnixAddress(path: path)?.bind(listener) == 0 && listen(listener, 4) == 0)
  }

  deinit { unsafe unlink(path) }

  /// Starts the shield, accepts its connection, and sends the messages.
  ///
  /// If `attached` is nil, the shield has already started, and reconnects by itself.
  func attach(_ attached: Attached?, _ messages: [ControlMessage], allowsRemoteControl: Bool? = nil) {
    if let attached {
      var configuration = Shield.Configuration(socket: path, spool: "/dev/null/spool") { attached.note($0) }
      configuration.allowsRemoteControl = allowsRemoteControl
      do { try Shield.startOrThrow(configuration) } catch { check(false) }
    }
    connection = accept(listener, nil, nil)
    // The call has no buffer for the descriptors of the hello, so the kernel closes them.
    check(receive().count == MemoryLayout<cs_attach_hello>.size)
    var reply = cs_attach_reply()
    reply.magic = 0x0048_4354_5441_5343
    reply.version = CS_ATTACH_VERSION
    reply.control_count = UInt32(messages.count)
    transmit(unsafe withUnsafeBytes(of: reply) { unsafe Array($0) })
    messages.forEach(send)
  }

  func send(_ message: ControlMessage) {
    number += 1
    unanswered.append(message.hasNumber ? number : 0)
    transmit(message.bytes(number: number))
  }

  func hangUp() { close(connection) }

  struct Answer: Equatable {
    var result: UInt32
    var count: UInt32
    init(_ result: UInt32, _ count: UInt32) { (self.result, self.count) = (result, count) }
    static func done(_ count: UInt32) -> Answer { Answer(0, count) }
  }

  /// Receives this many answers.
  ///
  /// Each answer has the number of its message.
  func answers(_ count: Int) -> [Answer] {
    (0..<count).map { _ in
      let bytes = receive()
      check(bytes.count == MemoryLayout<cs_control_answer>.size)
      let answer = unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: cs_control_answer.self) }
      check(answer.version == CS_CONTROL_VERSION && answer.number == unanswered.removeFirst())
      return Answer(answer.result, answer.count)
    }
  }

  private func transmit(_ bytes: [UInt8]) {
    check(unsafe Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
  }

  private func receive() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe recv(connection, &bytes, bytes.count, 0)
    check(count > 0)
    return Array(bytes.prefix(count))
  }
}

/// A control message of crashd: its bytes, and whether they include the number that an answer repeats.
struct ControlMessage {
  var bytes: [UInt8]
  var hasNumber = true

  static func protect(
    _ name: String, policy: UInt32 = 1, limit: UInt32 = 50, round: UInt32, flags: UInt32 = 0
  ) -> ControlMessage {
    word(CS_CONTROL_PROTECT_KIND, name, [flags, round, policy, limit])
  }
  static func protectOwn(round: UInt32) -> ControlMessage {
    word(CS_CONTROL_PROTECT_KIND, "", [CS_CONTROL_OWN_CLASSES, round, 1, 50])
  }
  static func release(_ name: String, round: UInt32) -> ControlMessage {
    word(CS_CONTROL_RELEASE_KIND, name, [CS_CONTROL_OPERATOR, round, 0, 0])
  }
  static func sweep(round: UInt32) -> ControlMessage { message(3, words([round, 0])) }
  static func settings(budget: UInt32, round: UInt32, flags: UInt32 = 0) -> ControlMessage {
    message(4, words([budget, 0, flags, round, 16, 0]))
  }

  /// Returns a message with the modes of guard kinds, by the number of the kind.
  ///
  /// The modes are 0 (unset), 1 (off), 2 (observe) and 3 (absorb).
  static func guards(_ modes: [Int: UInt8], implicit: [Int: UInt8] = [:], round: UInt32) -> ControlMessage {
    func bytes(_ modes: [Int: UInt8]) -> [UInt8] { (0..<64).map { modes[$0] ?? 0 } }
    return message(5, words([round, 0]) + bytes(modes) + bytes(implicit))
  }

  /// A message about the last crash.
  ///
  /// An empty id means that there was no crash.
  static func lastCrash(time_ns: UInt64, id: String, sentence: [UInt8], idBytes: UInt32? = nil) -> ControlMessage {
    let sizes = [idBytes ?? UInt32(id.utf8.count), UInt32(sentence.count)]
    let time = words([UInt32(truncatingIfNeeded: time_ns), UInt32(time_ns >> 32)])
    return message(7, time + words(sizes) + Array(id.utf8) + sentence)
  }

  private static let CS_CONTROL_PROTECT_KIND: UInt32 = 1
  private static let CS_CONTROL_RELEASE_KIND: UInt32 = 2

  private static func word(_ kind: UInt32, _ name: String, _ fields: [UInt32]) -> ControlMessage {
    message(kind, words(fields + [UInt32(name.utf8.count), 0]) + Array(name.utf8))
  }

  private static func message(_ kind: UInt32, _ payload: [UInt8]) -> ControlMessage {
    let magic: [UInt8] = Array("CSCONTR".utf8) + [0]
    return ControlMessage(bytes: magic + words([1, kind, 0, UInt32(payload.count)]) + payload)
  }

  private static func words(_ values: [UInt32]) -> [UInt8] {
    values.flatMap { value in (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
  }

  func bytes(number: UInt32) -> [UInt8] {
    guard hasNumber else { return bytes }
    var bytes = bytes
    bytes.replaceSubrange(16..<20, with: Self.words([number]))
    return bytes
  }

  /// All malformed variants of a message that protects a class by its name.
  static func malformed(_ good: ControlMessage) -> [ControlMessage] {
    func spoiled(at offset: Int, _ value: UInt32) -> ControlMessage {
      var message = good
      message.bytes.replaceSubrange(offset..<offset + 4, with: words([value]))
      return message
    }
    let size = good.bytes.count
    // The message is truncated at many lengths. If it ends before the end of the header, it has no number that an
    // answer could repeat.
    let cut = (1..<size).filter { $0 < 30 || $0 % 5 == 0 || $0 > size - 3 }.map { length in
      ControlMessage(bytes: Array(good.bytes.prefix(length)), hasNumber: length >= 24)
    }
    var magic = good
    magic.bytes[0] = 0
    magic.hasNumber = false
    var nul = good
    nul.bytes[50] = 0
    var line = good
    line.bytes[50] = 10
    let long = String(repeating: "x", count: 600)
    return cut + [
      magic, nul, line, spoiled(at: 20, 0), spoiled(at: 20, .max), spoiled(at: 20, UInt32(size)),
      spoiled(at: 32, 3), spoiled(at: 32, .max), spoiled(at: 40, 0), spoiled(at: 40, .max), spoiled(at: 40, 1),
      spoiled(at: 24, CS_CONTROL_OWN_CLASSES), .protect(long, round: 1), .protect("", round: 1),
      ControlMessage(bytes: good.bytes + [65]), message(3, words([1])), message(3, words([1, 0, 0])),
      message(4, words([1, 0, 0, 1, 16])), message(4, []), message(1, []),
      ControlMessage(bytes: good.bytes + [UInt8](repeating: 65, count: 2_000), hasNumber: false),
    ]
  }
}
