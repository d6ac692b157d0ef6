import CrashSymbols
import Glibc
import LinuxSystem

/// Builds one symbol cache from one image.
///
/// It runs `crash-analyse build-cache`, because the untrusted file must be parsed in a separate process.
struct SymbolJob: Sendable {
  var program: String
  var image: Descriptor
  var buildID: String
  var output: String
  var timeout_ms: Int
  /// Finds the debug files of an image without debug information; nil means that debug files are not used.
  var debugFiles: DebugFiles?
  /// Called with the CPU time of each child process.
  var charge: @Sendable (_ cpu_ns: UInt64) -> Void = { _ in }

  /// Runs the child and waits for it.
  ///
  /// If this method returns, the cache is at `output`. If it throws, it leaves no file behind.
  ///
  /// - Returns: The reasons why debug files of a stripped image were not used; empty if there are none.
  @discardableResult
  func run() throws -> [String] {
    let partial = try make(of: image)
    let (better, problems) = withDebugFile(instead: partial)
    guard unsafe rename(better, output) == 0 else {
      let error = SystemError("rename '\(better)'")
      _ = unsafe unlink(better)
      throw error
    }
    return problems
  }

  /// Builds a cache from this file.
  ///
  /// The new cache replaces the existing cache if the file has debug information.
  ///
  /// - Returns: An empty list. If the file has no debug information, the method throws.
  @discardableResult
  func replace() throws -> [String] {
    let partial = try make(of: image)
    do {
      guard try SymbolCache(path: partial, buildID: buildID).hasDebugInformation else {
        throw HelperChild.Failure(description: "it has no debug information")
      }
      guard unsafe rename(partial, output) == 0 else { throw SystemError("rename '\(partial)'") }
      return []
    } catch {
      _ = unsafe unlink(partial)
      throw error
    }
  }

  /// Builds a partial cache with these link addresses.
  ///
  /// This takes about a fifth of the time of a complete cache. The returned cache is open, and its file is already
  /// unlinked.
  func run(for addresses: Set<UInt64>) throws -> SymbolCache {
    let (better, _) = withDebugFile(instead: try make(of: image, addresses), addresses)
    defer { _ = unsafe unlink(better) }
    return try SymbolCache(path: better, buildID: buildID)
  }

  /// Builds a cache from the first matching debug file, if the image's own cache at `partial` has only function names.
  private func withDebugFile(instead partial: String, _ addresses: Set<UInt64>? = nil) -> (String, [String]) {
    var problems: [String] = []
    guard let debugFiles, let own = try? SymbolCache(path: partial, buildID: buildID), !own.hasDebugInformation else {
      return (partial, problems)
    }
    for file in debugFiles.open(buildID: buildID, link: own.debugLink) {
      do {
        let better = try make(of: file.descriptor, addresses)
        if try SymbolCache(path: better, buildID: buildID).hasDebugInformation {
          _ = unsafe unlink(partial)
          return (better, problems)
        }
        _ = unsafe unlink(better)
        problems.append("it has no debug information either")
      } catch {
        problems.append("\(error)")
      }
    }
    return (partial, problems)
  }

  /// Builds a cache at a temporary path, and returns that path.
  private func make(of image: Descriptor, _ addresses: Set<UInt64>? = nil) throws -> String {
    let partial = "\(output).\(getpid()).\(UInt32.random(in: .min ... .max)).partial"
    // open reads one variadic argument, the mode, because O_CREAT is set. The mode is the only variadic argument here.
    let number = unsafe open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw SystemError("create '\(partial)'") }
    do {
      try fill(Descriptor(owning: number), from: image, addresses)
      return partial
    } catch {
      _ = unsafe unlink(partial)
      throw error
    }
  }

  private func fill(_ file: Descriptor, from image: Descriptor, _ addresses: Set<UInt64>?) throws {
    var arguments = ["build-cache", "--build-id", buildID]
    if let addresses { arguments += ["--at", addresses.map { String($0, radix: 16) }.joined(separator: ",")] }
    try HelperChild(program: program, arguments: arguments, timeout_ms: timeout_ms, charge: charge)
      .run(input: image, output: file)
  }
}
