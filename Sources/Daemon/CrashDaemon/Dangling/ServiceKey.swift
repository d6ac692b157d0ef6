import CrashRing
import CrashStore

/// The scope of one policy: the processes of one user that run one program.
///
/// Processes with more rights than their user have a policy of their own under the same uid. That user neither sees nor
/// changes it, and the user's programs do not use up its limits.
struct ServiceKey: Sendable, Hashable, Comparable {
  var uid: UInt32
  /// The executable's path, as the process reports it; its name where it reports none.
  var program: String
  /// Its processes have more rights than their user.
  var isRestricted: Bool

  init(uid: UInt32, program: String, isRestricted: Bool = false) {
    (self.uid, self.program) = (uid, program)
    // Root sees everything, and is one owner.
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
  /// Whether the service may be seen and changed.
  func includes(_ key: ServiceKey) -> Bool {
    switch self {
    case .all: true
    case .user(let uid): key.uid == uid && !key.isRestricted
    }
  }
}
