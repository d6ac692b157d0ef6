/// Why a ring was refused; nothing of it was read.
///
/// Each case says what was found. A refused process runs on without reports: report the error to its owner.
public enum RingError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The bytes are not as many as `cs_ring` has.
  case size(found: Int, expected: Int)
  /// The first eight bytes are not the ring's.
  case magic(found: UInt64)
  /// The process was built with another version of the library than this reader.
  case version(found: UInt32, expected: UInt32)
  /// The process runs on another architecture than this reader.
  case architecture(found: UInt32, expected: UInt32)
  /// The header's size does not match its version.
  case headerSize(found: UInt64, expected: UInt64)
  /// The descriptor is no memfd, or lacks seals: its writer could truncate the file under the reader.
  case unsealed(missing: [String])
  /// A spool entry is no regular file.
  case notARegularFile
  /// The system refused a call.
  case systemCall(name: String, errno: Int32)

  /// What was found, and what can be done.
  public var description: String {
    switch self {
    case .size(let found, let expected):
      "the ring has \(found) bytes, expected \(expected): it is damaged, or of another version of the library"
    case .magic(let found):
      "the ring begins with \(hex(found)) instead of \"CSRING\": it is no ring, or was overwritten"
    case .version(let found, let expected):
      "the ring has version \(found), this reader knows \(expected): "
        + "build the program and crashd with the same release"
    case .architecture(let found, let expected):
      "the ring is of architecture \(found), this machine's is \(expected): "
        + "read it where the process ran"
    case .headerSize(let found, let expected):
      "the ring's header claims \(found) bytes, expected \(expected): it is damaged"
    case .unsealed(let missing):
      "the ring's descriptor lacks \(missing.joined(separator: ", ")): "
        + "only a memfd sealed by cs_shim_start is accepted"
    case .notARegularFile: "the spool entry is no regular file: remove it"
    case .systemCall(let name, let errno): "\(name) failed with errno \(errno)"
    }
  }

  private func hex(_ value: UInt64) -> String { "0x" + String(value, radix: 16) }
}
