internal import CShimQuarantine

extension Shield {
  /// Why a class could not be protected.
  ///
  /// The class goes on as it was.
  public enum ProtectionError: Error, Equatable {
    /// The quarantine is off in this process; the text says why. Run on without it.
    case unavailable(String)
    /// This is no native Swift class, or one whose metadata has a form that is not known here.
    case notASwiftClass(String)
    /// There are too many classes already; protect fewer.
    case tooManyClasses(String)
    /// The metadata of this class cannot be written.
    case readOnlyMetadata(String)
    /// The system has no memory or no thread left for it.
    case outOfMemory(String)
  }
}

extension Shield.ProtectionError: CustomStringConvertible {
  /// What failed, on what, and why.
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
