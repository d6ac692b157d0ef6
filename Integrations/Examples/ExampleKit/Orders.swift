internal import Dispatch

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// The requests for orders that wait.
///
/// A test lets a request continue by a line with its ID on the server's standard input.
public actor Orders {
  private var waiting: [String: CheckedContinuation<Void, Never>] = [:]

  /// Creates an empty list, and begins to read standard input.
  public init() {
    // `readLine` blocks its thread, so it must not run on a thread of the Swift concurrency pool.
    DispatchQueue.global().async { [weak self] in
      while let id = readLine() {
        Task { [weak self] in await self?.release(id) }
      }
    }
  }

  /// Prints that this request waits, and waits until its ID arrives on standard input.
  public func wait(for id: String) async {
    await withCheckedContinuation { continuation in
      waiting[id] = continuation
      writeLine("waiting \(id)")
    }
  }

  private func release(_ id: String) { waiting.removeValue(forKey: id)?.resume() }
}

/// Returns the article with this index, or traps if the index is out of range.
@inline(never)
public func article(_ index: Int) -> String {
  let articles = ["a", "b", "c"]
  return articles[index]
}

/// Writes a line to standard output without a buffer, because `print` buffers its output to a pipe.
public func writeLine(_ line: String) {
  let line = line + "\n"
  // Swift passes the string as a C string, which is valid during the call.
  _ = unsafe write(STDOUT_FILENO, line, line.utf8.count)
}
