internal import CShimGuardPages

/// The reason why guard pages cannot protect a class.
public enum GuardPagesError: Error, Equatable {
  /// Guard pages are off in this process, for the given reason. The program can continue without guard pages.
  case unavailable(String)
  /// Objects of this class are larger than a page allows, or aligned to more than 16 bytes.
  case unsuitable(String)
  /// Objects of this class have tail-allocated elements, as subclasses of `ManagedBuffer` have.
  ///
  /// The library samples objects by size, but objects with tail-allocated elements do not have one common size.
  case tailAllocated(String)
  /// The limit of protected classes is reached. Protect fewer classes.
  case tooManyClasses(String)
  /// The system has no memory for the slots.
  case outOfMemory(String)
}

extension GuardPagesError: CustomStringConvertible {
  /// A description of what failed, on which class, and why.
  public var description: String {
    switch self {
    case .unavailable(let why): "cannot guard objects: \(why)"
    case .unsuitable(let name): "cannot guard '\(name)': its objects do not fit into a page"
    case .tailAllocated(let name): "cannot guard '\(name)': its objects have tail-allocated elements"
    case .tooManyClasses(let name): "cannot guard '\(name)': \(CS_PAGES_CLASS_LIMIT) classes are guarded already"
    case .outOfMemory(let name): "cannot guard '\(name)': out of memory"
    }
  }
}
