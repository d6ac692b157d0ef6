import NIOCore
import NIOPosix

/// Categories and their parents.
struct Catalog: Sendable {
  // BUG, for the demo: each category is its own ancestor.
  private let parents = ["teas": "drinks", "drinks": "teas"]

  /// Returns the number of categories above this one.
  ///
  /// The function runs on an event loop, like code that must not suspend.
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
