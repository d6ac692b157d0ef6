extension String {
  /// The plain subscript.
  public subscript(_plain position: Index) -> Character {
    @_transparent get { self[position] }
  }

  /// The plain subscript.
  public subscript(_plain range: Range<Index>) -> Substring {
    @_transparent get { self[range] }
  }
}

extension Substring {
  /// The plain subscript.
  public subscript(_plain position: Index) -> Character {
    @_transparent get { self[position] }
  }

  /// The plain subscript.
  public subscript(_plain range: Range<Index>) -> Substring {
    @_transparent get { self[range] }
  }
}
