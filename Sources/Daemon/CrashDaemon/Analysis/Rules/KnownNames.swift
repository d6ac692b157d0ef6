import CrashReport
import CrashSymbols
import Synchronization

/// Caches the results of demangling linkage names and of classifying the paths of images and files.
///
/// The cache saves time, because demangling takes microseconds and most crashes are in functions that crashed before. A
/// result depends only on the string, so crashes of all users can share the cache.
final class KnownNames: Sendable {
  struct Name: Sendable {
    /// The function's simplified name.
    ///
    /// `simplified` and `full` are sanitized for display.
    var simplified: String
    var full: String
    var origin: Ownership.Origin

    var bytes: Int { 128 + simplified.utf8.count + full.utf8.count }
  }

  private struct Path: Hashable {
    var isImage: Bool
    var text: String
  }

  static let shared = KnownNames()

  private struct State {
    var names: [String: Name] = [:]
    var paths: [Path: Bool] = [:]
    var bytes = 0

    /// Makes room for an entry of `more` bytes: if the cache is full, removes all entries.
    ///
    /// Returns false if the entry is too large for the cache.
    mutating func makeRoom(_ more: Int) -> Bool {
      guard more <= KnownNames.itemLimitBytes else { return false }
      if bytes + more > KnownNames.limitBytes { self = State() }
      bytes += more
      return true
    }
  }

  private let state = Mutex(State())
  static let limitBytes = 4 << 20
  private static let itemLimitBytes = 16 << 10

  func name(_ mangled: String) -> Name {
    if let known = state.withLock({ $0.names[mangled] }) { return known }
    let name = Name(
      simplified: CleanText.line(Demangler.simplified(mangled)), full: CleanText.line(Demangler.full(mangled)),
      origin: Ownership.origin(of: mangled))
    state.withLock { state in
      if state.makeRoom(name.bytes + mangled.utf8.count) { state.names[mangled] = name }
    }
    return name
  }

  func isSystem(image: String) -> Bool { known(Path(isImage: true, text: image), Ownership.isSystem) }

  /// Whether a source file belongs to the program, and not to a dependency, the system or a compiler.
  func isOwn(file: String) -> Bool { known(Path(isImage: false, text: file), Ownership.isOwn) }

  private func known(_ path: Path, _ answer: (String) -> Bool) -> Bool {
    if let known = state.withLock({ $0.paths[path] }) { return known }
    let isTrue = answer(path.text)
    state.withLock { state in
      if state.makeRoom(64 + path.text.utf8.count) { state.paths[path] = isTrue }
    }
    return isTrue
  }
}
