import CrashReport

/// The words of the crashed process's memory that the crash record contains.
struct MemoryWords: Sendable {
  /// A range of recorded bytes, with the address of its first byte.
  struct Piece: Sendable, Equatable {
    var start: UInt64
    var bytes: [UInt8]
  }

  private var pieces: [Piece]

  init(_ pieces: [Piece]) { self.pieces = pieces.filter { !$0.bytes.isEmpty } }

  /// Returns the word at an address; nil if the record does not contain this word.
  func word(at address: UInt64) -> UInt64? {
    for piece in pieces {
      let offset = address &- piece.start
      guard offset < UInt64(piece.bytes.count), UInt64(piece.bytes.count) - offset >= 8 else { continue }
      // Invariant: the eight bytes lie in the piece, as the check above ensures.
      return unsafe piece.bytes.withUnsafeBytes {
        unsafe $0.loadUnaligned(fromByteOffset: Int(offset), as: UInt64.self)
      }
    }
    return nil
  }

  /// Whether the record contains the byte at an address.
  func contains(_ address: UInt64) -> Bool {
    pieces.contains { address &- $0.start < UInt64($0.bytes.count) }
  }

  var description: String {
    let bytes = pieces.reduce(0) { $0 + $1.bytes.count }
    return "\(bytes) bytes of memory in \(pieces.count) \(pieces.count == 1 ? "piece" : "pieces")"
  }
}
