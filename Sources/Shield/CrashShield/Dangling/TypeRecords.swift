internal import CShimQuarantine

/// The classes that the images of this process tell the Swift runtime of.
enum TypeRecords {
  /// One class.
  struct Record {
    /// With its module and the types around it.
    var name: String
    /// The first part of the name.
    var module: String
    /// Whether the executable itself has it.
    var isInExecutable: Bool
    /// Nil: generic, so there is no such type yet.
    var type: AnyClass?
  }

  /// All classes, in the order of the images.
  static func classes() -> [Record] {
    var found = Found()
    unsafe withUnsafeMutablePointer(to: &found) { found in
      // The function is called before this returns, with the pointer that it is given here.
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
    // The name is NUL-terminated and as long as the callback; metadata is what the class's own accessor returned.
    name = unsafe String(cString: record.name)
    module = String(name.prefix { $0 != "." })
    isInExecutable = unsafe record.is_in_executable
    type = unsafe record.metadata.map { unsafe unsafeBitCast($0, to: AnyClass.self) }
  }
}
