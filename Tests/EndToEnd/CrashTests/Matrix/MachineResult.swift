import Glibc
import TestKit

/// The result of a job on the emulated machine of `scripts/on-aarch64-machine`.
///
/// A job is one run of a program.
struct MachineResult {
  /// A file that the machine sent.
  struct Item {
    var name: String
    var size: Int
    /// The parts of the sparse file that are not holes, each with its offset.
    ///
    /// The bytes of a hole are zero.
    var parts: [(offset: Int, bytes: ArraySlice<UInt8>)] = []

    var contents: [UInt8] {
      var contents = [UInt8](repeating: 0, count: size)
      for part in parts { contents.replaceSubrange(part.offset..<part.offset + part.bytes.count, with: part.bytes) }
      return contents
    }
  }

  var status: ExitStatus
  var duration: Duration
  /// The number of processes that the job left behind.
  var leftCount: Int
  var items: [Item]

  var output: String { text("stdout") }
  var error: String { text("stderr") }
  /// The rings of the processes that crashed.
  ///
  /// Two items can have the name of one ring. The first one counts: it is the ring that the machine kept. The second
  /// one is the copy that the process wrote to the spool.
  var rings: [Item] {
    var names: Set<String> = []
    return items.filter { $0.name.hasSuffix(Self.ringSuffix) && names.insert($0.name).inserted }
  }
  static let ringSuffix = ".ring"

  private func text(_ name: String) -> String {
    String(decoding: items.first { $0.name == name }?.contents ?? [], as: UTF8.self)
  }

  /// Reads the results of all jobs in the format that `Tests/Kit/Support/aarch64-machine/init.c` describes.
  static func all(in path: String) throws -> [MachineResult] {
    var reader = Reader(bytes: try FileDescriptor(opening: path, O_RDONLY).readToEnd()[...])
    var results: [MachineResult] = []
    while case let words = try reader.words(), words != ["done"] {
      guard words.count == 4, words[0] == "job", let status = Int32(words[1]), let time_ns = Int64(words[2]),
        let left = Int(words[3])
      else { throw reader.error(words) }
      results.append(
        MachineResult(
          status: ExitStatus(raw: status), duration: .nanoseconds(time_ns), leftCount: left,
          items: try reader.items()))
    }
    return results
  }

  private struct Reader {
    var bytes: ArraySlice<UInt8>

    /// Reads a line, and returns its words.
    mutating func words() throws -> [Substring] {
      guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { throw error(["end of file"]) }
      defer { bytes = bytes[(end + 1)...] }
      return String(decoding: bytes[..<end], as: UTF8.self).split(separator: " ")
    }

    /// Reads the items of a job and the line `end`.
    mutating func items() throws -> [Item] {
      var items: [Item] = []
      while case let words = try words(), words != ["end"] {
        let number = { (index: Int) in words.count > index ? Int(words[index]) : nil }
        if words.count == 3, words[0] == "item", let size = number(1) {
          items.append(Item(name: String(words[2]), size: size))
        } else if words.count == 3, words[0] == "data", let offset = number(1), let count = number(2),
          let last = items.indices.last, bytes.count >= count, offset + count <= items[last].size
        {
          items[last].parts.append((offset, bytes.prefix(count)))
          bytes = bytes.dropFirst(count)
        } else {
          throw error(words)
        }
      }
      return items
    }

    func error(_ words: [Substring]) -> SystemError {
      SystemError("the results of the machine have '\(words.joined(separator: " "))'", EBADMSG)
    }
  }
}
