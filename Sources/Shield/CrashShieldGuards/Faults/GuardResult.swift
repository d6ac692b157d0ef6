/// The fallback value of a guard, hidden from the optimizer for numbers and the like.
///
/// It is often a constant, as in `x.shielded(or: 0)`. Where the compiler sees it, it computes the rest of a turn of the
/// caller's loop with it, in a copy with an end of its own; and of a loop with two ends it does not remove the list's own check
/// of its bounds, nor does it join several turns into one. Of values that are counted the copy is the better way: in
/// it the other value is a constant, and the real one needs no retain to be its like.
@inlinable
@inline(__always)
func kept<Value>(_ value: Value) -> Value { _isPOD(Value.self) ? unseen(value) : value }

@inline(never)
@usableFromInline
func unseen<Value>(_ value: Value) -> Value { value }

/// The fallback value of a type that need not declare one: its `shieldDefault`, zero, or nil.
package enum DefaultValue {
  package static func exists<Value>(of type: Value.Type) -> Bool {
    type is any ShieldDefault.Type || type is any BinaryInteger.Type || type is any BinaryFloatingPoint.Type
      || type is any ExpressibleByNilLiteral.Type
  }

  package static func value<Value>() -> Value? {
    if let type = Value.self as? any ShieldDefault.Type { return type.shieldDefault as? Value }
    if let type = Value.self as? any BinaryInteger.Type { return type.init(0) as? Value }
    if let type = Value.self as? any BinaryFloatingPoint.Type { return type.init(0) as? Value }
    if let type = Value.self as? any ExpressibleByNilLiteral.Type { return type.init(nilLiteral: ()) as? Value }
    return nil
  }
}
