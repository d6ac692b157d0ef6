import Synchronization

/// Remembers image lists whose symbolication started a moment ago.
///
/// Processes of one program have the same list. In a storm of crashes, requesting it again for each process would be
/// useless.
///
/// A crash requests the images of its frames in any case.
final class RecentImages: Sendable {
  private struct State {
    /// Hashes of users, build ids and paths.
    ///
    /// Hashes keep hostile names from using memory, and a collision does no harm.
    var questions: Set<Int> = []
    var begin_ns: UInt64 = 0
  }

  private let state = Mutex(State())
  private let memory_ms: Int
  private static let limit = 64

  init(memory_ms: Int) { self.memory_ms = memory_ms }

  /// Whether these images were not requested a moment ago.
  ///
  /// A list with descriptors from the process always counts as new.
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
