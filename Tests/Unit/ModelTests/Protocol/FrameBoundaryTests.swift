import CrashProtocol
import Testing

@Suite("Frames (separated messages) of a byte stream")
struct FrameBoundaryTests {
  /// Returns the frames of a stream whose bytes arrive in these pieces.
  private func frames(_ pieces: [String], limit: Int, separator: UInt8) throws(FrameBoundary.TooLong) -> [String] {
    var boundary = FrameBoundary(limit: limit, separator: separator)
    var (buffer, frames): ([UInt8], [String]) = ([], [])
    for piece in pieces {
      buffer += Array(piece.utf8)
      while let length = try boundary.next(in: buffer) {
        frames.append(String(decoding: buffer[..<length], as: UTF8.self))
        buffer.removeSubrange(...length)
      }
    }
    return frames
  }

  @Test(
    "a stream's frames end at the separator, even if the bytes arrive in arbitrary pieces",
    arguments: [0, UInt8(ascii: "\n")])
  func pieces(separator: UInt8) throws {
    let end = String(UnicodeScalar(separator))
    let text = "one\(end)\(end)three\(end)rest"
    let wanted = ["one", "", "three"]
    #expect(try frames([text], limit: 9, separator: separator) == wanted)
    #expect(try frames(text.map { String($0) }, limit: 9, separator: separator) == wanted)
  }

  @Test("a frame above the limit is refused, even before its separator has arrived")
  func limit() throws {
    #expect(try frames(["12345\n"], limit: 5, separator: UInt8(ascii: "\n")) == ["12345"])
    for text in ["123456\n", "123456"] {
      #expect(throws: FrameBoundary.TooLong.self) { try frames([text], limit: 5, separator: UInt8(ascii: "\n")) }
    }
  }
}
