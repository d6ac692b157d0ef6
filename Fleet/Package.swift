// swift-tools-version: 6.2
// The fleet's service and the pages of one machine and of the fleet. docs/web.md describes the pages.
//
// The package is separate, so that a server that depends on the shield fetches neither Hummingbird nor swift-mustache
// (docs/decisions/0148).
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

/// A product of the shield's own package.
func shield(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-crash-shield") }

func nio(_ names: String...) -> [Target.Dependency] { names.map { .product(name: $0, package: "swift-nio") } }

let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let log: Target.Dependency = .product(name: "Logging", package: "swift-log")
let mustache: Target.Dependency = .product(name: "Mustache", package: "swift-mustache")

let pages: [Target] = [
  // The views, their JSON twins, and the routes, over a protocol that crashd and the fleet's store implement.
  .target(
    name: "CrashPages",
    dependencies: [shield("CrashReport"), shield("CrashClient"), hummingbird, httpTypes, mustache] + nio("NIOCore"),
    resources: [.embedInCode("Resources")]),
  // The pages of one machine, over crashd's socket.
  .executableTarget(
    name: "crash-web",
    dependencies: [
      "CrashPages", shield("CrashReport"), shield("CrashClient"), hummingbird, httpTypes, lifecycle, log, arguments,
    ] + nio("NIOCore", "NIOPosix")),
  .testTarget(
    name: "PagesTests",
    dependencies: [
      "CrashPages", "crash-web", shield("CrashReport"), shield("CrashClient"), hummingbird, httpTypes,
      .product(name: "HummingbirdTesting", package: "hummingbird"),
    ] + nio("NIOCore")),
]

let targets = pages
for target in targets where target.type != .system { target.swiftSettings = swift }

let package = Package(
  name: "crash-shield-fleet",
  platforms: [.macOS(.v15)],
  products: [.library(name: "CrashPages", targets: ["CrashPages"])],
  dependencies: [
    .package(name: "swift-crash-shield", path: "..", traits: []),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: targets
)
