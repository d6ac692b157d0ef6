/// Finds the end of a frame in bytes that arrive in pieces.
///
/// A NUL byte separates Varlink frames, and a line feed separates lines.
///
/// Complexity: each byte is read only once, however many pieces arrive.
package struct FrameBoundary: Sendable {
  /// The error for a frame that exceeds the limit.
  package struct TooLong: Error, Equatable {
    /// The limit that was exceeded, in bytes.
    package var limit: Int

    @usableFromInline init(limit: Int) { self.limit = limit }
  }

  @usableFromInline let limit: Int
  @usableFromInline let separator: UInt8
  /// The number of unconsumed bytes that were already searched and contain no separator.
  @usableFromInline var searched = 0

  /// Creates a finder for frames of at most `limit` bytes.
  ///
  /// The limit does not include the separator.
  package init(limit: Int, separator: UInt8 = 0) {
    (self.limit, self.separator) = (limit, separator)
  }

  /// Returns the length of the first frame in the unconsumed bytes. Returns nil if the separator at the end of this
  /// frame has not arrived yet.
  ///
  /// The caller must consume the frame together with its separator.
  // The function is inlinable, so that the compiler specializes the search for the type of the caller's buffer.
  @inlinable
  package mutating func next(in bytes: some RandomAccessCollection<UInt8>) throws(TooLong) -> Int? {
    guard let end = bytes.dropFirst(searched).firstIndex(of: separator) else {
      searched = bytes.count
      if searched > limit { throw TooLong(limit: limit) }
      return nil
    }
    let length = bytes.distance(from: bytes.startIndex, to: end)
    if length > limit { throw TooLong(limit: limit) }
    searched = 0
    return length
  }
}
