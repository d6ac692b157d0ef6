/// Finds the end of a frame in bytes that arrive in pieces.
///
/// A NUL byte ends a Varlink frame, and a line feed ends a line.
///
/// Complexity: each byte is read once, independent of the number of pieces.
package struct FrameBoundary: Sendable {
  /// The error for a frame that exceeds the limit.
  package struct TooLong: Error, Equatable {
    /// The limit.
    package var limit: Int

    @usableFromInline init(limit: Int) { self.limit = limit }
  }

  @usableFromInline let limit: Int
  @usableFromInline let separator: UInt8
  /// The number of leading bytes without a separator.
  @usableFromInline var searched = 0

  /// Creates a search for frames of at most `limit` bytes, not counting the separator.
  package init(limit: Int, separator: UInt8 = 0) {
    (self.limit, self.separator) = (limit, separator)
  }

  /// Returns the length of the first frame in the unconsumed bytes, or nil if its end has not arrived.
  ///
  /// The caller must consume the frame and its separator.
  // Inlined, to specialize the search for the type of the caller's buffer.
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
