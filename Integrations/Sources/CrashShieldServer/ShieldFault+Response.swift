package import CrashShield

extension ShieldFault {
  /// The text of the response after a trap; nil if this fault is not the result of a trap.
  package var responseText: String? {
    switch self {
    case .trapped: "The request trapped."
    case .ended: "The process ends after a trap."
    default: nil
    }
  }
}
