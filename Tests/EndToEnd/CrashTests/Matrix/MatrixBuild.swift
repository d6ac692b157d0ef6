import CrashMaker

/// A crash-maker of the matrix.
struct MatrixBuild {
  var name: String
  var program: String
  var isOptimized: Bool
  /// Whether the Swift library is part of it.
  var isStatic: Bool

  /// The three of them; `make matrix` builds and names the optimized ones.
  static func all() throws -> [MatrixBuild] {
    [
      MatrixBuild(name: "debug", program: try Binaries.besideTests("crash-maker"), isOptimized: false, isStatic: false),
      try optimized("release", variable: "CRASH_MAKER_RELEASE", isStatic: false),
      try optimized("release, static", variable: "CRASH_MAKER_STATIC", isStatic: true),
    ]
  }

  /// Whether a scenario can crash in it.
  func canRun(_ scenario: Scenario) -> Bool { scenario.isPossible(isOptimized: isOptimized, isStatic: isStatic) }

  private static func optimized(_ name: String, variable: String, isStatic: Bool) throws -> MatrixBuild {
    guard let directory = Environment.value(of: variable) else {
      throw SystemError("\(variable) is not set: the matrix runs by 'make matrix'", 0)
    }
    return MatrixBuild(name: name, program: directory + "/crash-maker", isOptimized: true, isStatic: isStatic)
  }
}
