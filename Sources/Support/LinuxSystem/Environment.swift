import Glibc

/// The environment of this process.
public func processEnvironment() -> [String: String] {
  var result: [String: String] = [:]
  // environ is an array of C strings with a null pointer at the end; no code of this package changes it.
  var next = unsafe environ
  while let entry = unsafe next.pointee {
    let text = unsafe String(cString: entry)
    if let separator = text.firstIndex(of: "=") {
      result[String(text[..<separator])] = String(text[text.index(after: separator)...])
    }
    unsafe next += 1
  }
  return result
}
