// swift-tools-version: 6.2
// Measures the cost of a request. This is a separate package, so that packages that depend on the library do not build
// this benchmark.
import PackageDescription

let package = Package(
  name: "request-cost",
  dependencies: [.package(name: "swift-crash-shield", path: "../../..", traits: [])],
  targets: [
    .target(name: "Allocations", path: "Allocations"),
    .executableTarget(
      name: "request-cost",
      dependencies: ["Allocations", .product(name: "CrashShield", package: "swift-crash-shield")], path: "Cost"),
  ]
)
