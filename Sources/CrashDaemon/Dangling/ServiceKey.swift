import CrashRing

/// What has one policy: the processes of one user that run one program.
struct ServiceKey: Sendable, Hashable, Comparable {
  var uid: UInt32
  /// The executable's path, as the process says it; its name where it says none.
  var program: String

  init(uid: UInt32, program: String) {
    self.uid = uid
    self.program = program
  }

  init(_ facts: ProcessFacts) {
    let executable = facts.identity.executable
    self.init(uid: facts.peer.uid, program: executable.isEmpty ? facts.identity.name : executable)
  }

  static func < (left: ServiceKey, right: ServiceKey) -> Bool {
    (left.uid, left.program) < (right.uid, right.program)
  }
}
