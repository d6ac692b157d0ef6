// swift-format-ignore-file: NeverForceUnwrap
import Foundation
import TestKit

/// Whether a cast leaves its source as often retained as the runtime does.
enum Objects {
  private static let rounds = 1_000

  /// What is wrong; nil: nothing.
  static func complaint() -> String? {
    // Each is freed with its last reference: neither is one too many left, nor one too few.
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
    return Counted.count == 0 ? nil : "\(Counted.count) counted objects are left"
  }

  private static func complaint(_ name: String, _ make: () -> AnyObject, _ cast: (Any) -> Bool) -> String? {
    weak var kept: AnyObject?
    do {
      let object = make()
      kept = object
      for _ in 0..<rounds where !cast(opaque(object as Any)) { return "\(name): another value" }
      // As an element it is taken out of a copy, and the list keeps its own.
      let list = opaque([object, object] as [Any])
      for _ in 0..<rounds where !list.allSatisfy(cast) { return "\(name): another value in a list" }
      guard kept != nil, "\(object)".isEmpty == false else { return "\(name): the source is gone" }
    }
    return kept == nil ? nil : "\(name): the source is left"
  }
}
