// swift-tools-version: 6.2
// A program that imports each library for servers, built as on a platform that the shield does not support. See
// scripts/check/unsupported.
import PackageDescription

let libraries = [
  "CrashShield", "CrashShieldGuards", "CrashShieldFoundation", "CrashShieldGuardPages", "CrashShieldImplicit",
  "CrashShieldImplicitFoundation", "CrashShieldCasts", "CrashShieldExecutorChecks", "CrashShieldLogging",
  "CrashShieldMetrics", "CrashShieldLifecycle", "CrashShieldSockets", "CrashReport",
]

let package = Package(
  name: "unsupported-host",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "swift-crash-shield", path: "../../.."),
    .package(url: "https://github.com/apple/swift-log", from: "1.0.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.0.0"),
  ],
  targets: [
    .executableTarget(
      name: "unsupported-host",
      dependencies: libraries.map { .product(name: $0, package: "swift-crash-shield") } + [
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      path: "Host")
  ]
)
