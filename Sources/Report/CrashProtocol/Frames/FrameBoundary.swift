/// Finds the end of a frame in bytes that arrive in pieces: Varlink ends each with a NUL, lines end with a line feed.
///
/// Complexity: each byte is read once, however many pieces a frame arrives in.
package struct FrameBoundary: Sendable {
  /// A frame that is longer than the limit.
  package struct TooLong: Error, Equatable {
    /// The limit.
    package var limit: Int

    @usableFromInline init(limit: Int) { self.limit = limit }
  }

  @usableFromInline let limit: Int
  @usableFromInline let separator: UInt8
  /// The number of leading bytes without a separator.
  @usableFromInline var searched = 0

  /// Frames of at most `limit` bytes, without the separator.
  package init(limit: Int, separator: UInt8 = 0) {
    (self.limit, self.separator) = (limit, separator)
  }

  /// The length of the first frame of the unconsumed bytes; nil when its end has not arrived.
  ///
  /// The caller consumes the frame and its separator.
  // Inlined, so that the search runs over the caller's own kind of buffer.
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
