import FoundationEssentials

/// The symbol caches and unwind files on disk, kept below a size.
struct CacheDirectory {
  let path: String

  /// Removes the files that were made first until the rest fits; a mapped one stays readable until it is closed.
  func prune(to limitBytes: Int) throws {
    var files: [(name: String, bytes: Int, made: Date)] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: path)
    where name.hasSuffix(".cssym") || name.hasSuffix(CacheName.unwindSuffix) {
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
      guard let bytes = attributes[.size] as? Int, let made = attributes[.modificationDate] as? Date else { continue }
      files.append((name, bytes, made))
    }
    var total = files.reduce(0) { $0 + $1.bytes }
    for file in files.sorted(by: { $0.made < $1.made }) where total > limitBytes {
      try FileManager.default.removeItem(atPath: "\(path)/\(file.name)")
      total -= file.bytes
    }
  }
}
