import Synchronization

/// Remembers the lists of images whose symbols were requested recently.
///
/// Processes of the same program usually have equal lists of images. If many of these processes crash at once, it is
/// sufficient to request the symbols of the list once.
///
/// The report of a crash does not depend on these lists, because crashd always requests the symbols of the images to
/// which the crash's frames belong.
final class RecentImages: Sendable {
  private struct State {
    /// A hash of the user, the build IDs and the paths for each list.
    ///
    /// Hashes are used so that long names from malicious processes do not use up memory. If two lists have the same
    /// hash, the only effect is that crashd does not request the symbols of one list before a crash.
    var questions: Set<Int> = []
    var begin_ns: UInt64 = 0
  }

  private let state = Mutex(State())
  private let memory_ms: Int
  private static let limit = 64

  init(memory_ms: Int) { self.memory_ms = memory_ms }

  /// Whether the symbols of the given images were not requested recently.
  ///
  /// A list for which the process sent descriptors is always new.
  func areNew(_ images: [ImageFile], for user: UInt32, at now_ns: UInt64 = Moment.monotonic_ns()) -> Bool {
    if images.contains(where: { $0.descriptor != nil }) { return true }
    var hasher = Hasher()
    hasher.combine(user)
    for image in images {
      hasher.combine(image.buildID)
      hasher.combine(image.path)
    }
    let question = hasher.finalize()
    return state.withLock { state in
      if now_ns > state.begin_ns + UInt64(memory_ms) * 1_000_000 || state.questions.count >= Self.limit {
        (state.questions, state.begin_ns) = ([], now_ns)
      }
      return state.questions.insert(question).inserted
    }
  }
}
