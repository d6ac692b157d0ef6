internal import CShimQuarantine

extension Shield {
  /// The reason why a class could not be protected.
  ///
  /// The class stays unprotected.
  public enum ProtectionError: Error, Equatable {
    /// The quarantine is off in this process, for the given reason. The program can continue without the quarantine.
    case unavailable(String)
    /// Not a native Swift class, or a class whose metadata has an unknown layout.
    case notASwiftClass(String)
    /// The limit of protected classes is reached. Protect fewer classes.
    case tooManyClasses(String)
    /// The metadata of this class is read-only.
    case readOnlyMetadata(String)
    /// The system has no more memory or threads.
    case outOfMemory(String)
  }
}

extension Shield.ProtectionError: CustomStringConvertible {
  /// A description of what failed, on which class, and why.
  public var description: String {
    switch self {
    case .unavailable(let why): "cannot protect classes: \(why)"
    case .notASwiftClass(let name): "cannot protect '\(name)': not a native Swift class"
    case .tooManyClasses(let name): "cannot protect '\(name)': \(CS_QUARANTINE_CLASSES) classes were protected already"
    case .readOnlyMetadata(let name): "cannot protect '\(name)': its metadata is read-only"
    case .outOfMemory(let name): "cannot protect '\(name)': out of memory or threads"
    }
  }
}
