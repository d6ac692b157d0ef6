extension Array {
  /// The standard library's subscript, without a guard.
  public subscript(_plain position: Int) -> Element {
    @_transparent get { self[position] }
    @_transparent _modify { yield &self[position] }
  }

  /// The standard library's subscript, without a guard.
  public subscript(_plain range: Range<Int>) -> ArraySlice<Element> {
    @_transparent get { self[range] }
    @_transparent set { self[range] = newValue }
  }
}

extension ContiguousArray {
  /// The standard library's subscript, without a guard.
  public subscript(_plain position: Int) -> Element {
    @_transparent get { self[position] }
    @_transparent _modify { yield &self[position] }
  }

  /// The standard library's subscript, without a guard.
  public subscript(_plain range: Range<Int>) -> ArraySlice<Element> {
    @_transparent get { self[range] }
    @_transparent set { self[range] = newValue }
  }
}

extension ArraySlice {
  /// The standard library's subscript, without a guard.
  public subscript(_plain position: Int) -> Element {
    @_transparent get { self[position] }
    @_transparent _modify { yield &self[position] }
  }

  /// The standard library's subscript, without a guard.
  public subscript(_plain range: Range<Int>) -> ArraySlice<Element> {
    @_transparent get { self[range] }
    @_transparent set { self[range] = newValue }
  }
}

extension String {
  /// The standard library's subscript, without a guard.
  public subscript(_plain position: Index) -> Character {
    @_transparent get { self[position] }
  }

  /// The standard library's subscript, without a guard.
  public subscript(_plain range: Range<Index>) -> Substring {
    @_transparent get { self[range] }
  }
}

extension Substring {
  /// The standard library's subscript, without a guard.
  public subscript(_plain position: Index) -> Character {
    @_transparent get { self[position] }
  }

  /// The standard library's subscript, without a guard.
  public subscript(_plain range: Range<Index>) -> Substring {
    @_transparent get { self[range] }
  }
}
