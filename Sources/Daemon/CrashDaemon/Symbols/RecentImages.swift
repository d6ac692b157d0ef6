import Synchronization

/// Remembers the image lists whose symbols were requested recently.
///
/// Processes of one program have equal image lists. During a storm of crashes, requesting the symbols of the same list
/// for each process would be useless.
///
/// A crash does not depend on this list, because it always requests the images of its frames.
final class RecentImages: Sendable {
  private struct State {
    /// Hashes of the user, the build ids and the paths of each list.
    ///
    /// With hashes, long names from hostile processes do not use memory. A hash collision only skips one early request.
    var questions: Set<Int> = []
    var begin_ns: UInt64 = 0
  }

  private let state = Mutex(State())
  private let memory_ms: Int
  private static let limit = 64

  init(memory_ms: Int) { self.memory_ms = memory_ms }

  /// Whether the symbols of these images were not requested recently.
  ///
  /// A list with descriptors from the process is always new.
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
