import CrashShield
import Glibc

/// The work that a server performs for a request, by the path of the request.
public enum Work {
  /// The mode of containment that an argument names: `off`, `drain`, `drain-pool` or `contain:N`.
  public static func containment(_ word: String) -> Shield.Containment? {
    let parts = word.split(separator: ":")
    return switch parts.first {
    case "off": .off
    case "drain": .drain()
    case "drain-pool": .drain(pool: true)
    case "contain": .contain(budget: parts.last.flatMap { Int($0) } ?? 20)
    default: nil
    }
  }

  /// Answers a request, or traps.
  public static func answer(_ path: String) async throws -> String {
    switch path {
    case "/fast": return "fast"
    case "/io":
      spin()
      try await Task.sleep(for: .milliseconds(20))
      spin()
      return "io"
    case "/slow":
      try await Task.sleep(for: .milliseconds(200))
      return "slow"
    default:
      guard let trap = traps[path] else { return "unknown" }
      return "\(try await trap())"
    }
  }

  /// Computes for about 50 microseconds.
  private static func spin() {
    let end = ContinuousClock.now + .microseconds(50)
    while ContinuousClock.now < end {}
  }

  private final class Released {
    deinit { index() }
  }

  private struct Key: Hashable {
    var number: Int
    func hash(into hasher: inout Hasher) {
      if number == 7 { index() }
      hasher.combine(number)
    }
  }

  private struct Described: CustomStringConvertible {
    var description: String { "\(index())" }
  }

  /// Traps, because an index is out of range.
  ///
  /// The compiler inlines this function, so that each caller has its own trap instruction, as separate defects of a
  /// program have.
  @discardableResult
  @inline(__always)
  private static func index() -> Int {
    let values = [1, 2, 3]
    return values[Int(getpid())]
  }

  /// Ten kinds of traps, each with a different stack, by the path of the request.
  private static let traps: [String: @Sendable () async throws -> Int] = [
    "/trap/index": { index() },
    "/trap/unwrap": {
      let values: [Int] = getpid() > 0 ? [] : [1]
      // This unwrap of nil traps, which is the purpose of the request.
      // swift-format-ignore: NeverForceUnwrap
      return values.first!
    },
    "/trap/overflow": { Int(Int32.max + Int32(getpid())) },
    "/trap/message": { fatalError("the order has no items") },
    "/trap/later": {
      try await Task.sleep(for: .milliseconds(10))
      return index()
    },
    "/trap/group": {
      await withTaskGroup(of: Int.self) { group in
        for _ in 0..<3 { group.addTask { (try? await Task.sleep(for: .milliseconds(50))).map { 1 } ?? 0 } }
        group.addTask { index() }
        return await group.reduce(0, +)
      }
    },
    "/trap/child": {
      async let value = index()
      return await value
    },
    "/trap/deinit": {
      var object: Released? = Released()
      withExtendedLifetime(object) {}
      object = nil
      return 1
    },
    "/trap/hash": { Set((0..<10).map(Key.init)).count },
    "/trap/text": { "\(Described())".count },
  ]
}
