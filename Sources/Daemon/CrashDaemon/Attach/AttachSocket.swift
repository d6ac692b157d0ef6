import CLinux
import Glibc
import LinuxSystem

/// One connection of the attach socket.
struct AttachSocket {
  let descriptor: Descriptor

  /// A message and the descriptors that came with it.
  struct Message {
    var bytes: [UInt8]
    var descriptors: [Descriptor]
    var isTruncated: Bool

    /// The other end has closed the connection.
    var isEnd: Bool { bytes.isEmpty && descriptors.isEmpty }
  }

  private static let messageLimit = 1_024
  private static let descriptorLimit = 253  // SCM_MAX_FD

  /// Receives the next message; nil when there is none now.
  ///
  /// With `isPeek` the message stays the next one.
  /// The descriptors are of files that `user` chose.
  func receive(isPeek: Bool = false, of user: UInt32 = 0) throws(SystemError) -> Message? {
    var bytes = [UInt8](repeating: 0, count: Self.messageLimit)
    var numbers = [Int32](repeating: -1, count: Self.descriptorLimit)
    var message = cd_message()
    // Both arrays have as many elements as the call may write.
    let code = unsafe cd_socket_receive(
      descriptor.number, isPeek, &bytes, bytes.count, &numbers, numbers.count, &message)
    if code == EAGAIN { return nil }
    if code == ECONNRESET { return Message(bytes: [], descriptors: [], isTruncated: false) }
    try SystemError.check(code, "receive a message")
    // Owned from here on, whatever the message contains: none is ever leaked.
    let descriptors = numbers.prefix(message.descriptor_count).map { Descriptor(foreign: $0, of: user) }
    return Message(
      bytes: Array(bytes.prefix(message.byte_count)), descriptors: descriptors, isTruncated: message.truncated)
  }

  /// Ends the connection at once, even where others hold it open.
  ///
  /// Others are systemd, until crashd makes it drop the descriptor, and the process that started crashd. Sent messages
  /// can still be read. A refused process that crashes later learns that there is no reader, and leaves its ring in the
  /// spool.
  func hangUp() { shutdown(descriptor.number, Int32(SHUT_RDWR)) }

  /// Sends without blocking; false when the other end does not accept it.
  func send(_ bytes: [UInt8]) -> Bool {
    // send reads as many bytes as the array has.
    unsafe Glibc.send(descriptor.number, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      == bytes.count
  }
}
