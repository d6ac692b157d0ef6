// swift-tools-version: 6.2
// Integrations of the shield with frameworks for servers. docs/frameworks.md describes each product.
//
// Each framework has a trait, so that a server fetches only its own framework (docs/decisions/0139). A build of this package
// itself needs all traits: swift build --enable-all-traits
import PackageDescription

// Swift 6.2 does not know the warning group ExplicitSendable, and rejects the setting.
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

/// A product of the shield's own package.
func shield(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-crash-shield") }

/// Products of other packages.
///
/// SwiftPM fetches these packages only if one of `traits` is enabled.
struct Products {
  let traits: Set<String>

  var hummingbird: Target.Dependency { product("Hummingbird", of: "hummingbird") }
  var hummingbirdCore: Target.Dependency { product("HummingbirdCore", of: "hummingbird") }
  var httpTypes: Target.Dependency { product("HTTPTypes", of: "swift-http-types") }
  var nioExtras: Target.Dependency { product("NIOExtras", of: "swift-nio-extras") }
  var grpc: Target.Dependency { product("GRPCCore", of: "grpc-swift-2") }
  var grpcNIO: Target.Dependency { product("GRPCNIOTransportHTTP2", of: "grpc-swift-nio-transport") }
  var instrumentation: Target.Dependency { product("Instrumentation", of: "swift-distributed-tracing") }
  var lifecycle: Target.Dependency { product("ServiceLifecycle", of: "swift-service-lifecycle") }
  var signals: Target.Dependency { product("UnixSignals", of: "swift-service-lifecycle") }
  var log: Target.Dependency { product("Logging", of: "swift-log") }

  func nio(_ names: String...) -> [Target.Dependency] { names.map { product($0, of: "swift-nio") } }

  private func product(_ name: String, of package: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: traits))
  }
}

let hummingbird = Products(traits: ["Hummingbird"])
let nio = Products(traits: ["NIO"])
let grpc = Products(traits: ["GRPC"])
let tracing = Products(traits: ["Tracing"])
let lifecycle = Products(traits: ["Lifecycle"])

let libraries: [Target] = [
  .target(name: "CrashShieldServer", dependencies: [shield("CrashShield")]),
  .target(
    name: "CrashShieldHummingbird",
    dependencies: [
      "CrashShieldServer", shield("CrashShield"), shield("CrashShieldSockets"), hummingbird.hummingbird,
      hummingbird.hummingbirdCore, hummingbird.httpTypes, hummingbird.lifecycle, hummingbird.log, hummingbird.nioExtras,
    ] + hummingbird.nio("NIOCore", "NIOHTTP1", "NIOPosix")),
  .target(
    name: "CrashShieldNIO",
    dependencies: ["CrashShieldServer", shield("CrashShield")] + nio.nio("NIOCore", "NIOHTTP1")),
  .target(name: "CrashShieldGRPC", dependencies: ["CrashShieldServer", shield("CrashShield"), grpc.grpc]),
  .target(
    name: "CrashShieldTracing", dependencies: ["CrashShieldServer", shield("CrashShield"), tracing.instrumentation]),
  .target(name: "CrashShieldDrainService", dependencies: ["CrashShieldServer", lifecycle.lifecycle]),
]

// Servers that the tests crash.
let examples: [Target] = [
  .target(name: "ExampleKit", path: "Examples/ExampleKit"),
  .executableTarget(
    name: "hummingbird-server",
    dependencies: [
      "ExampleKit", "CrashShieldHummingbird", "CrashShieldServer", "CrashShieldDrainService", shield("CrashShield"),
      shield("CrashShieldSockets"), hummingbird.hummingbird, hummingbird.lifecycle, hummingbird.signals,
      hummingbird.log,
    ] + hummingbird.nio("NIOCore"),
    path: "Examples/hummingbird-server"),
  .executableTarget(
    name: "nio-server",
    dependencies: [
      "ExampleKit", "CrashShieldNIO", "CrashShieldServer", shield("CrashShield"), shield("CrashShieldSockets"),
    ] + nio.nio("NIOCore", "NIOHTTP1", "NIOPosix"),
    path: "Examples/nio-server"),
  .executableTarget(
    name: "grpc-server",
    dependencies: [
      "ExampleKit", "CrashShieldGRPC", "CrashShieldServer", shield("CrashShield"), grpc.grpc, grpc.grpcNIO,
    ],
    path: "Examples/grpc-server"),
  .executableTarget(
    name: "traced-program",
    dependencies: ["ExampleKit", "CrashShieldTracing", shield("CrashShield"), tracing.instrumentation],
    path: "Examples/traced-program"),
]

let tests: [Target] = [
  .target(name: "IntegrationKit", dependencies: [shield("CrashReport")], path: "Tests/IntegrationKit"),
  .testTarget(
    name: "IntegrationTests",
    dependencies: [
      "IntegrationKit", "CrashShieldServer", "CrashShieldTracing", "CrashShieldDrainService", shield("CrashReport"),
      grpc.grpc, grpc.grpcNIO, lifecycle.lifecycle, lifecycle.log, tracing.instrumentation, "CrashShieldHummingbird",
      hummingbird.hummingbirdCore, "hummingbird-server", "nio-server", "grpc-server", "traced-program",
    ] + nio.nio("NIOCore", "NIOEmbedded"),
    path: "Tests/IntegrationTests"),
]

let targets = libraries + examples + tests
for target in targets { target.swiftSettings = swift }

let package = Package(
  name: "crash-shield-integrations",
  platforms: [.macOS(.v15)],
  products: libraries.map { .library(name: $0.name, targets: [$0.name]) },
  traits: [
    .trait(name: "Hummingbird", description: "CrashShieldHummingbird"),
    .trait(name: "NIO", description: "CrashShieldNIO"),
    .trait(name: "GRPC", description: "CrashShieldGRPC"),
    .trait(name: "Tracing", description: "CrashShieldTracing"),
    .trait(name: "Lifecycle", description: "CrashShieldDrainService"),
    .default(enabledTraits: []),
  ],
  dependencies: [
    .package(name: "swift-crash-shield", path: "..", traits: []),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: targets
)
