import CrashRing
import CrashStore

/// The scope of one policy: the processes of one user that run one program.
///
/// Processes with more rights than their user have a separate policy under the same uid. The user can neither see nor
/// change that policy, and the user's other programs do not use up its limits.
struct ServiceKey: Sendable, Hashable, Comparable {
  var uid: UInt32
  /// The path of the executable, as the process reports it; the name of the process if it reports no path.
  var program: String
  /// Whether the processes have more rights than their user.
  var isRestricted: Bool

  init(uid: UInt32, program: String, isRestricted: Bool = false) {
    (self.uid, self.program) = (uid, program)
    // Root can see all processes, so root's processes are never kept apart.
    self.isRestricted = isRestricted && uid != 0
  }

  init(_ facts: ProcessFacts) {
    let executable = facts.identity.executable
    self.init(
      uid: facts.peer.uid, program: executable.isEmpty ? facts.identity.name : executable,
      isRestricted: facts.isRestricted)
  }

  static func < (left: ServiceKey, right: ServiceKey) -> Bool {
    (left.uid, left.isRestricted ? 1 : 0, left.program) < (right.uid, right.isRestricted ? 1 : 0, right.program)
  }
}

extension Visibility {
  /// Whether a client with this visibility may see and change the service.
  func includes(_ key: ServiceKey) -> Bool {
    switch self {
    case .all: true
    case .user(let uid): key.uid == uid && !key.isRestricted
    }
  }
}
