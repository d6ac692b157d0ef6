@_exported public import Foundation

extension Data {
  /// The byte at an index; 0 if the index is out of bounds, recorded as `index`.
  ///
  /// A write out of bounds is dropped, and recorded as `mutation`.
  public subscript(position: Int) -> UInt8 {
    @_transparent
    get {
      if _fastPath(position >= startIndex && position < endIndex) { return plainElement(of: self, at: position) }
      return handleElementFault(position, startIndex, endIndex, Data.self) ? 0 : plainElement(of: self, at: position)
    }
    @_transparent
    set {
      if _fastPath(position >= startIndex && position < endIndex) {
        setPlainElement(of: &self, at: position, newValue)
      } else if !handleChangeFault(position, startIndex, endIndex, Data.self) {
        setPlainElement(of: &self, at: position, newValue)
      }
    }
  }

  /// The bytes of a range; an out-of-bounds range is clamped, and recorded as `range`.
  ///
  /// A write out of bounds has no effect.
  public subscript(range: Range<Int>) -> Data {
    @_transparent
    get {
      if _fastPath(range.lowerBound >= startIndex && range.upperBound <= endIndex) { return plainPart(of: self, range) }
      let isAbsorbed = handleRangeFault(range, startIndex, endIndex, Data.self)
      return plainPart(of: self, isAbsorbed ? range.clamped(to: startIndex..<endIndex) : range)
    }
    @_transparent
    set {
      let isInside = range.lowerBound >= startIndex && range.upperBound <= endIndex
      if _slowPath(!isInside), handleRangeFault(range, startIndex, endIndex, Data.self) { return }
      replaceSubrange(range, with: newValue)
    }
  }
}

// The functions below are generic: in generic code, a subscript of `Data` is Foundation's subscript, not the guarded
// subscript above.

@inlinable
@inline(__always)
func plainElement<List: Collection>(of list: List, at position: List.Index) -> List.Element { list[position] }

@inlinable
@inline(__always)
func setPlainElement<List: MutableCollection>(of list: inout List, at position: List.Index, _ value: List.Element) {
  list[position] = value
}

@inlinable
@inline(__always)
func plainPart<List: Collection>(of list: List, _ range: Range<List.Index>) -> List.SubSequence { list[range] }
