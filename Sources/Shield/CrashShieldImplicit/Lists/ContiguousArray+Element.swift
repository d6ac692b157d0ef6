public import CrashShieldPlain

extension ContiguousArray {
  /// The element at a position; where there is none, which is recorded as `index`, what stands for no value of its type.
  ///
  /// Written there, which is recorded as `mutation`, it is dropped. Changed there, as by `list[9].append(1)`, a value of its own is changed
  /// and dropped. A type without such a value, and where it is changed any that is nothing but bytes, is observed at most.
  @inlinable
  public subscript(position: Int) -> Element {
    @_transparent
    get {
      if _fastPath(UInt(bitPattern: position) < UInt(bitPattern: count)) { return self[_plain: position] }
      guard let value: Element = missingElement(position, startIndex, endIndex, Self.self) else {
        return self[_plain: position]
      }
      return value
    }
    @_transparent
    set {
      if _fastPath(UInt(bitPattern: position) < UInt(bitPattern: count)) {
        self[_plain: position] = newValue
      } else if !handleElementFault(position, Self.self) {
        Swift.preconditionFailure("Index out of range")
      }
    }
    @inline(__always)
    _modify {
      // Only what is yielded in one place costs no call. So for the time of the change the list is another.
      var place = position
      var list: Self?
      if _slowPath(!(UInt(bitPattern: position) < UInt(bitPattern: count))) {
        if let other = listOfMissing(position, startIndex, endIndex, Self.self) {
          list = self
          self = other
          place = startIndex
        }
      }
      defer {
        if let list { self = list }
      }
      yield &self[_plain: place]
    }
  }
}

extension ContiguousArray where Element: BitwiseCopyable {
  /// The element at a position; where there is none, which is recorded as `index`, what stands for no value of its type.
  ///
  /// Written there, which is recorded as `mutation`, it is dropped. Changed where it lies, as by `list[9] += 1` or `&list[9]`, it is
  /// observed at most: a function in C may be meant to write what follows it, too.
  @inlinable
  public subscript(position: Int) -> Element {
    @_transparent
    get {
      if _fastPath(UInt(bitPattern: position) < UInt(bitPattern: count)) { return self[_plain: position] }
      guard let value: Element = missingElement(position, startIndex, endIndex, Self.self) else {
        return self[_plain: position]
      }
      return value
    }
    @_transparent
    set {
      if _fastPath(UInt(bitPattern: position) < UInt(bitPattern: count)) {
        self[_plain: position] = newValue
      } else if !handleElementFault(position, Self.self) {
        Swift.preconditionFailure("Index out of range")
      }
    }
    @inline(__always)
    _modify {
      if _slowPath(!(UInt(bitPattern: position) < UInt(bitPattern: count))) {
        recordElementFault(position, startIndex, endIndex, Self.self)
      }
      yield &self[_plain: position]
    }
  }
}
