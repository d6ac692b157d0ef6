// swift-tools-version: 6.2
// Measures the throughput of a Hummingbird server in each mode of containment (what a trap in a request ends). This is
// a separate package, so that packages that depend on the library do not build Hummingbird.
import PackageDescription

let package = Package(
  name: "containment-cost",
  dependencies: [
    .package(name: "swift-crash-shield", path: "../..", traits: []),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
  ],
  targets: [
    .executableTarget(
      name: "containment-server",
      dependencies: [
        .product(name: "CrashShield", package: "swift-crash-shield"),
        .product(name: "Hummingbird", package: "hummingbird"),
      ],
      path: "Server"),
    // Sends requests in a closed loop to one server after the other.
    .executableTarget(name: "containment-load", path: "Load", cSettings: [.define("_GNU_SOURCE")]),
  ]
)
