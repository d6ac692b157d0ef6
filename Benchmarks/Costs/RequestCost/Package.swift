// swift-tools-version: 6.2
// Counts what a request costs. A separate package, so that dependents of the library do not build it.
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
