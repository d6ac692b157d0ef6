/// The reason why the reader refused a ring, before it read any contents.
///
/// Each case with an associated value contains the value that the reader found in the ring. A process whose ring is
/// refused continues, but its crashes are not reported. Therefore, crashd should inform the owner of the process.
public enum RingError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The number of bytes in the ring's file is not the size of `cs_ring`.
  case size(found: Int, expected: Int)
  /// The first eight bytes are not the magic number of a ring.
  case magic(found: UInt64)
  /// The process uses a version of the ring format that this reader does not support.
  case version(found: UInt32)
  /// The process runs on a processor architecture that this reader does not support.
  case architecture(found: UInt32, supported: String)
  /// The size of the header is not the size that this version of the format has.
  case headerSize(found: UInt64, expected: UInt64)
  /// The descriptor is not a memfd, or the memfd does not have all required seals.
  ///
  /// Without these seals, the process could truncate the file while crashd reads it.
  case unsealed(missing: [String])
  /// The spool entry is not a regular file.
  case notARegularFile
  /// A system call failed.
  case systemCall(name: String, errno: Int32)

  /// A message that states what was found and what the operator can do.
  public var description: String {
    switch self {
    case .size(let found, let expected):
      "the ring has \(found) bytes, expected \(expected): it is damaged, or from another version of the library"
    case .magic(let found):
      "the ring begins with \(hex(found)) instead of \"CSRING\": it is not a ring, or was overwritten"
    case .version(let found):
      "the ring has version \(found), this reader supports \(RingVersion.supported): "
        + "build the program and crashd with the same release"
    case .architecture(let found, let supported):
      "the ring has architecture \(found), this reader supports \(supported): "
        + "build the program and crashd with the same release"
    case .headerSize(let found, let expected):
      "the ring's header claims \(found) bytes, expected \(expected): it is damaged"
    case .unsealed(let missing):
      "the ring's descriptor lacks \(missing.joined(separator: ", ")): "
        + "only a memfd sealed by cs_shim_start is accepted"
    case .notARegularFile: "the spool entry is not a regular file: remove it"
    case .systemCall(let name, let errno): "\(name) failed with errno \(errno)"
    }
  }

  private func hex(_ value: UInt64) -> String { "0x" + String(value, radix: 16) }
}
