// swift-tools-version: 6.2
// Measures the cost of guards in a package that depends on swift-crash-shield. scripts/measure/guards runs it.
import PackageDescription

let package = Package(
  name: "guard-cost",
  dependencies: [.package(name: "swift-crash-shield", path: "../../..", traits: [])],
  targets: [
    .target(name: "Marks", path: "Marks"),
    .executableTarget(
      name: "guard-cost",
      dependencies: [
        "Marks",
        .product(name: "CrashShield", package: "swift-crash-shield"),
        .product(name: "CrashShieldFoundation", package: "swift-crash-shield"),
        .product(name: "CrashShieldGuards", package: "swift-crash-shield"),
      ],
      path: "Cost"),
  ]
)
