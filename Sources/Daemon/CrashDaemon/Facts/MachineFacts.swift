import CrashReport
import Glibc

/// Reads the facts about the machine, for reports.
enum MachineFacts {
  /// The facts about this machine, which crashd reads once.
  static let here = read { SmallFile.text(at: $0, limitBytes: limitBytes) }

  private static let limitBytes = 8_192
  /// The maximum number of characters in one string of the facts.
  private static let textLimit = 128
  /// The application ID of crashd.
  ///
  /// crashd derives the machine ID in reports from this ID and from the machine's own ID.
  ///
  /// crashd does not publish the machine's own ID, because machine-id(5) forbids this.
  private static let application: [UInt8] = [
    0x74, 0x88, 0xea, 0x2d, 0x53, 0x2d, 0x48, 0x64, 0x92, 0x42, 0x08, 0xae, 0xcf, 0x7a, 0x19, 0x0e,
  ]

  /// Reads the facts about the machine.
  ///
  /// The closure `file` returns the beginning of the file at the given path.
  static func read(file: (String) -> String?) -> CrashReport.Machine {
    var machine = CrashReport.Machine()
    machine.host = text(file("/proc/sys/kernel/hostname"))
    machine.id = file("/etc/machine-id").flatMap(derivedID)
    machine.kernel = text(file("/proc/sys/kernel/osrelease")).map { "Linux \($0)" }
    machine.distribution = (file("/etc/os-release") ?? file("/usr/lib/os-release")).flatMap(distribution)
    machine.processor = file("/proc/cpuinfo").flatMap(processor)
    let count = sysconf(Int32(_SC_NPROCESSORS_ONLN))
    machine.processors = count > 0 ? count : nil
    machine.memoryBytes = file("/proc/meminfo").flatMap { ProcessFigures.kibibytes("MemTotal", in: $0) }
    return machine
  }

  /// Returns the derived machine ID that `systemd-id128 machine-id --app-specific=7488ea2d532d4864924208aecf7a190e`
  /// prints.
  ///
  /// Returns nil if the text does not consist of 32 hexadecimal digits.
  static func derivedID(_ text: String) -> String? {
    let digits = Array(text.utf8.prefix { $0 != UInt8(ascii: "\n") })
    guard digits.count == 32 else { return nil }
    let values = digits.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard values.count == 32, values.contains(where: { $0 != 0 }) else { return nil }
    let key = stride(from: 0, to: 32, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
    var id = Array(SHA256.authentication(of: application, by: key).prefix(16))
    // Set the bits for the version and the variant of a random UUID, because systemd sets them, too.
    id[6] = id[6] & 0x0f | 0x40
    id[8] = id[8] & 0x3f | 0x80
    return id.map { UInt64($0).hexadecimal(digits: 2) }.joined()
  }

  /// Returns the value of `PRETTY_NAME` in an os-release(5) file, without its quotes.
  static func distribution(_ text: String) -> String? {
    let mark = Array("PRETTY_NAME=".utf8)
    guard let line = text.utf8.split(separator: UInt8(ascii: "\n")).first(where: { $0.starts(with: mark) }) else {
      return nil
    }
    let value = String(Substring(line.dropFirst(mark.count)))
    let quotes: Set<Character> = ["\"", "'"]
    guard let first = value.first, quotes.contains(first) else { return self.text(value) }
    return self.text(value.dropFirst().prefix { $0 != first }.filter { $0 != "\\" })
  }

  /// Returns the model of the first processor.
  ///
  /// On x86-64, the model is the name of the processor. On arm64, the model consists of the numbers of the implementer
  /// and the part.
  static func processor(_ text: String) -> String? {
    var values: [String: String] = [:]
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
      let key = String(Substring(line[..<colon])).trimmed
      if values[key] == nil { values[key] = String(Substring(line[line.index(after: colon)...])).trimmed }
    }
    if let name = values["model name"] { return self.text(name) }
    guard let maker = values["CPU implementer"], let part = values["CPU part"] else { return nil }
    return self.text("ARM implementer \(maker), part \(part)")
  }

  /// Returns the text as one line of limited length; nil if this line is empty.
  static func text(_ text: (some StringProtocol)?, limit: Int = textLimit) -> String? {
    guard let text else { return nil }
    let line = CleanText.line(String(text.prefix(limit)).trimmed)
    return line.isEmpty ? nil : line
  }
}

extension String {
  /// The string without spaces, tabs and newlines at its start and end.
  fileprivate var trimmed: String {
    let isBlank = { (scalar: Unicode.Scalar) in scalar == " " || scalar == "\t" || scalar == "\n" }
    let rest = unicodeScalars.drop(while: isBlank)
    return String(String.UnicodeScalarView(rest.reversed().drop(while: isBlank).reversed()))
  }
}
