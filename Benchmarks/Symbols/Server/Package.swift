// swift-tools-version: 6.2
// A large real server for measuring symbolication: Hummingbird and AsyncHTTPClient, with all their dependencies.
import PackageDescription

let package = Package(
  name: "large-server",
  dependencies: [
    .package(name: "swift-crash-shield", path: "../../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
  ],
  targets: [
    .executableTarget(
      name: "large-server",
      dependencies: [
        .product(name: "CrashShield", package: "swift-crash-shield"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
      ])
  ]
)
