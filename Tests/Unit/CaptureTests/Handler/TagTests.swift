import CShim
import CShimRing
import CTestKit
import CrashReport
import CrashRing
import CrashShield
import Glibc
import Testing

/// Reads the ring of this process, in which the shield has started.
private func contents() throws -> RingContents {
  // Invariant: the shield's own mapping is a complete ring, and stays mapped until the process ends.
  try unsafe RingReader(
    bytes: UnsafeRawBufferPointer(start: cs_testing_ring(), count: MemoryLayout<cs_ring>.size)
  ).contents()
}

private func start(name: String? = nil, release: String? = nil, environment: String? = nil) -> Bool {
  Shield.start(
    name: name, release: release, environment: environment,
    configuration: .init(socket: "/dev/null/attach", spool: "/dev/null/spool")
  ).isStarted
}

@Suite("Release, environment, user and tags")
struct TagTests {
  @Test("variables of the environment take precedence over name, release and environment in the code")
  func environment() async {
    await #expect(processExitsWith: .exitCode(42)) {
      // Invariant: no other thread runs in this process yet. Therefore the environment can be changed.
      unsafe setenv("CRASHSHIELD_NAME", "vault", 1)
      unsafe setenv("CRASHSHIELD_RELEASE", "vault@2", 1)
      unsafe setenv("CRASHSHIELD_ENVIRONMENT", "staging", 1)
      guard start(name: "shop", release: "shop@1", environment: "production") else { exit(1) }
      guard !Shield.setTag("release", to: "later"), !Shield.setTag("environment", to: "") else { exit(2) }
      guard Shield.setTag("region", to: "eu") else { exit(3) }
      let ring = try contents()
      #expect(ring.identity.name == "vault")
      #expect(ring.annotations == ["release": "vault@2", "environment": "staging", "region": "eu"])
      exit(42)
    }
  }

  @Test("without environment variables, or with empty ones, the values in the code apply, and can change")
  func code() async {
    await #expect(processExitsWith: .exitCode(42)) {
      // Invariant: no other thread runs in this process yet. Therefore the environment can be changed.
      unsafe setenv("CRASHSHIELD_RELEASE", "", 1)
      guard start(name: "shop", release: "shop@1", environment: "production") else { exit(1) }
      guard Shield.setTag("release", to: "shop@2"), Shield.setUser(id: "u-17") else { exit(2) }
      let named = try contents()
      #expect(named.annotations == ["release": "shop@2", "environment": "production", "user": "u-17"])
      #expect(named.identity.name == "shop")
      Shield.setUser(id: nil)
      let unnamed = try contents()
      #expect(unnamed.annotations["user"] == nil)
      exit(42)
    }
  }

  @Test("the names of the pod, its namespace, its node and the container come from the environment, and cannot change")
  func pod() async {
    await #expect(processExitsWith: .exitCode(42)) {
      // Invariant: no other thread runs in this process yet. Therefore the environment can be changed.
      unsafe setenv("CRASHSHIELD_POD", "shop-7c5", 1)
      unsafe setenv("CRASHSHIELD_NAMESPACE", "production", 1)
      unsafe setenv("CRASHSHIELD_NODE", "node-2", 1)
      unsafe setenv("CRASHSHIELD_CONTAINER", "web", 1)
      unsafe setenv("CRASHSHIELD_RELEASE", "shop@1", 1)
      unsafe setenv("CRASHSHIELD_ENVIRONMENT", "staging", 1)
      unsafe setenv("HOSTNAME", "other", 1)
      unsafe setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1)
      guard start() else { exit(1) }
      for key in ["pod", "namespace", "node", "container"] {
        guard !Shield.setTag("k8s.\(key).name", to: "x") else { exit(2) }
      }
      let wanted = [
        "k8s.pod.name": "shop-7c5", "k8s.namespace.name": "production", "k8s.node.name": "node-2",
        "k8s.container.name": "web", "release": "shop@1", "environment": "staging",
      ]
      let ring = try contents()
      #expect(ring.annotations == wanted)
      let first = try unsafe RingReader(
        bytes: UnsafeRawBufferPointer(start: cs_testing_ring(), count: MemoryLayout<cs_ring>.size)
      ).firstAnnotations()
      #expect(first == wanted)
      exit(42)
    }
  }

  @Test("in Kubernetes, the host name is used as the pod's name if no variable contains the name; elsewhere it is not")
  func hostname() async {
    await #expect(processExitsWith: .exitCode(42)) {
      unsafe setenv("HOSTNAME", "shop-7c5", 1)
      unsafe setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1)
      guard start() else { exit(1) }
      let ring = try contents()
      #expect(ring.annotations == ["k8s.pod.name": "shop-7c5"])
      exit(42)
    }
    await #expect(processExitsWith: .exitCode(42)) {
      unsafe setenv("HOSTNAME", "web-3", 1)
      unsafe unsetenv("KUBERNETES_SERVICE_HOST")
      guard start() else { exit(1) }
      let ring = try contents()
      #expect(ring.annotations.isEmpty)
      exit(42)
    }
  }

  @Test("the tags of a configuration become the tags of the process")
  func configuration() async {
    await #expect(processExitsWith: .exitCode(42)) {
      let configuration = Shield.Configuration(
        socket: "/dev/null/attach", spool: "/dev/null/spool", release: "shop@1", environment: "production",
        tags: ["region": "eu", "release": "ignored"])
      unsafe setenv("CRASHSHIELD_ENVIRONMENT", "staging", 1)
      try Shield.startOrThrow(configuration)
      let ring = try contents()
      #expect(ring.annotations == ["region": "eu", "environment": "staging", "release": "shop@1"])
      exit(42)
    }
  }
}

