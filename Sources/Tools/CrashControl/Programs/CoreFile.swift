public import CrashReport
import FoundationEssentials
import Glibc
internal import LinuxSystem

/// The location of a crashed process's core dump, if the system wrote one.
public enum CoreFile: Sendable, Equatable {
  /// The file that contains the core dump.
  case file(String)
  /// The kernel passes core dumps to systemd-coredump, which may have stored this one.
  case systemd
  /// No core dump was found, for the given reason.
  case none(because: String)

  /// Finds the core dump.
  /// - Parameters:
  ///   - report: The report of the process.
  ///   - pattern: The content of `/proc/sys/kernel/core_pattern`.
  ///   - addsPid: Whether `/proc/sys/kernel/core_uses_pid` is not 0.
  /// - Returns: The location of the core dump.
  public static func find(of report: CrashReport, pattern: String, addsPid: Bool) -> CoreFile {
    let pattern = String(pattern.prefix { $0 != "\n" })
    if pattern.hasPrefix("|") {
      let program = pattern.dropFirst().split(separator: " ").first.map(String.init) ?? ""
      if program.hasSuffix("/systemd-coredump") { return .systemd }
      return .none(because: "core_pattern is the handler '\(program)'")
    }
    guard pattern.hasPrefix("/") else {
      let name = pattern.isEmpty ? "core" : pattern
      return .none(
        because: "the kernel writes core dumps as '\(name)' to the process's directory, which is unknown now")
    }
    let hasPid = pattern.contains("%p") || pattern.contains("%P")
    guard let place = CorePlace(pattern + (addsPid && !hasPid ? ".%p" : ""), report) else {
      return .none(because: "the directory of core dumps, '\(pattern)', differs for each process")
    }
    let crash_s = LocalTime.seconds(rfc3339: report.time) ?? 0
    let candidates: [(path: String, modified_s: Int)]
    do throws(CorePlace.Unreadable) { candidates = try place.candidates() } catch {
      return .none(because: "cannot read the directory of core dumps, '\(error.directory)': \(error.reason)")
    }
    // Skip files from before the crash, because they are core dumps of earlier processes with the same pid.
    let new = candidates.filter { $0.modified_s >= crash_s }
    // Skip names with special characters, because lldb copies its arguments into commands. The name of a core dump
    // contains the process name, which the process chooses.
    let plain = new.filter { $0.path.unicodeScalars.allSatisfy(DebuggedProgram.isPlain) }
    if let found = plain.min(by: { $0.modified_s < $1.modified_s }) { return .file(found.path) }
    if !new.isEmpty {
      return .none(because: "its file in '\(place.directory)' has characters that a debugger may take for commands")
    }
    return .none(because: "there is no '\(pattern)', which core_pattern names")
  }
}

/// The paths at which core_pattern (core(5)) can place the core dump of one process.
///
/// A part of the pattern matches any string if the report does not contain its value.
private struct CorePlace {
  private enum Part: Equatable {
    case text(String)
    case anything
  }

  /// The error for a directory that does not exist, or that the caller is not allowed to read.
  struct Unreadable: Error {
    var directory: String
    var reason: String
  }

  let directory: String
  private let name: [Part]
  /// The users whose files can be core dumps of the process.
  ///
  /// Files of all other users are ignored.
  private let owners: Set<Int>

  /// Fails if the directory is unknown.
  init?(_ pattern: String, _ report: CrashReport) {
    var path: [Part] = []
    var rest = pattern[...]
    while let character = rest.popFirst() {
      guard character == "%", let kind = rest.popFirst() else {
        path.append(.text(String(character)))
        continue
      }
      path.append(Self.part(kind, report))
    }
    guard let slash = path.lastIndex(of: .text("/")) else { return nil }
    var directory = ""
    for part in path[..<slash] {
      guard case .text(let text) = part else { return nil }
      directory += text
    }
    self.directory = directory.isEmpty ? "/" : directory
    owners = [0, report.process.uid, Int(geteuid())]
    name = Array(path[(slash + 1)...])
  }

  private static func part(_ kind: Character, _ report: CrashReport) -> Part {
    switch kind {
    case "%": .text("%")
    // `%p` is the pid inside a container, and `%P` the pid outside. Require the report's pid for both: missing a core
    // dump is better than using the core dump of another process.
    case "p", "P": .text("\(report.process.pid)")
    case "u": .text("\(report.process.uid)")
    case "s": .text("\(report.signal.number)")
    // The kernel replaces `%E` by the path of the executable. Do not accept a relative path, because a process could
    // forge it.
    case "E" where report.process.executable.hasPrefix("/"):
      .text(report.process.executable.replacing("/", with: "!"))
    default: .anything
    }
  }

  func candidates() throws(Unreadable) -> [(path: String, modified_s: Int)] {
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: directory) } catch {
      // Determine the reason with `access`, because the text of errno is short and contains no error codes, unlike the
      // text of Foundation's error.
      let isReadable = unsafe access(directory + "/.", R_OK | X_OK) == 0
      throw Unreadable(directory: directory, reason: isReadable ? "\(error)" : SystemError.text(errno))
    }
    return names.filter { Self.matches($0[...], name[...]) }.compactMap { name in
      let path = directory + "/" + name
      var status = stat()
      // Ignore links, because the kernel writes core dumps as regular files. Invariant: lstat fills in the structure.
      guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0,
        owners.contains(Int(status.st_uid))
      else { return nil }
      return (path, Int(status.st_mtim.tv_sec))
    }
  }

  private static func matches(_ text: Substring, _ parts: ArraySlice<Part>) -> Bool {
    switch parts.first {
    case nil: text.isEmpty
    case .text(let beginning)?:
      text.hasPrefix(beginning) && matches(text.dropFirst(beginning.count), parts.dropFirst())
    case .anything?:
      text.indices.contains { matches(text[$0...], parts.dropFirst()) } || matches("", parts.dropFirst())
    }
  }
}
