// Code that the tests of requests share: the bytes of a ring, and the ring of a spool directory.
import CShim
import CShimRing
import CrashShield
import Foundation
import Glibc

/// A request, as an entry of a ring contains it.
struct WrittenRequest: Equatable {
  var step: UInt64
  var generation: UInt64
  var number: UInt64
  var startedAt_ns: UInt64
  var operation: String
  var id: String
  var tags: [String]
  var traceID: [UInt8]
  var spanID: [UInt8]

  init(_ request: cs_ring_request) {
    step = request.state & UInt64(CS_RING_REQUEST_MASK)
    generation = request.state >> 8
    number = request.number
    startedAt_ns = request.started_ns
    operation = Self.text(request.operation, request.operation_bytes)
    id = Self.text(request.id, request.id_bytes)
    tags = Self.text(request.tags, request.tag_bytes).split(separator: "\0").map(String.init)
    traceID = Self.bytes(request.trace_id)
    spanID = Self.bytes(request.span_id)
  }

  private static func text<Field>(_ field: Field, _ count: UInt16) -> String {
    String(decoding: bytes(field).prefix(Int(count)), as: UTF8.self)
  }

  private static func bytes<Field>(_ field: Field) -> [UInt8] {
    // Invariant: Swift imports a C array as a tuple, whose bytes are valid during the call.
    unsafe withUnsafeBytes(of: field) { unsafe Array($0) }
  }

  var isRunning: Bool { step == UInt64(CS_RING_REQUEST_RUNNING) }
}

/// The bytes of a ring: that of this process, or that in a spool file.
@safe
struct RingBytes {
  private let bytes: UnsafeRawBufferPointer

  /// The ring of this process.
  ///
  /// Invariant: the ring exists until the process ends.
  static var here: RingBytes {
    unsafe RingBytes(bytes: UnsafeRawBufferPointer(start: cs_testing_ring(), count: MemoryLayout<cs_ring>.size))
  }

  init(bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

  var header: cs_ring_header { load(at: 0) }

  /// The entries of the request table, up to the highest entry that was ever used.
  var requests: [WrittenRequest] { (0..<Int(header.request_high)).map(request(at:)) }

  func request(at index: Int) -> WrittenRequest {
    WrittenRequest(load(at: TestRing.request(index)))
  }

  /// The request in a slot, and whether its checksum is correct.
  func crashed(slot: Int = 0) -> (request: WrittenRequest, isWhole: Bool) {
    let offset = TestRing.slot(slot) + fieldOffset(\cs_ring_slot.request)
    var request: cs_ring_request = load(at: offset)
    let crc: UInt32 = load(at: TestRing.slot(slot) + fieldOffset(\cs_ring_slot.request_crc))
    // Invariant: the pointer is valid during the call.
    let isWhole = unsafe cs_ring_crc32c(0, &request, MemoryLayout<cs_ring_request>.size) == crc
    return (WrittenRequest(request), isWhole)
  }

  func breadcrumbRequest(at index: Int) -> UInt64 {
    load(
      at: fieldOffset(\cs_ring.breadcrumbs) + index * MemoryLayout<cs_ring_breadcrumb>.stride
        + fieldOffset(\cs_ring_breadcrumb.request))
  }

  func load<Value: BitwiseCopyable>(at offset: Int) -> Value {
    precondition(unsafe offset >= 0 && offset + MemoryLayout<Value>.size <= bytes.count)
    // Invariant: the range lies inside the ring, because the line above checks it.
    return unsafe bytes.loadUnaligned(fromByteOffset: offset, as: Value.self)
  }
}

/// Reads the only ring in a spool directory.
func withSpooledRing<Result>(in directory: String, _ body: (RingBytes) throws -> Result) throws -> Result {
  let names = try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".ring") }
  guard let name = names.first, names.count == 1 else { throw CocoaError(.fileNoSuchFile) }
  return try withRing(at: URL(filePath: directory).appending(path: name), body)
}

/// Reads the ring in a file.
func withRing<Result>(at path: URL, _ body: (RingBytes) throws -> Result) throws -> Result {
  let file = try Data(contentsOf: path)
  // Invariant: the bytes of the file stay valid while the closure runs.
  return try unsafe file.withUnsafeBytes { try body(unsafe RingBytes(bytes: $0)) }
}

/// A gate. Tasks wait until it opens; it never closes again.
actor Gate {
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var isOpen = false

  func wait() async {
    if !isOpen { await withCheckedContinuation { waiting.append($0) } }
  }

  /// Returns when at least `count` tasks wait.
  func isFull(_ count: Int) async {
    while waiting.count < count { await Task.yield() }
  }

  func open() {
    isOpen = true
    for continuation in waiting { continuation.resume() }
    waiting = []
  }
}