@Suite("Breadcrumbs with level, category and metadata")
struct BreadcrumbTests {
  @Test("a breadcrumb's level, category and metadata arrive in the ring")
  func parts() async {
    await #expect(processExitsWith: .exitCode(42)) {
      guard start() else { exit(1) }
      Shield.addBreadcrumb("GET /cart", level: .warning, category: "shop", metadata: ["b": "", "a": "Zürich", "": "x"])
      Shield.addBreadcrumb("plain")
      let crumbs = try contents().breadcrumbs
      #expect(crumbs.map(\.text) == ["GET /cart", "plain"])
      #expect(crumbs.map(\.level) == [.warning, nil])
      #expect(crumbs.map(\.category) == ["shop", ""])
      #expect(crumbs.map(\.metadata) == [["a": "Zürich", "b": ""], [:]])
      exit(42)
    }
  }

  @Test("each level of the library appears in the report under the same name")
  func levels() async {
    await #expect(processExitsWith: .exitCode(42)) {
      guard start() else { exit(1) }
      for level in Shield.Level.allCases { Shield.addBreadcrumb("x", level: level) }
      let crumbs = try contents().breadcrumbs
      #expect(crumbs.map { $0.level?.rawValue } == Shield.Level.allCases.map { "\($0)" })
      exit(42)
    }
  }

  @Test("a long message leaves room for metadata, and only a pair that does not fit completely is dropped")
  func long() async {
    await #expect(processExitsWith: .exitCode(42)) {
      guard start() else { exit(1) }
      let long = String(repeating: "é", count: 1_000)
      Shield.addBreadcrumb(
        long, category: long,
        metadata: ["a": "7F3A", "b": long, "c": String(repeating: "x", count: 200), "d": "after dropped ones"])
      Shield.addBreadcrumb(long)
      Shield.addBreadcrumb("short", metadata: ["key": String(repeating: "x", count: 214)])
      let crumbs = try contents().breadcrumbs
      #expect(crumbs[0].metadata == ["a": "7F3A", "d": "after dropped ones"])
      #expect(crumbs[0].category == String(repeating: "é", count: 32))
      // Of the entry's 224 bytes, the category has 64, and the two pairs with their NULs have 7 and 21. The remaining
      // 132 bytes have room for 66 characters of the message.
      #expect(crumbs[0].text == String(repeating: "é", count: 66))
      #expect(crumbs[1].text == String(repeating: "é", count: 112))
      #expect(crumbs[2].text == "short" && crumbs[2].metadata["key"]?.utf8.count == 214)
      exit(42)
    }
  }

  @Test("a NUL in a breadcrumb's metadata does not end the value early")
  func nul() async {
    await #expect(processExitsWith: .exitCode(42)) {
      guard start() else { exit(1) }
      Shield.addBreadcrumb("x", metadata: ["a\0b": "c\0d", "e": "f", "\0": "without a key"])
      let crumbs = try contents().breadcrumbs
      #expect(crumbs.map(\.metadata) == [["ab": "cd", "e": "f"]])
      exit(42)
    }
  }
}
