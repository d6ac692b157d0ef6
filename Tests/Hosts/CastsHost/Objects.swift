// swift-format-ignore-file: NeverForceUnwrap
import Foundation
import TestKit

/// Checks that a cast retains and releases its source as often as the runtime does.
enum Objects {
  private static let rounds = 1_000

  /// Returns the first failure, or nil.
  static func complaint() -> String? {
    // Each source must be freed when the test releases its last reference. The cast must leak no reference, and release
    // none twice.
    if let complaint = complaint("a number for a text", { NSNumber(value: 1 << 40) }, { $0 as! String == "\(1 << 40)" })
    {
      return complaint
    }
    if let complaint = complaint("a text for a number", { NSMutableString(string: "42") }, { $0 as! Int == 42 }) {
      return complaint
    }
    if let complaint = complaint("null", { NSNull() }, { ($0 as! [String]).isEmpty }) { return complaint }
    if let complaint = complaint("null for nil", { NSNull() }, { $0 as! Int? == nil }) { return complaint }
    if let complaint = complaint("a cast that works", { Counted() }, { ($0 as! Counted) === $0 as AnyObject }) {
      return complaint
    }
    return Counted.count == 0 ? nil : "\(Counted.count) counted objects were not freed"
  }

  private static func complaint(_ name: String, _ make: () -> AnyObject, _ cast: (Any) -> Bool) -> String? {
    weak var kept: AnyObject?
    do {
      let object = make()
      kept = object
      for _ in 0..<rounds where !cast(opaque(object as Any)) { return "\(name): the cast gave another value" }
      // The cast consumes a copy of the element. The list keeps its own reference.
      let list = opaque([object, object] as [Any])
      for _ in 0..<rounds where !list.allSatisfy(cast) { return "\(name): the cast gave another value for an element" }
      guard kept != nil, "\(object)".isEmpty == false else { return "\(name): the source was freed too early" }
    }
    return kept == nil ? nil : "\(name): the source was not freed"
  }
}
