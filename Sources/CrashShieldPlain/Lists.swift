extension Array {
  /// The plain subscript.
  public subscript(_plain range: Range<Int>) -> ArraySlice<Element> {
    @_transparent get { self[range] }
    @_transparent set { self[range] = newValue }
  }
}

extension ContiguousArray {
  /// The plain subscript.
  public subscript(_plain range: Range<Int>) -> ArraySlice<Element> {
    @_transparent get { self[range] }
    @_transparent set { self[range] = newValue }
  }
}

extension ArraySlice {
  /// The plain subscript.
  public subscript(_plain range: Range<Int>) -> ArraySlice<Element> {
    @_transparent get { self[range] }
    @_transparent set { self[range] = newValue }
  }
}
