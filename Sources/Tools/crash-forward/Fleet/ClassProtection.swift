import CrashClient
import CrashProtocol

/// Handles an *ask* for protection (the fleet's request to protect a class against use-after-free), unless this host
/// decides otherwise.
///
/// crashd's protocol has no expiry: the class stays protected until `crashctl dangling reset`.
struct ClassProtection {
  enum Outcome: Equatable {
    /// crashd has begun to protect the class.
    case protected
    /// An operator of this host, or an earlier ask, protects the class already.
    case alreadyProtected
    /// This host does not protect the class, for this reason.
    case refused(String)
    /// Protection is not possible now, for this reason; for example, no attached process has the class.
    case later(String)
    /// crashd does not answer, for this reason.
    case unanswered(String)
  }

  /// If crashd protects this many classes of one program for operators and asks, further asks are refused.
  ///
  /// crashd's own limit is higher, so the operators of this host can still protect further classes.
  private static let classLimit = 32

  var client: CrashClient
  /// The setting `fleet.allow-protection`.
  var isAllowed: Bool
  /// The setting `fleet.program`: a part of the names of the programs that this host sends to the fleet.
  var filter: String?
  var log: SinkLog

  func protect(_ className: String, of program: String) -> Outcome {
    guard isAllowed else { return .refused("fleet.allow-protection is false") }
    if let filter, !program.contains(filter) { return .refused("fleet.program excludes the program") }
    // A process also accepts mangled names, which have no dot. Under such a name, an ask would evade an operator's
    // rules for the class.
    guard className.contains(".") else { return .refused("the ask does not have the full name of a class") }
    do throws(ClientError) {
      if let outcome = Self.outcome(of: try client.danglingPolicies(name: program), className, program) {
        return outcome
      }
      let change = try client.protect(class: className, name: program)
      // A program whose name contains the given one can have attached since the first call.
      for other in change.services where other != program {
        log(.warning, "\(FleetRunner.name): crashd also protects \(className) in '\(other)', not only in '\(program)'")
      }
      return .protected
    } catch {
      switch error {
      case .refused(.noSuchService(name: _)), .refused(.noSuchClass(name: _)):
        return .later("no attached process has the class")
      case .refused, .tooOld, .malformedReply, .messageTooLarge: return .refused(SinkRunner.text(error))
      case .unreachable, .timedOut, .closed, .failed, .cancelled: return .unanswered(SinkRunner.text(error))
      }
    }
  }

  /// Returns the outcome that follows from the policies of crashd; nil if crashd has to protect the class.
  private static func outcome(
    of policies: [DanglingPolicyReport], _ className: String, _ program: String
  ) -> Outcome? {
    // crashd selects all programs whose name contains the given one.
    if let other = policies.first(where: { $0.name != program }) {
      // Try again later, because the other program can end.
      return .later("crashd would also change the program '\(other.name)'")
    }
    if policies.contains(where: { $0.releasedClasses.contains(className) }) {
      return .refused("an operator of this host has stopped its protection")
    }
    if policies.contains(where: { $0.level == .off }) {
      return .refused("an operator of this host has turned the protection of the program off")
    }
    guard policies.contains(where: { $0.processes > 0 }) else { return .later("no process of the program is attached") }
    let listed = policies.map { policy in Set(policy.classes.filter { $0.listedBy == .byOperator }.map(\.name)) }
    if policies.flatMap(\.releasedClasses).contains(where: { !$0.contains(".") })
      || listed.joined().contains(where: { !$0.contains(".") })
    {
      return .refused("an operator of this host has set a class by its mangled name")
    }
    // Do not protect a class that crashd already protects, because the call would remove the limit and the mode that an
    // operator has set for it.
    if listed.allSatisfy({ $0.contains(className) }) {
      return .alreadyProtected
    }
    if listed.contains(where: { $0.contains(className) }) {
      return .refused("it is already protected in a part of the program's services")
    }
    if listed.contains(where: { $0.count >= classLimit }) {
      return .refused("\(classLimit) classes of a program are protected already")
    }
    return nil
  }
}
