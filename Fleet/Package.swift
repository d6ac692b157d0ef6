// swift-tools-version: 6.2
// The package of the fleet service and of the crash pages. crash-fleet stores the crash reports of many machines
// (docs/fleet.md). crash-web shows the crashes of one machine in a browser (docs/web.md).
//
// The package is nested, so that a server that depends on the shield fetches neither Hummingbird nor the other packages
// of a service (docs/decisions/0147, 0148).
import PackageDescription

// Swift 6.2 does not know this warning group, and refuses its name.
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

func nio(_ names: String...) -> [Target.Dependency] { names.map { .product(name: $0, package: "swift-nio") } }

let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let log: Target.Dependency = .product(name: "Logging", package: "swift-log")
let mustache: Target.Dependency = .product(name: "Mustache", package: "swift-mustache")

// C libraries.
let wrappers: [Target] = [
  .target(name: "CPostgres", cSettings: c, linkerSettings: [.linkedLibrary("pq")]),
  .target(name: "CCompression", cSettings: c, linkerSettings: [.linkedLibrary("z"), .linkedLibrary("zstd")]),
]

let service: [Target] = [
  // The code of the shield's module CrashSettings, through a symbolic link. If the shield's package had a product for
  // it, servers that depend on the shield would fetch Yams.
  .target(
    name: "SettingsFiles",
    dependencies: [shield("CrashReport"), shield("CrashClient"), .product(name: "Yams", package: "Yams")]),
  // The database: connections, schema and ingest, without HTTP.
  .target(name: "FleetStore", dependencies: ["CPostgres", shield("CrashReport")] + nio("NIOPosix")),
  // The HTTP service, which receives the reports and counts of hosts.
  .target(
    name: "FleetServer",
    dependencies: [
      "CCompression", "FleetStore", hummingbird, hummingbirdCore, httpTypes, lifecycle, log,
      .product(name: "HummingbirdTLS", package: "hummingbird"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
      .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
    ] + nio("NIOCore")),
  // The pages of one tenant (a team whose hosts and crashes belong together), with data from the database.
  .target(
    name: "FleetPages", dependencies: ["CrashPages", "FleetStore", shield("CrashReport"), shield("CrashClient")]),
  .executableTarget(
    name: "crash-fleet",
    dependencies: [
      "CrashPages", "FleetPages", "FleetServer", "FleetStore", "SettingsFiles", shield("CrashClient"),
      shield("CrashReport"), log, arguments,
    ]),
]

let pages: [Target] = [
  // The views as HTML and JSON, and the routes. They read data through the Swift protocol `PageSource`: crash-web
  // implements it for crashd, and FleetPages for the fleet's database.
  .target(
    name: "CrashPages",
    dependencies: [shield("CrashReport"), shield("CrashClient"), hummingbird, httpTypes, lifecycle, log, mustache]
      + nio("NIOCore"),
    resources: [.embedInCode("Resources")]),
  // Shows the crashes of one machine, which it reads from crashd's socket.
  .executableTarget(
    name: "crash-web",
    dependencies: [
      "CrashPages", shield("CrashReport"), shield("CrashClient"), arguments,
    ] + nio("NIOPosix")),
]

let tests: [Target] = [
  .testTarget(
    name: "FleetTests",
    dependencies: [
      "CCompression", "CrashPages", "FleetPages", "FleetServer", "FleetStore", "crash-fleet", shield("CrashReport"),
      shield("CrashClient"),
    ]),
  // Shows the pages with strings that a hostile process chose, for tests and for a browser.
  .executableTarget(
    name: "pages-sample",
    dependencies: ["CrashPages", shield("CrashReport"), shield("CrashClient")], path: "Tests/PagesSample"),
  .testTarget(
    name: "PagesTests",
    dependencies: [
      "CrashPages", "crash-web", "pages-sample", shield("CrashReport"), shield("CrashClient"), hummingbird, httpTypes,
      .product(name: "HummingbirdTesting", package: "hummingbird"),
    ] + nio("NIOCore")),
]

for target in service + pages + tests { target.swiftSettings = swift }

let package = Package(
  name: "crash-shield-fleet",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "swift-crash-shield", path: "..", traits: []),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: wrappers + service + pages + tests,
  cLanguageStandard: .gnu17
)
