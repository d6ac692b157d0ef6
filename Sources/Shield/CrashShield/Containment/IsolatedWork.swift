internal import CShim

/// Isolated work, as its task knows it: an actor may serve the task on a thread that is not the work's.
@safe
package final class IsolatedWork: @unchecked Sendable {
  /// The children of the work's task have it, too.
  @TaskLocal static var current: IsolatedWork?

  // Sendable: counted atomically, and there until it is released.
  private let kept: UnsafeMutableRawPointer?

  /// That of this thread.
  init() { unsafe kept = cs_shim_contained_keep() }

  deinit { unsafe cs_shim_contained_release(kept) }

  /// As long as what this returns is not given back, a trap of the work that goes on here ends the process.
  package static func hold() -> UnsafeMutableRawPointer? {
    let work = current
    return unsafe cs_shim_contained_hold(work?.kept)
  }
}
