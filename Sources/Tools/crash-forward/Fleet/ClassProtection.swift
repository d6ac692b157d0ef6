import CrashClient
import CrashProtocol

/// Protects a class in crashd because the fleet asked for it, unless this host decides otherwise.
///
/// crashd's protocol has no expiry: the class stays protected until `crashctl dangling reset`.
struct ClassProtection {
  enum Outcome: Equatable {
    /// crashd protects the class.
    case protected
    /// This host does not protect the class, for this reason.
    case refused(String)
    /// No attached process has the class now, or crashd does not answer.
    case later(String)
  }

  var client: CrashClient
  /// The setting `fleet.allow-protection`.
  var isAllowed: Bool

  func protect(_ className: String, of program: String) -> Outcome {
    guard isAllowed else { return .refused("fleet.allow-protection is false") }
    do throws(ClientError) {
      let policies = try client.danglingPolicies(name: program)
      // crashd selects all programs whose name contains the given one.
      if let other = policies.first(where: { $0.name != program }) {
        return .refused("crashd would also change the program '\(other.name)'")
      }
      if policies.contains(where: { $0.releasedClasses.contains(className) }) {
        return .refused("an operator of this host has stopped its protection")
      }
      try client.protect(class: className, name: program)
      return .protected
    } catch {
      switch error {
      case .refused(.noSuchService(name: _)), .refused(.noSuchClass(name: _)):
        return .later("no attached process has the class")
      case .refused, .tooOld, .malformedReply, .messageTooLarge: return .refused(SinkRunner.text(error))
      case .unreachable, .timedOut, .closed, .failed, .cancelled: return .later(SinkRunner.text(error))
      }
    }
  }
}
