/// Whether clients in other namespaces can have access to all crashes.
///
/// The operator sets the value with the setting `access.root`.
public enum RootAccess: String, Sendable {
  /// Only clients in crashd's own pid namespace can have access to all crashes.
  ///
  /// Root and the members of the access group must also be in crashd's own user namespace.
  case host
  /// The namespaces of a client do not matter.
  case all
}
