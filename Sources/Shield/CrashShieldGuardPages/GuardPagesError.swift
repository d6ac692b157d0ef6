internal import CShimGuardPages

/// Why objects of a class are not given pages of their own.
public enum GuardPagesError: Error, Equatable {
  /// Guard slots are off in this process; the text says why. Run on without them.
  case unavailable(String)
  /// Its objects are too large for a page, or aligned to more than 16 bytes.
  case unsuitable(String)
  /// Its objects have elements behind their fields, as those of subclasses of `ManagedBuffer` have: they have no common size
  /// by which they could be drawn.
  case tailAllocated(String)
  /// There are too many classes already; protect fewer.
  case tooManyClasses(String)
  /// The system has no memory for the slots.
  case outOfMemory(String)
}

extension GuardPagesError: CustomStringConvertible {
  /// What failed, on what, and why.
  public var description: String {
    switch self {
    case .unavailable(let why): "cannot guard objects: \(why)"
    case .unsuitable(let name): "cannot guard '\(name)': its objects do not fit into a page"
    case .tailAllocated(let name): "cannot guard '\(name)': its objects have elements behind their fields"
    case .tooManyClasses(let name): "cannot guard '\(name)': \(CS_PAGES_CLASS_LIMIT) classes are guarded already"
    case .outOfMemory(let name): "cannot guard '\(name)': out of memory"
    }
  }
}
