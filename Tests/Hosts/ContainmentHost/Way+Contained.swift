internal import CTestKit
internal import CrashShield
internal import Glibc

private struct Described: CustomStringConvertible {
  var description: String { "\(boom())" }
}

private final class Released {
  deinit { boom() }
}

private struct Key: Hashable {
  var number: Int
  func hash(into hasher: inout Hasher) {
    if number == 7 { boom() }
    hasher.combine(number)
  }
}

private enum Local {
  @TaskLocal static var value = 0
}

extension Way {
  /// Traps of a thread that holds no object or lock that another request needs.
  static let contained: [Way] = [
    Way("index") { boom() },
    Way("deep") { _ = boom(below: 100) },
    Way("fatal-error") {
      announce()
      fatalError("the order has no items")
    },
    Way("precondition") {
      announce()
      precondition(getpid() == 0, "the process is not the first")
    },
    Way("unwrap") {
      announce()
      // getenv returns nil, because the variable does not exist, so the unwrap traps. This trap is the purpose of the
      // request.
      // swift-format-ignore: NeverForceUnwrap
      _ = unsafe getenv("CONTAINMENT_HOST_NONE")!
    },
    Way("overflow") {
      announce()
      // The comparison uses the sum, so that optimized code also computes the sum.
      if Int32.max + Int32(getpid()) == 0 { announce() }
    },
    Way("c-function") { ch_trap() },
    Way("after-sleep") {
      try await Task.sleep(for: .milliseconds(5))
      boom()
    },
    Way("async-let") {
      async let value = boom()
      _ = await value
    },
    Way("group-child") {
      await withTaskGroup(of: Int.self) { group in
        for _ in 0..<3 { group.addTask { (try? await Task.sleep(for: .milliseconds(1))).map { 1 } ?? 0 } }
        group.addTask { boom() }
        for await _ in group {}
      }
    },
    Way("group-body") {
      await withTaskGroup(of: Int.self) { group in
        group.addTask { 1 }
        boom()
      }
    },
    Way("task") { _ = await Task { boom() }.value },
    Way("deinit") {
      var object: Released? = Released()
      withExtendedLifetime(object) {}
      object = nil
    },
    Way("sort") { _ = [3, 1, 2, 9].sorted { _, _ in boom() > 1 } },
    Way("hash") { _ = Set((0..<10).map(Key.init)) },
    Way("interpolation") { _ = "\(Described())".count },
    Way("unfolding") {
      var count = 0
      for await _ in AsyncStream<Int>(unfolding: { boom() }) { count += 1 }
    },
    Way("unsafe-continuation") {
      // The continuation is resumed once, unless the body traps.
      _ = await unsafe withUnsafeContinuation { continuation in unsafe continuation.resume(returning: boom()) }
    },
    Way("task-local") {
      await Local.$value.withValue(1) {
        await Task.yield()
        boom()
      }
    },
    Way("cancellation-operation") {
      await withTaskCancellationHandler {
        _ = boom()
      } onCancel: {
      }
    },
    Way("measure-async") {
      _ = await ContinuousClock().measure {
        await Task.yield()
        boom()
      }
    },
  ]
}
