// swift-tools-version: 6.2
// The benchmarks are a separate package, so that dependents of the library do not build them.
import PackageDescription

let package = Package(
  name: "crash-shield-benchmarks",
  dependencies: [.package(name: "swift-crash-shield", path: "..")],
  targets: [
    .executableTarget(
      name: "crash-bench",
      dependencies: [
        .product(name: "CrashShield", package: "swift-crash-shield"),
        .product(name: "CrashClient", package: "swift-crash-shield"),
        .product(name: "CrashReport", package: "swift-crash-shield"),
      ],
      swiftSettings: [.treatAllWarnings(as: .error)])
  ]
)
