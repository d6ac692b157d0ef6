// swift-tools-version: 6.2
// The targets of swift-crash-shield; docs/ARCHITECTURE.md says what each is for. Arrows point one way.
import PackageDescription

/// With CRASHSHIELD_CORE=1 the package holds only the targets without package dependencies: quick to build,
/// and the ones that run under the sanitizers.
let coreOnly = Context.environment["CRASHSHIELD_CORE"] != nil

// Swift 6.2 does not know this group, and refuses it.
#if compiler(>=6.3)
  let warnings: [SwiftSetting] = [.treatWarning("ExplicitSendable", as: .error)]
#else
  let warnings: [SwiftSetting] = []
#endif

let swift: [SwiftSetting] =
  [
    .treatAllWarnings(as: .error),
    .strictMemorySafety(),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + warnings

let c: [CSetting] = [
  .define("_GNU_SOURCE"),
  .treatAllWarnings(as: .error),
  .enableWarning("extra"),
  .enableWarning("shadow"),
  .enableWarning("strict-prototypes"),
]

let cxx: [CXXSetting] = [
  .treatAllWarnings(as: .error),
  .enableWarning("extra"),
  .enableWarning("shadow"),
]

/// Code that runs in a signal handler: its calls are proved safe by the compiler, its frames are small.
let signalSafeC: [CSetting] =
  c + [.enableWarning("function-effects"), .enableWarning("frame-larger-than=2048")]

var products: [Product] = [
  .library(name: "CrashShield", targets: ["CrashShield"]),
  .library(name: "CrashShieldFoundation", targets: ["CrashShieldFoundation"]),
  .library(name: "CrashShieldImplicit", targets: ["CrashShieldImplicit"]),
  .library(name: "CrashShieldImplicitFoundation", targets: ["CrashShieldImplicitFoundation"]),
  .library(name: "CrashShieldCasts", targets: ["CrashShieldCasts"]),
  .library(name: "CrashShieldGuardPages", targets: ["CrashShieldGuardPages"]),
  .library(name: "CrashShieldIsolation", targets: ["CrashShieldIsolation"]),
  .library(name: "CrashReport", targets: ["CrashReport"]),
  .library(name: "CrashSymbols", targets: ["CrashSymbols"]),
  .executable(name: "crash-maker", targets: ["crash-maker"]),
  .executable(name: "dangling-maker", targets: ["dangling-maker"]),
  .executable(name: "crash-analyse", targets: ["crash-analyse"]),
  .executable(name: "crash-fetch", targets: ["crash-fetch"]),
]

var targets: [Target] = [
  // In the host process.
  .target(name: "CShimRing", path: "CShim/Ring", cSettings: signalSafeC),
  .target(
    name: "CShim", dependencies: ["CShimRing"], path: "CShim/Handler", cSettings: signalSafeC),
  // A part of it is called by the handler.
  .target(
    name: "CShimQuarantine", dependencies: ["CShimRing"], path: "CShim/Quarantine",
    cSettings: signalSafeC),
  .target(name: "CShimGuards", dependencies: ["CShimRing"], path: "CShim/Guards", cSettings: c),
  .target(
    name: "CrashShield", dependencies: ["CShim", "CShimGuards", "CShimQuarantine", "CShimRing"], swiftSettings: swift),

  .target(name: "CrashShieldFoundation", dependencies: ["CrashShield", "CShimGuards"], swiftSettings: swift),
  // A file that imports it has its range subscripts, operators and preconditions; what they fall back on has other names.
  .target(name: "CrashShieldPlain", swiftSettings: swift),
  .target(
    name: "CrashShieldImplicit", dependencies: ["CrashShieldPlain", "CrashShield", "CShimQuarantine"],
    swiftSettings: swift),
  // The same of Foundation's types, which it is imported in place of.
  .target(
    name: "CrashShieldImplicitFoundation", dependencies: ["CrashShieldImplicit", "CrashShield", "CShimQuarantine"],
    swiftSettings: swift),
  // A program that links it has its forced casts. The tests' program has, the tests have not: it is started by its path.
  .target(name: "CShimCasts", path: "CShim/Casts", cSettings: c),
  .target(name: "CrashShieldCasts", dependencies: ["CShimCasts", "CrashShield"], swiftSettings: swift),
  .target(name: "CastsFaults", dependencies: ["CrashShield"], path: "Tests/CastsFaults", swiftSettings: swift),
  .executableTarget(
    name: "casts-host", dependencies: ["CastsFaults", "CrashShield", "CrashShieldCasts"], path: "Tests/CastsHost",
    swiftSettings: swift),
  .testTarget(name: "CastsTests", dependencies: ["CastsFaults"], swiftSettings: swift),
  // A program that links it has its malloc.
  .target(
    name: "CShimGuardPages", dependencies: ["CShim", "CShimRing"], path: "CShim/GuardPages",
    cSettings: signalSafeC),
  .target(
    name: "CrashShieldGuardPages", dependencies: ["CShimGuardPages", "CShimRing", "CrashShield"], swiftSettings: swift),

  // A program that links it has its checks of executors watched, by the hooks of Swift's concurrency runtime.
  .target(name: "CShimCalls", dependencies: ["CShimQuarantine"], path: "CShim/Calls", cSettings: c),
  .target(name: "CShimIsolation", dependencies: ["CShimCalls"], path: "CShim/Isolation", cSettings: c),
  .target(
    name: "CrashShieldIsolation", dependencies: ["CShimIsolation", "CrashShield"], swiftSettings: swift),
  .target(name: "CIsolationEarly", path: "Tests/IsolationEarly", cSettings: c),
  .executableTarget(
    name: "isolation-host", dependencies: ["CIsolationEarly", "CrashShieldIsolation", "CrashShield"],
    path: "Tests/IsolationHost", swiftSettings: swift),
  // isolation-host is started by its path: the tests of others are not to have these hooks.
  .testTarget(name: "IsolationTests", swiftSettings: swift),

  // Out of it, without package dependencies.
  .target(name: "CrashReport", swiftSettings: swift),
  .target(name: "CrashRing", dependencies: ["CShimRing", "CrashReport"], swiftSettings: swift),
  .target(name: "CrashSymbols", dependencies: ["CrashReport"], swiftSettings: swift),
  // Takes rights away from the processes that read what nobody trusts.
  .target(name: "CConfine", cSettings: c),
  .target(name: "CLibdw", cSettings: c, linkerSettings: [.linkedLibrary("dw"), .linkedLibrary("elf")]),
  .target(name: "DanglingStatistics", swiftSettings: swift),
  .target(
    name: "CrashSymbolBuilder", dependencies: ["CrashSymbols", "CConfine", "CLibdw"], swiftSettings: swift),
  .target(name: "CrashUnwinding", swiftSettings: swift),
  // libunwind-x86_64 is the interface to other processes; it needs parts of libunwind.
  .target(
    name: "CLibunwind", cSettings: c, linkerSettings: [.linkedLibrary("unwind-x86_64"), .linkedLibrary("unwind")]),
  .target(
    name: "CrashUnwinder",
    dependencies: ["CrashUnwinding", "CrashSymbolBuilder", "CConfine", "CLibunwind", "CShimRing"],
    swiftSettings: swift),
  .executableTarget(
    name: "crash-analyse", dependencies: ["CrashSymbolBuilder", "CrashUnwinder"], swiftSettings: swift),
  .target(name: "CFetch", cSettings: c, linkerSettings: [.linkedLibrary("curl")]),
  .executableTarget(name: "crash-fetch", dependencies: ["CConfine", "CFetch"], swiftSettings: swift),

  // Every way to crash.
  .target(name: "CCrashMaker", cSettings: c),
  .target(name: "CXXCrashMaker", cxxSettings: cxx),
  .target(
    name: "CrashMaker", dependencies: ["CrashShield", "CCrashMaker", "CXXCrashMaker", "CShim"], swiftSettings: swift),
  .executableTarget(
    name: "dangling-maker", dependencies: ["CrashShield", "CrashShieldGuardPages"], swiftSettings: swift),
  .executableTarget(name: "crash-maker", dependencies: ["CrashMaker"], swiftSettings: swift),
  // What a queue of transitions is for, in a terminal.
  .executableTarget(name: "screens", dependencies: ["CrashShield"], swiftSettings: swift),

  .target(
    name: "CShimTestSupport", dependencies: ["CShim", "CShimRing"], path: "Tests/CShimTestSupport", cSettings: c),
  .testTarget(
    name: "CShimTests", dependencies: ["CShim", "CShimRing", "CShimTestSupport"], swiftSettings: swift),
  .testTarget(name: "CrashShieldTests", dependencies: ["CrashShield"], swiftSettings: swift),
  .testTarget(
    name: "GuardTests", dependencies: ["CrashShield", "CrashShieldFoundation", "screens"], swiftSettings: swift),
  .testTarget(name: "ImplicitTests", dependencies: ["CrashShield", "CrashShieldImplicit"], swiftSettings: swift),
  .target(
    name: "CQuarantineTestSupport", dependencies: ["CShimQuarantine"], path: "Tests/QuarantineTestSupport",
    cSettings: c),
  .testTarget(
    name: "QuarantineTests", dependencies: ["CrashShield", "CShimQuarantine", "CShimRing", "CQuarantineTestSupport"],
    swiftSettings: swift),
  .testTarget(
    name: "GuardPagesTests", dependencies: ["CrashShield", "CrashShieldGuardPages"], swiftSettings: swift),
  .testTarget(
    name: "CrashReportTests", dependencies: ["CrashReport"], exclude: ["read_minidump.py"],
    resources: [.copy("Golden")],
    swiftSettings: swift),
  .testTarget(
    name: "CrashRingTests", dependencies: ["CrashRing", "CShimRing", "CShim", "CrashShield"], swiftSettings: swift),
  .testTarget(name: "DanglingStatisticsTests", dependencies: ["DanglingStatistics"], swiftSettings: swift),
  .executableTarget(
    name: "ring-writer", dependencies: ["CShim", "CShimRing"], path: "Tests/RingWriter", cSettings: c),
  .testTarget(
    name: "CaptureTests",
    dependencies: ["CrashMaker", "CrashRing", "CrashReport", "CShimRing", "crash-maker", "ring-writer"],
    swiftSettings: swift),
  .executableTarget(name: "memory-host", dependencies: ["CShim"], path: "Tests/MemoryHost", cSettings: c),
  .executableTarget(name: "guard-host", dependencies: ["CrashShield"], path: "Tests/GuardHost", swiftSettings: swift),
  .executableTarget(name: "confine-probe", dependencies: ["CConfine"], path: "Tests/ConfineProbe", cSettings: c),
  .testTarget(
    name: "CrashSymbolsTests",
    dependencies: ["CrashSymbols", "CrashSymbolBuilder", "crash-maker", "confine-probe"],
    swiftSettings: swift),
  .testTarget(
    name: "CrashUnwinderTests", dependencies: ["CrashUnwinding", "CShimTestSupport", "CShimRing"],
    swiftSettings: swift),
  // crash-fetch is started by its path: what it links is not for the tests.
  .testTarget(name: "CrashFetchTests", swiftSettings: swift),
]

var dependencies: [Package.Dependency] = []

if !coreOnly {
  let log: Target.Dependency = .product(name: "Logging", package: "swift-log")
  let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
  let nio: [Target.Dependency] = [
    .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
  ]

  dependencies = [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ]
  products += [
    .executable(name: "crashd", targets: ["crashd"]),
    .executable(name: "crashctl", targets: ["crashctl"]),
    .executable(name: "DemoServer", targets: ["DemoServer"]),
    .executable(name: "crash-forward", targets: ["crash-forward"]),
    .library(name: "CrashClient", targets: ["CrashClient"]),
    .library(name: "CrashShieldLogging", targets: ["CrashShieldLogging"]),
    .library(name: "CrashShieldMetrics", targets: ["CrashShieldMetrics"]),
    .library(name: "CrashShieldLifecycle", targets: ["CrashShieldLifecycle"]),
  ]
  targets += [
    // In the host process, for servers that have these packages anyway.
    .target(name: "CrashShieldLogging", dependencies: ["CrashShield", log], swiftSettings: swift),
    .target(
      name: "CrashShieldMetrics", dependencies: ["CrashShield", .product(name: "Metrics", package: "swift-metrics")],
      swiftSettings: swift),
    .target(
      name: "CrashShieldLifecycle",
      dependencies: ["CrashShield", .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")],
      swiftSettings: swift),

    .target(
      name: "CrashStore",
      dependencies: ["CrashReport", .product(name: "GRDB", package: "GRDB.swift")],
      swiftSettings: swift),
    .target(name: "CrashScrubbing", swiftSettings: swift),
    .target(name: "CCrashDaemon", cSettings: c),
    .target(
      name: "CrashDaemon",
      dependencies: [
        "CCrashDaemon", "CShimRing", "CrashReport", "CrashRing", "CrashScrubbing", "CrashSymbols", "CrashUnwinding",
        "CrashStore",
        "DanglingStatistics", log,
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
        .product(name: "Yams", package: "Yams"),
      ] + nio,
      resources: [.embedInCode("Varlink/io.crashshield.Crashd.varlink")],
      swiftSettings: swift),
    .executableTarget(name: "crashd", dependencies: ["CrashDaemon", log, arguments], swiftSettings: swift),
    .target(name: "CrashClient", dependencies: ["CrashReport"], swiftSettings: swift),
    .target(name: "CCrashControl", cSettings: c),
    .target(
      name: "CrashControl",
      dependencies: ["CCrashControl", "CrashClient", "CrashReport", "CrashShield", "CrashSymbols"],
      swiftSettings: swift),
    .executableTarget(
      name: "crashctl", dependencies: ["CrashControl", "CrashClient", "CrashReport", arguments], swiftSettings: swift),
    // Sends reports on, by itself: crashd talks to no network.
    .target(name: "CSinks", cSettings: c, linkerSettings: [.linkedLibrary("curl")]),
    .target(
      name: "CrashSinks",
      dependencies: [
        "CSinks", "CrashClient", "CrashReport", "CrashScrubbing", .product(name: "Yams", package: "Yams"),
      ], swiftSettings: swift),
    .executableTarget(
      name: "crash-forward", dependencies: ["CrashClient", "CrashSinks", arguments], swiftSettings: swift),
    .target(name: "CDemoInventory", cSettings: c),
    .executableTarget(
      name: "DemoServer",
      dependencies: [
        "CrashShield", "CrashShieldLogging", "CDemoInventory", .product(name: "NIOHTTP1", package: "swift-nio"), log,
      ] + nio,
      swiftSettings: swift),

    .testTarget(
      name: "IntegrationTests",
      dependencies: [
        "CrashShield", "CrashShieldLogging", "CrashShieldMetrics", "CrashShieldLifecycle", log,
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
      ],
      swiftSettings: swift),
    .testTarget(
      name: "CrashStoreTests", dependencies: ["CrashStore", .product(name: "GRDB", package: "GRDB.swift")],
      swiftSettings: swift),
    .target(name: "CDaemonTestSupport", path: "Tests/CDaemonTestSupport", cSettings: c),
    .testTarget(
      name: "CrashDaemonTests",
      dependencies: [
        "CCrashDaemon", "CDaemonTestSupport", "CrashDaemon", "CrashShield", "CrashScrubbing", "CrashStore",
        "CrashRing", "CShimRing", "CShim",
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      exclude: ["varlink_reference_client.py"],
      swiftSettings: swift),
    .target(name: "FakeDaemon", path: "Tests/FakeDaemon", swiftSettings: swift),
    .testTarget(
      name: "CrashClientTests", dependencies: ["CrashClient", "CrashReport", "FakeDaemon"], swiftSettings: swift),
    .testTarget(
      name: "CrashSinksTests",
      dependencies: ["CrashClient", "CrashReport", "CrashScrubbing", "CrashSinks", "FakeDaemon"],
      swiftSettings: swift),
    .testTarget(
      name: "CrashControlTests",
      dependencies: [
        "CrashControl", "CrashClient", "CrashReport", "CrashShield", "FakeDaemon", "crashctl", "crashd", "crash-maker",
      ],
      swiftSettings: swift),
    .testTarget(
      name: "CrashTests",
      dependencies: [
        "CrashClient", "CrashMaker", "CrashReport", "crashd", "crashctl", "crash-maker", "dangling-maker", "guard-host",
        "memory-host", "DemoServer",
      ],
      swiftSettings: swift),
  ]
}

let package = Package(
  name: "swift-crash-shield",
  products: products,
  dependencies: dependencies,
  targets: targets,
  cLanguageStandard: .gnu17,
  cxxLanguageStandard: .cxx17
)
