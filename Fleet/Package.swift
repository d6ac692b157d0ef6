// swift-tools-version: 6.2
// The fleet: one service that stores the crash reports of many machines. docs/fleet.md describes it.
//
// The package is nested, so that a server that depends on the shield fetches neither Hummingbird nor swift-nio-ssl
// (docs/decisions/0147).
import PackageDescription

// Swift 6.2 refuses this warning group, which it does not implement.
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

/// A product of the shield's own package.
func shield(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-crash-shield") }

let log: Target.Dependency = .product(name: "Logging", package: "swift-log")
func nio(_ name: String) -> [Target.Dependency] { [.product(name: name, package: "swift-nio")] }
let hummingbird: [Target.Dependency] = [
  .product(name: "Hummingbird", package: "hummingbird"), .product(name: "HummingbirdCore", package: "hummingbird"),
  .product(name: "HTTPTypes", package: "swift-http-types"),
]

// C libraries.
let wrappers: [Target] = [
  .target(name: "CPostgres", cSettings: c, linkerSettings: [.linkedLibrary("pq")]),
  .target(name: "CInflate", cSettings: c, linkerSettings: [.linkedLibrary("z")]),
]

let service: [Target] = [
  // The database: connections, schema and ingest, without HTTP.
  .target(
    name: "FleetStore",
    dependencies: ["CPostgres", .product(name: "NIOPosix", package: "swift-nio"), shield("CrashReport")]),
  // The requests of hosts.
  .target(
    name: "FleetServer",
    dependencies: [
      "CInflate", "FleetStore", log, .product(name: "HummingbirdTLS", package: "hummingbird"),
      .product(name: "NIOSSL", package: "swift-nio-ssl"), .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
      .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
    ] + hummingbird + nio("NIOCore")),
  .executableTarget(
    name: "crash-fleet",
    dependencies: [
      "FleetServer", "FleetStore", shield("CrashClient"), shield("CrashReport"), shield("CrashSettings"), log,
      .product(name: "ArgumentParser", package: "swift-argument-parser"),
    ]),
]

let tests: [Target] = [
  .testTarget(
    name: "FleetTests", dependencies: ["CInflate", "FleetServer", "FleetStore", "crash-fleet", shield("CrashReport")])
]

for target in service + tests { target.swiftSettings = swift }

let package = Package(
  name: "crash-fleet",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "swift-crash-shield", path: "..", traits: []),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.36.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: wrappers + service + tests,
  cLanguageStandard: .gnu17
)
