import CLinux
import Glibc
import LinuxSystem

/// One connection of the attach socket.
struct AttachSocket {
  let descriptor: Descriptor

  /// A message with the descriptors that the sender attached to it.
  struct Message {
    var bytes: [UInt8]
    var descriptors: [Descriptor]
    var isTruncated: Bool

    /// Whether the message marks the end of the connection, because the other side has closed it.
    var isEnd: Bool { bytes.isEmpty && descriptors.isEmpty }
  }

  private static let messageLimit = 1_024
  private static let descriptorLimit = 253  // The kernel's SCM_MAX_FD.

  /// Receives the next message; nil if there is no message yet.
  ///
  /// If `isPeek` is true, the message stays in the socket and can be received again. `user` is the user who chose the
  /// files of the descriptors.
  func receive(isPeek: Bool = false, of user: UInt32 = 0) throws(SystemError) -> Message? {
    var bytes = [UInt8](repeating: 0, count: Self.messageLimit)
    var numbers = [Int32](repeating: -1, count: Self.descriptorLimit)
    var message = cd_message()
    // The arguments contain the element counts of both arrays, and the call writes at most these numbers of elements.
    let code = unsafe cd_socket_receive(
      descriptor.number, isPeek, &bytes, bytes.count, &numbers, numbers.count, &message)
    if code == EAGAIN { return nil }
    if code == ECONNRESET { return Message(bytes: [], descriptors: [], isTruncated: false) }
    try SystemError.check(code, "receive a message")
    // Take ownership of all descriptors before the message is checked, because a descriptor without an owner would
    // leak.
    let descriptors = numbers.prefix(message.descriptor_count).map { Descriptor(foreign: $0, of: user) }
    return Message(
      bytes: Array(bytes.prefix(message.byte_count)), descriptors: descriptors, isTruncated: message.truncated)
  }

  /// Ends the connection immediately, even if other processes hold it open.
  ///
  /// Other processes that can hold the connection are systemd, until crashd removes the stored descriptor, and the
  /// process that started crashd. Messages that were already sent can still be read. If a refused process crashes
  /// later, it detects that there is no reader, and writes its crash records to a file in the spool directory.
  func hangUp() { shutdown(descriptor.number, Int32(SHUT_RDWR)) }

  /// Sends a message without blocking.
  ///
  /// Returns false if the socket does not accept the message, for example because its buffer is full.
  func send(_ bytes: [UInt8]) -> Bool {
    // send reads `bytes.count` bytes, which is the size of `bytes`.
    unsafe Glibc.send(descriptor.number, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      == bytes.count
  }
}
