/// The reason why a text is not a complete record line.
public enum RecordLineError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The text does not begin with the mark of a record line.
  case noMark
  /// The line has another version of the format.
  case version(String)
  /// The line ends before the length that its payload states.
  case cut(found: Int, expected: Int)
  /// The length in the payload is impossible.
  case length(Int)
  /// The checksum is wrong: the bytes differ from those that the handler wrote.
  case checksum
  /// The payload has the right checksum, but violates the format.
  case malformed(String)
  /// The payload describes a ring that this version cannot read.
  case ring(RingError)
  /// The payload describes a ring without a complete record of a crash.
  case noCrash

  /// The reason as a clause that follows the line number in a message.
  public var description: String {
    switch self {
    case .noMark: "it does not begin with '\(RecordLine.mark)'"
    case .version(let version): "it has version '\(version)' of the format, and this program reads version 1"
    case .cut(let found, let expected): "it is cut: \(found) of \(expected) bytes are there"
    case .length(let length): "its length of \(length) bytes is impossible"
    case .checksum: "its checksum is wrong"
    case .malformed(let why): "it is malformed: \(why)"
    case .ring(let error): "its ring cannot be read: \(error)"
    case .noCrash: "it has no complete record of a crash"
    }
  }
}
