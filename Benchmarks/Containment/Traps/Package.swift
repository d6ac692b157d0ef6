// swift-tools-version: 6.2
// A server with paths whose requests trap. load.py runs this server.
import PackageDescription

let package = Package(
  name: "load-server",
  platforms: [.macOS(.v15)],
  products: [.library(name: "LoadWork", targets: ["LoadWork"])],
  dependencies: [
    .package(name: "swift-crash-shield", path: "../../.."),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
  ],
  targets: [
    .target(
      name: "LoadWork", dependencies: [.product(name: "CrashShield", package: "swift-crash-shield")],
      swiftSettings: [.treatAllWarnings(as: .error)]),
    .executableTarget(
      name: "load-server",
      dependencies: [
        "LoadWork",
        .product(name: "CrashShield", package: "swift-crash-shield"),
        .product(name: "CrashShieldSockets", package: "swift-crash-shield"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      swiftSettings: [.treatAllWarnings(as: .error)]),
  ]
)
