/// Whether root of other namespaces is crashd's root.
///
/// The operator sets this with the setting `access.root`.
public enum RootAccess: String, Sendable {
  /// Only clients of crashd's own pid and user namespaces can have access to all crashes.
  case host
  /// The namespaces of a client do not matter.
  case all
}
