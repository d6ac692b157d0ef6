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

    /// Whether the other end has closed the connection.
    var isEnd: Bool { bytes.isEmpty && descriptors.isEmpty }
  }

  private static let messageLimit = 1_024
  private static let descriptorLimit = 253  // SCM_MAX_FD

  /// Receives the next message; nil if none is available now.
  ///
  /// With `isPeek`, the message stays in the socket. `user` is the user who chose the files of the descriptors.
  func receive(isPeek: Bool = false, of user: UInt32 = 0) throws(SystemError) -> Message? {
    var bytes = [UInt8](repeating: 0, count: Self.messageLimit)
    var numbers = [Int32](repeating: -1, count: Self.descriptorLimit)
    var message = cd_message()
    // The call writes at most as many elements as its arguments say, which are the sizes of both arrays.
    let code = unsafe cd_socket_receive(
      descriptor.number, isPeek, &bytes, bytes.count, &numbers, numbers.count, &message)
    if code == EAGAIN { return nil }
    if code == ECONNRESET { return Message(bytes: [], descriptors: [], isTruncated: false) }
    try SystemError.check(code, "receive a message")
    // Take ownership of the descriptors before the message is checked, so that none can leak.
    let descriptors = numbers.prefix(message.descriptor_count).map { Descriptor(foreign: $0, of: user) }
    return Message(
      bytes: Array(bytes.prefix(message.byte_count)), descriptors: descriptors, isTruncated: message.truncated)
  }

  /// Ends the connection at once, even if other processes hold it open.
  ///
  /// These are systemd, until crashd removes the stored descriptor, and the process that started crashd. Messages that
  /// were already sent can still be read. A refused process that crashes later detects that there is no reader, and
  /// leaves its ring in the spool.
  func hangUp() { shutdown(descriptor.number, Int32(SHUT_RDWR)) }

  /// Sends a message without blocking; false if the socket does not accept it.
  func send(_ bytes: [UInt8]) -> Bool {
    // send reads as many bytes as the array has.
    unsafe Glibc.send(descriptor.number, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      == bytes.count
  }
}
