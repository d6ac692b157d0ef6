import Foundation

/// Returns a member of a JSON reply.
public func reply(_ key: String) -> Any {
  let text =
    #"{"null": null, "number": 42, "fraction": 3.5, "truth": true, "text": "42", "fractionText": "3.5", "list": [1, null]}"#
  let reply = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
  return reply?[key] ?? "no reply"
}

/// Hides a value from the optimizer.
@inline(never)
@_optimize(none)
public func opaque<Value>(_ value: Value) -> Value { value }
