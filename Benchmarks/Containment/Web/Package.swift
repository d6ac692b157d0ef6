// swift-tools-version: 6.2
// A Hummingbird server with paths whose requests trap. ../Traps/load.py runs this server.
import PackageDescription

let package = Package(
  name: "web-server",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "swift-crash-shield", path: "../../.."),
    .package(name: "crash-shield-integrations", path: "../../../Integrations", traits: ["Hummingbird", "Lifecycle"]),
    .package(name: "load-server", path: "../Traps"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .executableTarget(
      name: "web-server",
      dependencies: [
        .product(name: "CrashShield", package: "swift-crash-shield"),
        .product(name: "CrashShieldSockets", package: "swift-crash-shield"),
        .product(name: "CrashShieldServer", package: "crash-shield-integrations"),
        .product(name: "CrashShieldHummingbird", package: "crash-shield-integrations"),
        .product(name: "CrashShieldDrainService", package: "crash-shield-integrations"),
        .product(name: "LoadWork", package: "load-server"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      swiftSettings: [.treatAllWarnings(as: .error)])
  ]
)
