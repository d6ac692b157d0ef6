import Foundation

/// Reads from an ELF file what the tests need to choose addresses, and to find out whether a function has several
/// names.
struct ELFFile {
  /// The link addresses that the section `.text` covers.
  let text: Range<UInt64>
  /// The address of every function in the symbol tables.
  let addressOfFunction: [String: UInt64]

  private let bytes: [UInt8]

  init(path: String) throws {
    bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let reader = Reader(bytes: bytes)
    let sections = reader.sections()
    let names = sections[Int(reader.integer(62, 2))]
    guard let text = sections.first(where: { reader.text(names.offset + $0.name) == ".text" }) else {
      throw CocoaError(.fileReadCorruptFile)
    }
    self.text = text.address..<text.address + UInt64(text.bytes)
    var functions: [String: UInt64] = [:]
    for table in sections where table.type == 2 || table.type == 11 {
      let strings = sections[table.link]
      for symbol in stride(from: table.offset, to: table.offset + table.bytes, by: 24) {
        guard reader.integer(symbol + 4, 1) & 15 == 2, reader.integer(symbol + 6, 2) != 0 else { continue }
        functions[reader.text(strings.offset + Int(reader.integer(symbol, 4)))] = reader.integer(symbol + 8, 8)
      }
    }
    addressOfFunction = functions
  }

  private struct Section {
    var name: Int
    var type: UInt64
    var address: UInt64
    var offset: Int
    var bytes: Int
    var link: Int
  }

  private struct Reader {
    var bytes: [UInt8]

    func integer(_ offset: Int, _ count: Int) -> UInt64 {
      bytes[offset..<offset + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    func text(_ offset: Int) -> String {
      String(decoding: bytes[offset...].prefix { $0 != 0 }, as: UTF8.self)
    }

    func sections() -> [Section] {
      let table = Int(integer(40, 8))
      return (0..<Int(integer(60, 2))).map { index in
        let at = table + index * 64
        return Section(
          name: Int(integer(at, 4)), type: integer(at + 4, 4), address: integer(at + 16, 8),
          offset: Int(integer(at + 24, 8)), bytes: Int(integer(at + 32, 8)), link: Int(integer(at + 40, 4)))
      }
    }
  }
}
