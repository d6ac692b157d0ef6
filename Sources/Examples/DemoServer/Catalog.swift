import NIOCore
import NIOPosix

/// Categories and what they belong to.
struct Catalog: Sendable {
  // BUG, for the demo: a category that is its own ancestor.
  private let parents = ["teas": "drinks", "drinks": "teas"]

  /// How many categories stand above this one, found on an event loop, as code does that must not be suspended.
  func depthOnEventLoop(of category: String) async -> String {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    do {
      return "categories above: \(try await loop.submit { depth(of: category) }.get())"
    } catch {
      return "\(error)"
    }
  }

  private func depth(of category: String) -> Int {
    guard let parent = parents[category] else { return 0 }
    return depth(of: parent) + 1
  }
}
