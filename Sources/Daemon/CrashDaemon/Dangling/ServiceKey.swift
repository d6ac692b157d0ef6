import CrashRing
import CrashStore

/// Identifies a service: the processes of one user that run one program.
///
/// One policy applies to all of them.
///
/// Processes with more privileges than their user form a separate service, with the same uid but with `isRestricted`.
/// The user can neither see nor change the policy of this service. The limit on the services of one user counts these
/// services separately.
struct ServiceKey: Sendable, Hashable, Comparable {
  var uid: UInt32
  /// The path of the executable, as the process reported it; if the process reported no path, the name of the process.
  var program: String
  /// Whether the processes have more privileges than their user.
  var isRestricted: Bool

  init(uid: UInt32, program: String, isRestricted: Bool = false) {
    (self.uid, self.program) = (uid, program)
    // Root can see all processes, so root's processes never form a service of privileged processes.
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
  /// Whether a client with this visibility is allowed to see and change the service.
  func includes(_ key: ServiceKey) -> Bool {
    switch self {
    case .all: true
    case .user(let uid): key.uid == uid && !key.isRestricted
    }
  }
}
