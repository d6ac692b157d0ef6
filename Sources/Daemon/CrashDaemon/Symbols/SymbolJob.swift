import CrashSymbols
import Glibc
import LinuxSystem

/// Builds one symbol cache from one image.
///
/// The job runs `crash-analyse build-cache`, because the untrusted image must be parsed in a separate process.
struct SymbolJob: Sendable {
  var program: String
  var image: Descriptor
  var buildID: String
  var output: String
  var timeout_ms: Int
  /// Opens the debug files of an image without debug information; if it is nil, no debug files are used.
  var debugFiles: DebugFiles?
  /// The function that receives the CPU time of each child process.
  var charge: @Sendable (_ cpu_ns: UInt64) -> Void = { _ in }

  /// Runs the child process, and waits until the child has ended.
  ///
  /// If this method returns, the cache is at `output`. If the method throws an error, there is no file.
  ///
  /// - Returns: The reasons why debug files of a stripped image were not used; empty if none was rejected.
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

  /// Builds a cache from the job's file, which is a debug file.
  ///
  /// The new cache replaces the existing cache if the file has debug information.
  ///
  /// - Returns: Always an empty list. The method throws if the file has no debug information.
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

  /// Builds a partial cache, which contains only the given link addresses (addresses in the image file).
  ///
  /// Building a partial cache takes about a fifth of the time that a complete cache takes. The returned cache is open,
  /// and its file was already deleted.
  func run(for addresses: Set<UInt64>) throws -> SymbolCache {
    let (better, _) = withDebugFile(instead: try make(of: image, addresses), addresses)
    defer { _ = unsafe unlink(better) }
    return try SymbolCache(path: better, buildID: buildID)
  }

  /// Builds a better cache from the first debug file that has debug information, if the cache at `partial` has only
  /// function names.
  ///
  /// The cache at `partial` was built from the image itself. The method returns the path of the cache to use, and the
  /// reasons why debug files were not used.
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

  /// Builds a cache at a temporary path, and returns this path.
  private func make(of image: Descriptor, _ addresses: Set<UInt64>? = nil) throws -> String {
    let partial = "\(output).\(getpid()).\(UInt32.random(in: .min ... .max)).partial"
    // The system call open reads the mode, because O_CREAT is set. The mode is the only variadic argument.
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
