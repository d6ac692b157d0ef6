extension Shield {
  /// A selection of classes of this process.
  ///
  /// The shield finds the classes in the type records of the executable and its shared libraries. A generic class has
  /// no metadata before its first use. Protect an instantiation of a generic class by its metatype instead.
  public enum ClassSelection: Sendable, Hashable {
    /// The class with this full name, such as `App.Session` or `App.Outer.Inner`.
    case named(String)
    /// All classes of a module.
    case module(String)
    /// All classes of the modules in the executable, except Swift's own libraries.
    case ownClasses
  }

  /// Protects the selected classes, as `protect` does for a metatype.
  ///
  /// ```swift
  /// try Shield.protect(.module("App"), policy: .zero)
  /// ```
  ///
  /// Call this function when the program starts. The function reads the type records of all images once, which takes
  /// some milliseconds for a large server. The function also creates the metadata of each selected class.
  ///
  /// - Returns: Three lists of full class names. The classes in `protected` are protected now. The classes in `generic`
  ///   are generic and have no metadata yet. The classes in `failed` could not be protected.
  /// - Throws: `ProtectionError.unavailable`. A class that cannot be protected is listed in the result instead.
  @discardableResult
  public static func protect(
    _ selection: ClassSelection, policy: DanglingPolicy = .zero, limit: Int = 50
  ) throws(ProtectionError) -> (protected: [String], generic: [String], failed: [String]) {
    if let unavailable = danglingUnavailableReason { throw .unavailable(unavailable) }
    var result: (protected: [String], generic: [String], failed: [String]) = ([], [], [])
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
  /// Modules of the toolchain, which are excluded because a statically linked executable contains their classes, too.
  private static let systemModules: Set<String> = [
    "Swift", "SwiftShims", "_Concurrency", "_StringProcessing", "_RegexParser", "RegexBuilder", "Synchronization",
    "Distributed", "Observation", "_Differentiation", "Dispatch", "Foundation", "FoundationEssentials",
    "FoundationInternationalization", "FoundationNetworking", "FoundationXML", "Glibc", "CxxStdlib", "Cxx", "Testing",
    "XCTest", "CrashShield", "CrashShieldGuards", "__C", "Runtime",
  ]

  /// The modules that implement the quarantine and its incident records: the quarantine cannot keep their objects.
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
