import CrashReport
import Glibc

/// Parses numbers about a process from files in `/proc`.
///
/// crashd reads only the beginning of a file, so the text of a file can be truncated.
enum ProcessFigures {
  /// Returns the number in a line of the form `KEY: NUMBER kB`, converted to bytes.
  static func kibibytes(_ key: String, in text: String) -> Int? {
    let mark = Array("\(key):".utf8)
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) where line.starts(with: mark) {
      let words = line.dropFirst(mark.count).split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
      guard words.count == 2, words[1].elementsEqual("kB".utf8), let number = Int(Substring(words[0])), number >= 0
      else { return nil }
      let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: 1024)
      return isTooLarge ? nil : bytes
    }
    return nil
  }

  /// Returns the soft limit in a line of `/proc/PID/limits`, such as `Max open files`.
  ///
  /// Returns nil if the line is missing or the limit is `unlimited`.
  static func limit(_ name: String, in text: String) -> Int? {
    let mark = Array("\(name) ".utf8)
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) where line.starts(with: mark) {
      let word = line.dropFirst(mark.count).split(separator: UInt8(ascii: " ")).first
      return word.flatMap { Int(Substring($0)) }.flatMap { $0 >= 0 ? $0 : nil }
    }
    return nil
  }

  /// Returns the number of open descriptors of a process; nil before Linux 6.2.
  ///
  /// Since Linux 6.2, stat reports the number as the size of the directory `/proc/PID/fd`.
  static func openDescriptors(pid: Int32) -> Int? {
    var status = stat()
    // stat writes at most one struct stat.
    guard unsafe stat("/proc/\(pid)/fd", &status) == 0, status.st_size > 0 else { return nil }
    return Int(status.st_size)
  }

  /// Reads the memory usage, the memory limit and the number of open descriptors.
  ///
  /// These reads do not block: the kernel answers them without waiting for the process.
  /// - Parameters:
  ///   - pid: The pid of the process. After this call, the caller must check that the pid still belongs to the same
  ///     process.
  ///   - limit: The memory limit of the process; it also contains the paths of the control groups that limit the
  ///     process.
  ///   - time: The current time.
  ///   - read: Reads the beginning of the file with a path.
  ///   - descriptors: Counts the open descriptors of a process.
  /// - Returns: The numbers that could be read.
  static func resources(
    pid: Int32, limit: MemoryLimit?, time: Moment, read: (String) -> String? = { SmallFile.text(at: $0) },
    descriptors: (Int32) -> Int? = openDescriptors
  ) -> CrashReport.Resources {
    var found = CrashReport.Resources(time: time.description)
    if let status = read("/proc/\(pid)/status") {
      found.residentBytes = kibibytes("VmRSS", in: status)
      found.peakResidentBytes = kibibytes("VmHWM", in: status)
      found.swapBytes = kibibytes("VmSwap", in: status)
    }
    let limits = read("/proc/\(pid)/limits") ?? ""
    found.descriptorLimit = self.limit("Max open files", in: limits)
    found.openDescriptors = descriptors(pid)
    let addresses = self.limit("Max address space", in: limits)
    if let limit, let smallest = limit.smallest(read) {
      (found.memoryLimitBytes, found.memoryLimitSource) = (smallest.bytes, "cgroup")
      found.groupBytes = limit.used(in: smallest.directory, read)
    } else if let addresses {
      (found.memoryLimitBytes, found.memoryLimitSource) = (addresses, "address space")
    }
    return found
  }
}
