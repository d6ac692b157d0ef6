// swift-tools-version: 6.2
// Servers built with Hummingbird and with grpc-swift-2, whose requests trap on demand. ../Traps/load.py runs them.
import PackageDescription

let package = Package(
  name: "web-servers",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "swift-crash-shield", path: "../../.."),
    .package(
      name: "crash-shield-integrations", path: "../../../Integrations", traits: ["Hummingbird", "GRPC", "Lifecycle"]),
    .package(name: "load-server", path: "../Traps"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
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
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "HummingbirdHTTP2", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      swiftSettings: [.treatAllWarnings(as: .error)]),
    .executableTarget(
      name: "rpc-server",
      dependencies: [
        .product(name: "CrashShield", package: "swift-crash-shield"),
        .product(name: "CrashShieldSockets", package: "swift-crash-shield"),
        .product(name: "CrashShieldServer", package: "crash-shield-integrations"),
        .product(name: "CrashShieldGRPC", package: "crash-shield-integrations"),
        .product(name: "LoadWork", package: "load-server"),
        .product(name: "GRPCCore", package: "grpc-swift-2"),
        .product(name: "GRPCNIOTransportHTTP2", package: "grpc-swift-nio-transport"),
        .product(name: "NIOCore", package: "swift-nio"),
      ],
      swiftSettings: [.treatAllWarnings(as: .error)]),
  ]
)
