// swift-tools-version: 6.2
// The targets of swift-crash-shield; docs/ARCHITECTURE.md describes each target. Dependencies have no cycle.
import PackageDescription

/// With CRASHSHIELD_CORE=1 this package has only the targets without package dependencies.
///
/// These targets build quickly, and run under the sanitizers. Set this variable only to build this package itself
/// (docs/decisions/0126).
let coreOnly = Context.environment["CRASHSHIELD_CORE"] != nil

/// The commit that `--version` prints; `make release` sets CRASHSHIELD_COMMIT.
///
/// `Context.gitInformation` is no alternative: SwiftPM caches its value with the manifest, so later builds would print
/// the first commit (docs/decisions/0132).
let commit = String((Context.environment["CRASHSHIELD_COMMIT"] ?? "").filter(\.isHexDigit).prefix(8))

// Swift 6.2 does not have this warning group, and refuses it.
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

/// Settings for code that runs in a signal handler: the compiler checks that its calls are signal-safe and its frames
/// are small.
let signalSafeC: [CSetting] =
  c + [.enableWarning("function-effects"), .enableWarning("frame-larger-than=2048")]

/// The libraries without package dependencies that other packages can import.
///
/// README.md has a sentence for each library. Executables need no product, because SwiftPM builds an executable target
/// by its name.
var products: [Product] = [
  .library(name: "CrashShield", targets: ["CrashShield"]),
  .library(name: "CrashShieldGuards", targets: ["CrashShieldGuards"]),
  .library(name: "CrashShieldFoundation", targets: ["CrashShieldFoundation"]),
  .library(name: "CrashShieldGuardPages", targets: ["CrashShieldGuardPages"]),
  .library(name: "CrashShieldSockets", targets: ["CrashShieldSockets"]),
  .library(name: "CrashReport", targets: ["CrashReport"]),
  // Advanced: to import or link one of these libraries changes the behavior of the program. The libraries for
  // Foundation's types are separate products.
  .library(name: "CrashShieldImplicit", targets: ["CrashShieldImplicit"]),
  .library(name: "CrashShieldImplicitFoundation", targets: ["CrashShieldImplicitFoundation"]),
  .library(name: "CrashShieldCasts", targets: ["CrashShieldCasts"]),
  .library(name: "CrashShieldExecutorChecks", targets: ["CrashShieldExecutorChecks"]),
]

var dependencies: [Package.Dependency] = []

/// Sets the path of each target: the folder, followed by the target's name.
func house(_ folder: String, _ targets: [Target]) -> [Target] {
  for target in targets where target.path == nil { target.path = "\(folder)/\(target.name)" }
  return targets
}

// C in the host process. The compiler checks that handlers call only signal-safe functions.
var targets: [Target] = house(
  "CShim",
  [
    .target(name: "CShimRing", path: "CShim/Ring", cSettings: signalSafeC),
    .target(name: "CShim", dependencies: ["CShimRing"], path: "CShim/Handler", cSettings: signalSafeC),
    .target(name: "CShimQuarantine", dependencies: ["CShimRing"], path: "CShim/Quarantine", cSettings: signalSafeC),
    // Linking this target replaces the runtime's forced casts in the whole program.
    .target(name: "CShimCasts", dependencies: ["CShimRing"], path: "CShim/Casts"),
    // Linking this target replaces malloc in the whole program.
    .target(
      name: "CShimGuardPages", dependencies: ["CShim", "CShimRing"], path: "CShim/GuardPages", cSettings: signalSafeC),
    // Linking this target hooks the executor checks of the whole program.
    .target(
      name: "CShimExecutorChecks", dependencies: ["CShimQuarantine", "CShimRing"], path: "CShim/ExecutorChecks"),
  ])

