/// Returns the fallback value of a guard; hides a value of a trivial type, such as a number, from the optimizer.
///
/// The fallback value is often a constant, as in `x.shielded(or: 0)`. If the optimizer can propagate the constant, it
/// duplicates the rest of the caller's loop body, which gives the loop a second back edge. In a loop with two back
/// edges, the optimizer neither removes the collection's own bounds check nor unrolls iterations. For reference-counted
/// values, however, the duplication makes the code faster: the path of the real value then does not need an additional
/// retain. Reference-counted values are therefore not hidden.
@inlinable
@inline(__always)
func kept<Value>(_ value: Value) -> Value { _isPOD(Value.self) ? unseen(value) : value }

@inline(never)
@usableFromInline
func unseen<Value>(_ value: Value) -> Value { value }

/// The fallback value of a type: its `shieldDefault`, zero, or nil.
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
