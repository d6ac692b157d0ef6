package import CrashShield

extension ShieldFault {
  /// The text of the response to a request that a trap has ended, or nil for a fault of another kind.
  package var responseText: String? {
    switch self {
    case .trapped: "The request trapped."
    case .ended: "The process ends after a trap."
    default: nil
    }
  }
}