// Libraries for servers.
targets += house(
  "Sources/Shield",
  [
    .target(name: "CrashShield", dependencies: ["CShim", "CShimQuarantine", "CShimRing"]),
    .target(
      name: "CrashShieldGuards", dependencies: ["CrashShield", "CShim", "CShimQuarantine", "CShimRing"]),
    .target(name: "CrashShieldFoundation", dependencies: ["CrashShield", "CrashShieldGuards", "CShim"]),
    // This target has no dependencies, because a server can use it without the shield.
    .target(name: "CrashShieldSockets"),
    // A file that imports it gets guarded range subscripts, operators and preconditions instead of the plain ones,
    // which CrashShieldPlain has.
    .target(name: "CrashShieldPlain"),
    .target(
      name: "CrashShieldImplicit",
      dependencies: ["CrashShieldPlain", "CrashShield", "CrashShieldGuards", "CShimQuarantine"]),
    // The same for Foundation's types. A file imports this target instead of Foundation.
    .target(
      name: "CrashShieldImplicitFoundation",
      dependencies: ["CrashShieldImplicit", "CrashShield", "CrashShieldGuards", "CShimQuarantine"]),
    .target(name: "CrashShieldCasts", dependencies: ["CShimCasts", "CrashShield", "CrashShieldGuards"]),
    .target(name: "CrashShieldGuardPages", dependencies: ["CShimGuardPages", "CShimRing", "CrashShield"]),
    .target(
      name: "CrashShieldExecutorChecks", dependencies: ["CShimExecutorChecks", "CrashShield", "CrashShieldGuards"]),
  ])

// Code that several programs outside the host process share.
targets += house(
  "Sources/Support",
  [
    .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
    .target(name: "CLinux"),
    .target(name: "LinuxSystem", dependencies: ["CLinux"]),
    // Only executables depend on this target, so that a new commit recompiles no library.
    .target(name: "CBuildCommit", cSettings: c + [.define("CRASHSHIELD_COMMIT", to: "\"\(commit)\"")]),
  ])

targets += house(
  "Sources/Report",
  [
    .target(name: "CrashReport"),
    // The messages that crashd and its clients exchange.
    .target(name: "CrashProtocol", dependencies: ["CrashReport"]),
  ])

// crashd, without package dependencies.
targets += house(
  "Sources/Daemon",
  [
    .target(name: "CrashRing", dependencies: ["CShimRing", "CrashReport"]),
    .target(name: "CrashSymbols", dependencies: ["CrashReport"]),
    .target(name: "DanglingStatistics"),
  ])

// Programs that read untrusted images and server replies in a sandbox.
targets += house(
  "Sources/Helpers",
  [
    // Sandboxes a process. It is a separate target, because linking it replaces fstat() in the whole program.
    .target(name: "CConfine"),
    .target(name: "CLibdw", linkerSettings: [.linkedLibrary("dw"), .linkedLibrary("elf")]),
    .target(name: "CrashSymbolBuilder", dependencies: ["CrashSymbols", "CConfine", "CLibdw"]),
    // libunwind-generic is a link to the library that unwinds other processes on this machine's architecture, such as
    // libunwind-x86_64. That library needs parts of libunwind.
    .target(
      name: "CLibunwind",
      linkerSettings: [
        .linkedLibrary("unwind-generic"), .linkedLibrary("unwind"), .linkedLibrary("dw"), .linkedLibrary("elf"),
      ]),
    // The unwinder is part of the executable, and not of a library. Tests would link such a library, and libunwind
    // would then replace libgcc's unwinder in them.
    .executableTarget(
      name: "crash-analyse",
      dependencies: ["CrashSymbolBuilder", "CrashSymbols", "CConfine", "CLibunwind", "CShimRing"]),
    .executableTarget(name: "crash-fetch", dependencies: ["CConfine", "CCurl"], cSettings: c),
  ])

// Programs that crash on purpose, for demonstrations and tests.
targets += house(
  "Sources/Examples",
  [
    // C and C++.
    .target(name: "CCrashMaker"),
    .target(name: "CrashMaker", dependencies: ["CrashShield", "CCrashMaker", "CShim"]),
    .executableTarget(name: "crash-maker", dependencies: ["CrashMaker"]),
    .executableTarget(
      name: "dangling-maker", dependencies: ["CrashShield", "CrashShieldGuardPages", "CrashShieldGuards"]),
    // An example for a terminal: a queue that performs the transitions between screens in order.
    .executableTarget(name: "screens", dependencies: ["CrashShield", "CrashShieldGuards"]),
  ])

// Host programs that tests spawn. They link libraries that the test bundle must not link.
targets += house(
  "Tests/Hosts",
  [
    .executableTarget(
      name: "casts-host", dependencies: ["TestKit", "CrashShield", "CrashShieldCasts", "CrashShieldGuards"],
      path: "Tests/Hosts/CastsHost"),
    .executableTarget(
      name: "executor-host",
      dependencies: ["CTestKit", "CrashShieldExecutorChecks", "CrashShield", "CrashShieldGuards"],
      path: "Tests/Hosts/ExecutorHost"),
    .executableTarget(
      name: "shim-host", dependencies: ["CShim", "CShimRing"], path: "Tests/Hosts/ShimHost", cSettings: c),
    .executableTarget(
      name: "guard-host", dependencies: ["CrashShield", "CrashShieldGuards"], path: "Tests/Hosts/GuardHost"),
    .executableTarget(
      name: "containment-host", dependencies: ["CTestKit", "CrashShield", "CrashShieldGuards"],
      path: "Tests/Hosts/ContainmentHost"),
    .executableTarget(
      name: "confine-probe", dependencies: ["CConfine"], path: "Tests/Hosts/ConfineProbe", cSettings: c),
  ])

