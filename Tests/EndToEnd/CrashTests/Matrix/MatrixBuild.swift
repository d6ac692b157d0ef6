import CrashMaker

/// A crash-maker of the matrix.
struct MatrixBuild {
  var name: String
  var program: String
  var isOptimized: Bool
  /// Whether the Swift library is part of it.
  var isStatic: Bool
  /// What is preloaded to a program that does not link the shield; nil: the program links it.
  var preload: String?

  /// The six of them; `make matrix` builds and names all but the debug one that links the shield.
  static func all() throws -> [MatrixBuild] {
    let (release, isStatic) = (try directory("CRASH_MAKER_RELEASE"), try directory("CRASH_MAKER_STATIC"))
    let linked = [
      MatrixBuild(name: "debug", program: try Binaries.besideTests("crash-maker"), isOptimized: false, isStatic: false),
      MatrixBuild(name: "release", program: release + "/crash-maker", isOptimized: true, isStatic: false),
      MatrixBuild(name: "release, static", program: isStatic + "/crash-maker", isOptimized: true, isStatic: true),
    ]
    let preloaded = try directory("CRASH_MAKER_PRELOADED")
    return linked
      + zip(linked, ["debug", "release", "static"]).map { build, folder in
        var build = build
        build.name += ", preloaded"
        build.program = "\(preloaded)/\(folder)/crash-maker"
        build.preload = preloaded + "/libcrashshield.so"
        return build
      }
  }

  /// Whether a scenario can crash in it.
  func canRun(_ scenario: Scenario) -> Bool {
    scenario.isPossible(isOptimized: isOptimized, isStatic: isStatic) && !(isPreloaded && scenario.needsLibrary)
  }

  var isPreloaded: Bool { preload != nil }
  /// What a run with the shield has in its environment.
  var environment: [String: String] { preload.map { ["LD_PRELOAD": $0] } ?? [:] }
  /// A program that does not link the shield cannot ask it whether it is attached.
  var options: [String] { isPreloaded ? [] : ["--wait-attached"] }

  private static func directory(_ variable: String) throws -> String {
    guard let directory = Environment.value(of: variable) else {
      throw SystemError("\(variable) is not set: the matrix runs by 'make matrix'", 0)
    }
    return directory
  }
}
