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
