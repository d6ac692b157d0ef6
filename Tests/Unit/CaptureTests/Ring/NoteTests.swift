import CShimRing
import CrashReport
import CrashRing
import Testing

@Suite("Annotations and breadcrumbs of a ring")
struct NoteTests {
  @Test("complete annotations of a ring are read, and removed ones are skipped")
  func annotations() throws {
    let ring = TestRing()
    ring.addAnnotation(0, "version", "1.2\u{1b}")
    ring.addAnnotation(5, "removed", "")
    ring.addAnnotation(63, "unused", "never", sequence: 0)
    let contents = try ring.contents()
    #expect(contents.annotations == ["version": "1.2␛"])
    #expect(contents.losses.isEmpty)
  }

  @Test("an annotation that is being written, or has hostile lengths, is counted")
  func lostAnnotations() throws {
    let ring = TestRing()
    ring.addAnnotation(0, "a", "b", sequence: 3)
    ring.addAnnotation(1, "c", "d")
    ring.set(\cs_ring_annotation.key_bytes, at: TestRing.annotation(1), .max)
    ring.addAnnotation(2, "e", "f")
    ring.set(\cs_ring_annotation.value_bytes, at: TestRing.annotation(2), 441)
    let contents = try ring.contents()
    #expect(contents.annotations.isEmpty)
    #expect(contents.losses == ["annotations": 3])
  }

  @Test("breadcrumbs are read oldest first after the ring has wrapped around")
  func breadcrumbs() throws {
    let ring = TestRing()
    for ticket in 0..<UInt64(200) { ring.addBreadcrumb(ticket: ticket, "step \(ticket)") }
    let crumbs = try ring.contents().breadcrumbs
    #expect(crumbs.map(\.text) == (72..<200).map { "step \($0)" })
    #expect(crumbs.first?.time_ns == 72_000)
  }

  @Test("a breadcrumb in a wrong slot, or with a hostile length, is counted")
  func lostBreadcrumbs() throws {
    let ring = TestRing()
    ring.addBreadcrumb(ticket: 0, "a")
    ring.set(\cs_ring_breadcrumb.sequence, at: TestRing.breadcrumb(0), .max)
    ring.addBreadcrumb(ticket: 1, "b")
    ring.set(\cs_ring_breadcrumb.text_bytes, at: TestRing.breadcrumb(1), 233)
    ring.addBreadcrumb(ticket: 2, "c")
    ring.set(\cs_ring_breadcrumb.sequence, at: TestRing.breadcrumb(2), 0)
    let contents = try ring.contents()
    #expect(contents.breadcrumbs.isEmpty)
    #expect(contents.losses == ["breadcrumbs": 2])
  }

  @Test("a breadcrumb's level, category and metadata are read, and 0 means that a field is not set")
  func breadcrumbParts() throws {
    let ring = TestRing()
    ring.addBreadcrumb(ticket: 0, "GET /", level: 5, category: "http\u{1b}", metadata: "id\07F3A\0empty\0\0")
    ring.addBreadcrumb(ticket: 1, "from an older library")
    ring.addBreadcrumb(ticket: 2, "from a later one", level: 200)
    let crumbs = try ring.contents().breadcrumbs
    #expect(crumbs.map(\.text) == ["GET /", "from an older library", "from a later one"])
    #expect(crumbs.map(\.level) == [.warning, nil, .init("200")])
    #expect(crumbs.map(\.category) == ["http␛", "", ""])
    #expect(crumbs.map(\.metadata) == [["id": "7F3A", "empty": ""], [:], [:]])
  }

  @Test(
    "if a breadcrumb's metadata lacks the last NUL, only the unterminated pair is dropped",
    arguments: ["id", "id\07F3A", "\0\0", "\0x\0"])
  func tornMetadata(_ metadata: String) throws {
    let ring = TestRing()
    ring.addBreadcrumb(ticket: 0, "x", metadata: metadata)
    ring.addBreadcrumb(ticket: 1, "y", metadata: "a\0b\0" + metadata)
    let contents = try ring.contents()
    #expect(contents.breadcrumbs.map(\.metadata) == [[:], ["a": "b"]] && contents.losses.isEmpty)
  }

  @Test("a breadcrumb whose lengths together exceed its entry is counted, and nothing after the entry is read")
  func hostileLengths() throws {
    let ring = TestRing()
    ring.addBreadcrumb(ticket: 0, String(repeating: "a", count: 100))
    ring.set(\cs_ring_breadcrumb.category_bytes, at: TestRing.breadcrumb(0), .max)
    ring.addBreadcrumb(ticket: 1, "b")
    ring.set(\cs_ring_breadcrumb.metadata_bytes, at: TestRing.breadcrumb(1), .max)
    ring.addBreadcrumb(ticket: 2, "c")
    ring.set(\cs_ring_breadcrumb.text_bytes, at: TestRing.breadcrumb(2), .max)
    ring.addBreadcrumb(ticket: 3, String(repeating: "d", count: 224), level: .max)
    ring.set(\cs_ring_breadcrumb.category_bytes, at: TestRing.breadcrumb(3), 1)
    let contents = try ring.contents()
    #expect(contents.breadcrumbs.isEmpty && contents.losses == ["breadcrumbs": 4])
  }
}
