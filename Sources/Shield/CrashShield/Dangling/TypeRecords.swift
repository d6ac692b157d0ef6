internal import CShimQuarantine

/// The classes in the type records of this process's images.
enum TypeRecords {
  /// A class of which an image contains a type record.
  struct Record {
    /// The full name, with module and enclosing types.
    var name: String
    /// The module: the first component of the name.
    var module: String
    /// Whether the class is in the executable, not in a shared library.
    var isInExecutable: Bool
    /// The class; nil for a generic class, which has no metadata yet.
    var type: AnyClass?
  }

  /// Returns all classes, image by image.
  static func classes() -> [Record] {
    var found = Found()
    unsafe withUnsafeMutablePointer(to: &found) { found in
      // Invariant: the C function calls the closure only before it returns, and passes the pointer to `found` to it.
      unsafe cs_quarantine_visit_types(
        { record, context in
          guard let record = unsafe record?.pointee, let found = unsafe context?.assumingMemoryBound(to: Found.self)
          else { return }
          unsafe found.pointee.records.append(Record(record))
        }, found)
    }
    return found.records
  }

  private struct Found {
    var records: [Record] = []
  }
}

extension TypeRecords.Record {
  fileprivate init(_ record: cs_quarantine_type) {
    // The name is NUL-terminated and valid during the callback. The class's own metadata accessor returned the
    // metadata.
    name = unsafe String(cString: record.name)
    module = String(name.prefix { $0 != "." })
    isInExecutable = unsafe record.is_in_executable
    type = unsafe record.metadata.map { unsafe unsafeBitCast($0, to: AnyClass.self) }
  }
}
