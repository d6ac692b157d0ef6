import CrashMaker

/// A build of crash-maker in the matrix.
struct MatrixBuild {
  var name: String
  var program: String
  var isOptimized: Bool
  /// Whether the program links the Swift library statically.
  var isStatic: Bool
  /// The library that the test preloads, for a program that does not link the shield; nil for a program that links it.
  var preload: String?

  /// Returns the builds of crash-maker: two in a slice of the matrix, six in the whole matrix.
  ///
  /// `make matrix` builds five of them and passes their paths. SwiftPM builds the sixth, the debug program that links
  /// the shield, unless the matrix is for another architecture.
  static func all() throws -> [MatrixBuild] {
    let release = try directory("CRASH_MAKER_RELEASE")
    let dynamic = [
      MatrixBuild(name: "debug", program: try debugProgram(), isOptimized: false, isStatic: false),
      MatrixBuild(name: "release", program: release + "/crash-maker", isOptimized: true, isStatic: false),
    ]
    if isSlice { return dynamic }
    let isStatic = try directory("CRASH_MAKER_STATIC")
    let linked =
      dynamic + [
        MatrixBuild(name: "release, static", program: isStatic + "/crash-maker", isOptimized: true, isStatic: true)
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

  /// The architecture of the programs: that of the tests, unless `CRASHSHIELD_MATRIX_ARCHITECTURE` names another one.
  static let architecture =
    Environment.value(of: "CRASHSHIELD_MATRIX_ARCHITECTURE").flatMap(Architecture.init) ?? .current

  /// Whether only a slice of the matrix runs, as in `make ci`: each signal on each kind of thread in two builds.
  static let isSlice = Environment.value(of: "CRASHSHIELD_MATRIX_SLICE") != nil

  /// The maximum number of kinds of thread on which each scenario runs.
  static let threadLimit = Environment.value(of: "CRASHSHIELD_MATRIX_THREADS").flatMap { Int($0) } ?? .max

  /// Whether this build can run the scenario.
  func canRun(_ scenario: Scenario) -> Bool {
    scenario.isPossible(isOptimized: isOptimized, isStatic: isStatic) && !(isPreloaded && scenario.needsLibrary)
  }

  var isPreloaded: Bool { preload != nil }
  /// The additional environment variables of a run with the shield.
  var environment: [String: String] { preload.map { ["LD_PRELOAD": $0] } ?? [:] }
  /// The additional options of a run with the shield.
  ///
  /// A program that does not link the shield gets no `--wait-attached`, because it cannot query whether it is attached.
  var options: [String] { isPreloaded ? [] : ["--wait-attached"] }

  /// Returns the debug program that links the shield.
  static func debugProgram() throws -> String {
    if architecture == .current { return try Binaries.besideTests("crash-maker") }
    return try directory("CRASH_MAKER_DEBUG") + "/crash-maker"
  }

  private static func directory(_ variable: String) throws -> String {
    guard let directory = Environment.value(of: variable) else {
      throw SystemError("\(variable) is not set: run the matrix with 'make matrix'", 0)
    }
    return directory
  }
}
