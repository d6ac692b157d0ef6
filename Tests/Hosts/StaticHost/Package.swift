// swift-tools-version: 6.2
// A program in another package. It is linked without dynamic libraries, not even libc. See scripts/check/static.
import PackageDescription

let package = Package(
  name: "static-host",
  dependencies: [.package(name: "swift-crash-shield", path: "../../..", traits: [])],
  targets: [
    .executableTarget(
      name: "static-host",
      dependencies: [.product(name: "CrashShield", package: "swift-crash-shield")],
      path: "Host")
  ]
)
