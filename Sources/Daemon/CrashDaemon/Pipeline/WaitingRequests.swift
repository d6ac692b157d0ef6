import CrashRing
import Synchronization

/// Limits the memory of the requests in flight that crashd keeps for crashes that wait for their symbols.
///
/// A crash that waits for its symbols holds no permit to read rings, so thousands of crashes can wait at the same time.
/// If the limit is reached, crashd drops the requests of a waiting crash, and reads the requests again after the wait.
/// Requests that have ended by then are missing in the report.
final class WaitingRequests: Sendable {
  /// The number of bytes that each account (the uids that share limits) has reserved.
  private let bytes = Mutex<[UInt32: Int]>([:])

  /// Reserves memory for the requests of one crash of a user.
  ///
  /// - Returns: Whether there is room. If there is room, the caller must call `release` later.
  func reserve(_ count: Int, for user: UInt32, _ limits: Limits) -> Bool {
    let account = limits.account(of: user)
    return bytes.withLock { bytes in
      let own = bytes[account, default: 0]
      guard own + count <= limits.waitingRequestBytesPerUser,
        bytes.values.reduce(0, +) + count <= limits.places(limits.waitingRequestBytes, for: user)
      else { return false }
      bytes[account] = own + count
      return true
    }
  }

  /// Releases the memory that `reserve` has reserved.
  func release(_ count: Int, for user: UInt32, _ limits: Limits) {
    let account = limits.account(of: user)
    bytes.withLock { bytes in
      let own = bytes[account, default: 0] - count
      bytes[account] = own > 0 ? own : nil
    }
  }
}

extension RingContents.Requests {
  /// An upper bound of the memory that the running and the trapped requests take.
  var memoryBytes: Int {
    (running + trapped).reduce(0) { sum, request in
      let texts = [request.operation, request.id, request.traceID, request.spanID].reduce(0) { $0 + Self.bytes(of: $1) }
      let tags = request.tags.reduce(0) { $0 + Self.bytes(of: $1.key) + Self.bytes(of: $1.value) + Self.tagBytes }
      return sum + MemoryLayout<RingContents.Request>.stride + texts + tags
        + (request.tags.isEmpty ? 0 : Self.dictionaryBytes)
    }
  }

  /// The bytes of a dictionary's header, and the bytes that are counted for each of its key-value pairs.
  ///
  /// A dictionary allocates memory for at most three pairs per pair that it contains.
  private static let (dictionaryBytes, tagBytes) = (96, 3 * MemoryLayout<(String, String)>.stride)

  /// Returns an upper bound of the memory that a string allocates on the heap.
  ///
  /// A string of more than 15 bytes is stored on the heap, with a header and a size that is rounded up.
  private static func bytes(of text: String) -> Int { text.utf8.count <= 15 ? 0 : text.utf8.count + 64 }
}
