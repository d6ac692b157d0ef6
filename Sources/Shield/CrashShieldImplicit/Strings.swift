public import CrashShieldPlain

extension String {
  /// The character at an index; U+FFFD if the index is out of bounds, recorded as `stringIndex`.
  public subscript(position: Index) -> Character {
    @_transparent
    get {
      if _fastPath(position >= startIndex && position < endIndex) { return self[_plain: position] }
      return handleCharacterFault(String.self) ? "\u{FFFD}" : self[_plain: position]
    }
  }

  /// The characters of a range; an out-of-bounds range is clamped, and recorded as `stringIndex`.
  public subscript(range: Range<Index>) -> Substring {
    @_transparent
    get {
      if _fastPath(range.lowerBound >= startIndex && range.upperBound <= endIndex) { return self[_plain: range] }
      return self[_plain: handleCharacterFault(String.self) ? range.clamped(to: startIndex..<endIndex) : range]
    }
  }
}

extension Substring {
  /// The character at an index; U+FFFD if the index is out of bounds, recorded as `stringIndex`.
  public subscript(position: Index) -> Character {
    @_transparent
    get {
      if _fastPath(position >= startIndex && position < endIndex) { return self[_plain: position] }
      return handleCharacterFault(Substring.self) ? "\u{FFFD}" : self[_plain: position]
    }
  }

  /// The characters of a range; an out-of-bounds range is clamped, and recorded as `stringIndex`.
  public subscript(range: Range<Index>) -> Substring {
    @_transparent
    get {
      if _fastPath(range.lowerBound >= startIndex && range.upperBound <= endIndex) { return self[_plain: range] }
      return self[_plain: handleCharacterFault(Substring.self) ? range.clamped(to: startIndex..<endIndex) : range]
    }
  }
}
