public import CrashShieldPlain

extension Array {
  /// The part of the list in a range; of one that is not all there, which is recorded as `range`, what is.
  ///
  /// Written there, nothing is changed.
  public subscript(range: Range<Int>) -> ArraySlice<Element> {
    @_transparent
    get {
      if _fastPath(range.lowerBound >= startIndex && range.upperBound <= endIndex) { return self[_plain: range] }
      let isAbsorbed = handleRangeFault(range, startIndex, endIndex, Self.self)
      return self[_plain: isAbsorbed ? range.clamped(to: startIndex..<endIndex) : range]
    }
    @_transparent
    set {
      let isInside = range.lowerBound >= startIndex && range.upperBound <= endIndex
      if _slowPath(!isInside), handleRangeFault(range, startIndex, endIndex, Self.self) { return }
      self[_plain: range] = newValue
    }
  }
}
