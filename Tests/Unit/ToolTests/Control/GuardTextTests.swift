import CrashProtocol
import CrashReport
import TestKit
import Testing

@testable import CrashControl

@Suite("Texts of crashctl guards")
struct GuardTextTests {
  @Test("the error for an unknown guard kind or mode suggests the nearest one, or the help")
  func mistakes() throws {
    #expect(try GuardText.kind("index") == "index" && GuardText.kind("all") == nil)
    #expect(try GuardText.mode("absorb") == "absorb" && GuardText.mode("program") == "program")
    let kinds = [
      ("indx", "there is no kind 'indx' of guards; did you mean 'index'?"),
      ("weather", "there is no kind 'weather' of guards: see crashctl guards set --help"),
    ]
    for (word, message) in kinds {
      #expect(throws: GuardText.Mistake(message: message)) { _ = try GuardText.kind(word) }
    }
    let mistake = GuardText.Mistake(message: "there is no mode 'obsrve' of guards; did you mean 'observe'?")
    #expect(throws: mistake) { _ = try GuardText.mode("obsrve") }
  }

  @Test("guards list has one line per kind, or one for equal kinds, and lists refusals of processes")
  func list() {
    let all = Dictionary(uniqueKeysWithValues: GuardKinds.names.map { ($0, "observe") })
    let services = [
      GuardService(
        uid: 0, name: "shop", program: "/srv/shop", modes: ["unwrap": "off", "cast": "absorb"], implicitModes: all,
        processes: 3, applied: 2, refusal: "forbidden by the program")
    ]
    let text = GuardText.list(services, terminal: Terminal(width: nil, hasColor: false), legend: false)
    let lines = text.split(separator: "\n").map { $0.split { $0 == " " }.joined(separator: " ") }
    #expect(
      lines == [
        "shop 0 cast absorb at call sites 2/3 /srv/shop", "shop 0 unwrap off at call sites 2/3 /srv/shop",
        "shop 0 all observe implicit 2/3 /srv/shop", "shop: a process refused: forbidden by the program",
      ], "\(text)")
  }
}
