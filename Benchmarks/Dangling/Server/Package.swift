// swift-tools-version: 6.2
// A server whose classes can be protected. ../server.py runs it.
import PackageDescription

let package = Package(
  name: "dangling-server",
  dependencies: [
    .package(name: "swift-crash-shield", path: "../../.."),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
  ],
  targets: [
    .executableTarget(
      name: "dangling-server",
      dependencies: [
        .product(name: "CrashShield", package: "swift-crash-shield"),
        .product(name: "CrashShieldGuards", package: "swift-crash-shield"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      swiftSettings: [.treatAllWarnings(as: .error)])
  ]
)
