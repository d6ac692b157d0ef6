package import CrashShield

extension ShieldFault {
  /// The text of the response after a trap; nil if a trap did not cause this fault.
  package var responseText: String? {
    switch self {
    case .trapped: "The request trapped."
    case .ended: "The process ends after a trap."
    default: nil
    }
  }
}
