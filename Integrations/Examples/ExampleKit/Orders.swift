internal import Dispatch

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// The waiting requests, each of which continues when its ID is read from standard input.
public actor Orders {
  private var waiting: [String: CheckedContinuation<Void, Never>] = [:]

  /// Creates a list without requests, and begins to read standard input.
  public init() {
    // `readLine` blocks its thread, and therefore needs a thread of Dispatch.
    DispatchQueue.global().async { [weak self] in
      while let id = readLine() {
        Task { [weak self] in await self?.release(id) }
      }
    }
  }

  /// Prints that the request waits, and waits.
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