targets += house(
  "Tests/Kit",
  [
    .target(name: "CTestKit", dependencies: ["CShim", "CShimQuarantine", "CShimRing"]),
    .target(name: "TestKit", dependencies: ["CShimRing", "CrashReport", "CrashShieldGuards", "LinuxSystem"]),
  ])

targets += house(
  "Tests/Unit",
  [
    // The tests of casts and of executor checks spawn hosts, because linking these targets changes the whole program.
    .testTarget(
      name: "GuardTests",
      dependencies: [
        "CShim", "CrashShield", "CrashShieldFoundation", "CrashShieldGuardPages", "CrashShieldGuards",
        "CrashShieldImplicit", "TestKit", "screens",
      ]),
    .testTarget(
      name: "CrashShieldTests",
      dependencies: [
        "CrashShield", "CrashShieldGuards", "CrashShieldSockets", "CShimQuarantine", "CShimRing", "CTestKit",
        "LinuxSystem",
      ],
      exclude: coreOnly ? ["Integrations"] : []),
    // Pure functions of values.
    .testTarget(
      name: "ModelTests", dependencies: ["CrashProtocol", "CrashReport", "DanglingStatistics", "TestKit"],
      exclude: ["Report/read_minidump.py"], resources: [.copy("Report/Golden")]),
    // Tests the path from a fault to its record in the ring.
    .testTarget(
      name: "CaptureTests",
      dependencies: [
        "CrashMaker", "CrashReport", "CrashRing", "CrashShield", "CrashShieldGuards", "CShim", "CShimRing", "CTestKit",
        "TestKit", "crash-maker", "shim-host",
      ], exclude: ["Ring/Recorded"]),
    // Tests crash-analyse and crash-fetch, and their shared code.
    .testTarget(
      name: "HelperTests",
      dependencies: [
        "CrashSymbols", "CrashSymbolBuilder", "CShimRing", "CTestKit", "TestKit", "crash-maker", "confine-probe",
      ]),
  ])

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
    .library(name: "CrashClient", targets: ["CrashClient", "CrashProtocol", "LinuxSystem"]),
    .library(name: "CrashShieldLogging", targets: ["CrashShieldLogging"]),
    .library(name: "CrashShieldMetrics", targets: ["CrashShieldMetrics"]),
    .library(name: "CrashShieldLifecycle", targets: ["CrashShieldLifecycle"]),
  ]

  // For servers that use these packages. Without the trait `Integrations`, SwiftPM fetches none of them.
  let integrations: TargetDependencyCondition? = .when(traits: ["Integrations"])
  targets += house(
    "Sources/Shield",
    [
      .target(
        name: "CrashShieldLogging",
        dependencies: [
          "CrashShield", "CrashShieldGuards", .product(name: "Logging", package: "swift-log", condition: integrations),
        ]),
      .target(
        name: "CrashShieldMetrics",
        dependencies: [
          "CrashShield", "CrashShieldGuards",
          .product(name: "Metrics", package: "swift-metrics", condition: integrations),
        ]),
      .target(
        name: "CrashShieldLifecycle",
        dependencies: [
          "CrashShield", "CrashShieldMetrics",
          .product(name: "Logging", package: "swift-log", condition: integrations),
          .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: integrations),
        ]),
    ])
  targets.first { $0.name == "CrashShieldTests" }?.dependencies += [
    "CrashShieldLogging", "CrashShieldMetrics", "CrashShieldLifecycle", log,
    .product(name: "MetricsTestKit", package: "swift-metrics"),
    .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
    .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
  ]

  targets += house(
    "Sources/Support",
    [
      .target(
        name: "CrashSettings",
        dependencies: ["CrashReport", "LinuxSystem", .product(name: "Yams", package: "Yams")])
    ])

  targets += house(
    "Sources/Daemon",
    [
      .target(
        name: "CrashStore",
        dependencies: ["CrashProtocol", "CrashReport", "LinuxSystem", .product(name: "GRDB", package: "GRDB.swift")]),
      .target(
        name: "CrashDaemon",
        dependencies: [
          "CLinux", "CShimRing", "CrashProtocol", "CrashReport", "CrashRing", "CrashSettings", "CrashStore",
          "CrashSymbols", "DanglingStatistics", "LinuxSystem", log,
          .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
          .product(name: "UnixSignals", package: "swift-service-lifecycle"),
          .product(name: "NIOHTTP1", package: "swift-nio"),
        ] + nio,
        resources: [.embedInCode("Varlink/io.crashshield.Crashd.varlink")]),
      .executableTarget(
        name: "crashd",
        dependencies: [
          "CBuildCommit", "CrashDaemon", "CrashProtocol", "CrashSettings", "LinuxSystem", log, arguments,
        ]),
    ])

  targets += house(
    "Sources/Tools",
    [
      .target(name: "CrashClient", dependencies: ["CrashProtocol", "CrashReport", "LinuxSystem"]),
      .target(
        name: "CrashControl",
        dependencies: [
          "CLinux", "CrashClient", "CrashProtocol", "CrashReport", "CrashRing", "CrashShield", "CrashShieldGuards",
          "CrashSymbols", "LinuxSystem",
        ]),
      .executableTarget(
        name: "crashctl",
        dependencies: [
          "CBuildCommit", "CrashControl", "CrashClient", "CrashProtocol", "CrashReport", "LinuxSystem",
          arguments,
        ]),
      // Forwards reports in a separate process, because crashd has no network access.
      .executableTarget(
        name: "crash-forward",
        dependencies: [
          "CBuildCommit", "CCurl", "CLinux", "CrashClient", "CrashProtocol", "CrashReport", "CrashSettings",
          "LinuxSystem", arguments,
        ]),
    ])

  targets += house(
    "Sources/Examples",
    [
      .target(name: "CDemoInventory"),
      .executableTarget(
        name: "DemoServer",
        dependencies: [
          "CrashShield", "CrashShieldGuards", "CrashShieldLogging", "CrashShieldSockets", "CDemoInventory",
          .product(name: "NIOHTTP1", package: "swift-nio"), log,
        ] + nio),
    ])

  targets += house(
    "Tests/Unit",
    [
      .testTarget(
        name: "CrashDaemonTests",
        dependencies: [
          "CLinux", "CTestKit", "TestKit", "CrashDaemon", "CrashProtocol", "CrashSettings", "LinuxSystem",
          "CrashShield",
          "CrashShieldGuards", "CrashStore",
          "CrashRing", "CShimRing", "CShim",
          .product(name: "GRDB", package: "GRDB.swift"),
        ],
        exclude: ["Varlink/varlink_reference_client.py"]),
      .testTarget(
        name: "ToolTests",
        dependencies: [
          "CrashClient", "CrashControl", "CrashProtocol", "CrashReport", "CrashShield", "CrashShieldGuards",
          "CrashSettings", "LinuxSystem", "TestKit",
          "crash-forward", "crashctl", "crashd", "crash-maker",
        ]),
    ])

  targets += house(
    "Tests/EndToEnd",
    [
      .testTarget(
        name: "CrashTests",
        dependencies: [
          "CrashClient", "CrashMaker", "CrashProtocol", "CrashReport", "LinuxSystem", "TestKit", "crashd", "crashctl",
          "crash-maker",
          "dangling-maker",
          "guard-host",
          "containment-host", "shim-host", "DemoServer",
        ])
    ])
}

// A target whose name begins with C and another capital letter is a C target. Other C targets set their own settings.
for target in targets where target.cSettings == nil {
  if target.type != .test, target.name.prefix(2).allSatisfy(\.isUppercase) {
    target.cSettings = c
    target.cxxSettings = cxx
  } else {
    target.swiftSettings = swift
  }
}

let package = Package(
  name: "swift-crash-shield",
  // On this platform, the libraries for servers build, and do nothing (docs/decisions/0134).
  platforms: [.macOS(.v15)],
  products: products,
  traits: [
    .trait(
      name: "Integrations",
      description: "CrashShieldLogging, CrashShieldMetrics and CrashShieldLifecycle, and the packages they need"),
    .default(enabledTraits: ["Integrations"]),
  ],
  dependencies: dependencies,
  targets: targets,
  cLanguageStandard: .gnu17,
  cxxLanguageStandard: .cxx17
)
