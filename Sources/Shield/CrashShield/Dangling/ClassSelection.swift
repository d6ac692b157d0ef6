extension Shield {
  /// Classes that are found by what the images of this process say of their types.
  ///
  /// Generic classes have no metadata before they are used: protect such a one by its metatype.
  public enum ClassSelection: Sendable, Hashable {
    /// The class with this full name, such as `App.Session` or `App.Outer.Inner`.
    case named(String)
    /// All classes of a module.
    case module(String)
    /// All classes of the modules in the executable, but not those of Swift's own libraries.
    case ownClasses
  }

  /// What `protect` did with a selection.
  public struct SelectionResult: Sendable, Hashable {
    /// The full names of the classes that are protected now.
    public var protected: [String] = []
    /// Generic classes, which have no metadata yet.
    public var generic: [String] = []
    /// Classes that could not be protected.
    public var failed: [String] = []
  }

  /// Protects the classes that a selection finds, as `protect` does by metatype.
  ///
  /// ```swift
  /// try Shield.protect(.module("App"), policy: .zero)
  /// ```
  ///
  /// Reads the type records of all images once, some milliseconds for a large server, and makes the metadata of each
  /// class that is found. At start is a good time.
  ///
  /// - Throws: `ProtectionError.unavailable`. What became of each class is in the result.
  @discardableResult
  public static func protect(
    _ selection: ClassSelection, policy: DanglingPolicy = .zero, limit: Int = 50
  ) throws(ProtectionError) -> SelectionResult {
    if let unavailable = danglingUnavailableReason { throw .unavailable(unavailable) }
    var result = SelectionResult()
    for record in TypeRecords.classes() where selection.holds(record) {
      guard let type = record.type else {
        result.generic.append(record.name)
        continue
      }
      do throws(ProtectionError) {
        try Protections.shared.protect(type, policy, limit: limit)
        result.protected.append(record.name)
      } catch {
        result.failed.append(record.name)
      }
    }
    return result
  }
}

extension Shield.ClassSelection {
  /// Modules of the toolchain, which a statically linked executable has inside.
  private static let systemModules: Set<String> = [
    "Swift", "SwiftShims", "_Concurrency", "_StringProcessing", "_RegexParser", "RegexBuilder", "Synchronization",
    "Distributed", "Observation", "_Differentiation", "Dispatch", "Foundation", "FoundationEssentials",
    "FoundationInternationalization", "FoundationNetworking", "FoundationXML", "Glibc", "CxxStdlib", "Cxx", "Testing",
    "XCTest", "CrashShield", "CrashShieldGuards", "__C", "Runtime",
  ]

  /// The modules of the quarantine and of what records its incidents: it cannot keep the objects that it consists of.
  static let ownModules: Set<String> = ["CrashShield", "CrashShieldGuards"]

  func holds(_ record: TypeRecords.Record) -> Bool {
    guard !Self.ownModules.contains(record.module) else { return false }
    switch self {
    case .named(let name): return record.name == name
    case .module(let module): return record.module == module
    case .ownClasses: return record.isInExecutable && !Self.systemModules.contains(record.module)
    }
  }
}
