internal import CShimRing
internal import CrashReport

/// Reads the requests in flight, and the numbers of requests.
extension RingReader {
  /// Returns the running requests and the trapped requests (those that a trap ended), oldest first.
  ///
  /// If an entry is damaged, only its own request is lost. A request that ends during the read is not returned.
  func requests(_ header: PrivateCopy<cs_ring_header>, losses: inout Losses) -> RingContents.Requests {
    var requests = RingContents.Requests(counts: requestCounts(header))
    guard version == .current else { return requests }
    for index in 0..<used(header) {
      switch request(index) {
      case .none: break
      case .damaged: losses.add(.requests, 1)
      case .running(let request): requests.running.append(request)
      case .trapped(let request): requests.trapped.append(request)
      }
    }
    requests.running.sort { ($0.startTime_ns, $0.number) < ($1.startTime_ns, $1.number) }
    requests.trapped.sort { ($0.startTime_ns, $0.number) < ($1.startTime_ns, $1.number) }
    return requests
  }

  /// Reads only the requests with the given numbers.
  ///
  /// The result includes running requests, because the process announces the incident of a contained trap before it
  /// marks the request as trapped.
  public func requests(numbered numbers: Set<UInt64>) -> [RingContents.Request] {
    guard version == .current, !numbers.isEmpty else { return [] }
    var found: [RingContents.Request] = []
    for index in 0..<used(unsafe PrivateCopy<cs_ring_header>(of: shared, at: 0)) where found.count < numbers.count {
      switch request(index) {
      case .running(let request), .trapped(let request):
        if numbers.contains(request.number) { found.append(request) }
      case .none, .damaged: break
      }
    }
    return found
  }

  /// Returns the number of requests that a trap ended, contained or not.
  func trappedRequestCount() -> Int {
    guard version == .current else { return 0 }
    return (0..<used(unsafe PrivateCopy<cs_ring_header>(of: shared, at: 0))).count { index in
      isTrapped(index)
    }
  }

  /// Returns the number of entries up to the last entry that was ever used.
  private func used(_ header: PrivateCopy<cs_ring_header>) -> Int {
    min(Int(clamping: header[\.request_high]), RingLayout.requestLimit)
  }

  /// Reads only the numbers of requests.
  public func requestCounts() -> RingContents.RequestCounts {
    requestCounts(unsafe PrivateCopy<cs_ring_header>(of: shared, at: 0))
  }

  private func requestCounts(_ header: PrivateCopy<cs_ring_header>) -> RingContents.RequestCounts {
    var counts = RingContents.RequestCounts()
    guard version == .current else { return counts }
    (counts.begun, counts.overflow) = (header[\.request_begun], header[\.request_overflow])
    (counts.finished, counts.failed) = (header[\.request_finished], header[\.request_failed])
    counts.isLookupRefused =
      header[\.request_lookup] == cs_ring_request_lookup.CS_RING_REQUEST_LOOKUP_REFUSED.rawValue
    return counts
  }

  private enum Entry {
    case none
    case damaged
    case running(RingContents.Request)
    case trapped(RingContents.Request)
  }

  /// Returns whether the entry contains a trapped request, without reading the request.
  private func isTrapped(_ index: Int) -> Bool {
    let offset = RingLayout.request(index)
    // The assertions of RingLayout ensure that the entry `index` is inside the ring and aligned.
    guard mayBeUsed(offset),
      let entry = unsafe shared.baseAddress?.advanced(by: offset).assumingMemoryBound(to: cs_ring_request.self)
    else { return false }
    return unsafe cs_ring_request_state_acquire(entry) & UInt64(CS_RING_REQUEST_MASK)
      == UInt64(CS_RING_REQUEST_TRAPPED)
  }

  private func request(_ index: Int) -> Entry {
    let offset = RingLayout.request(index)
    // The assertions of RingLayout ensure that the entry `index` is inside the ring and aligned.
    guard mayBeUsed(offset),
      let entry = unsafe shared.baseAddress?.advanced(by: offset).assumingMemoryBound(to: cs_ring_request.self)
    else { return .none }
    for _ in 0..<readAttempts {
      let state = unsafe cs_ring_request_state_acquire(entry)
      let kind = state & UInt64(CS_RING_REQUEST_MASK)
      switch kind {
      case UInt64(CS_RING_REQUEST_RUNNING), UInt64(CS_RING_REQUEST_TRAPPED): break
      case UInt64(CS_RING_REQUEST_FREE), UInt64(CS_RING_REQUEST_CLAIMED): return .none
      default: return .damaged
      }
      let copy = unsafe PrivateCopy<cs_ring_request>(of: shared, at: offset)
      guard unsafe cs_ring_request_state_recheck(entry) == state else { continue }
      guard let request = RingContents.Request(copy) else { return .damaged }
      return kind == UInt64(CS_RING_REQUEST_RUNNING) ? .running(request) : .trapped(request)
    }
    return .none
  }
}

extension RingContents.Request {
  /// Returns nil if a length exceeds its field, or if the request has no number.
  init?(_ copy: PrivateCopy<cs_ring_request>) {
    guard copy[\.number] != 0, copy[\.operation_bytes] <= CS_RING_OPERATION_LIMIT_BYTES,
      copy[\.id_bytes] <= CS_RING_REQUEST_ID_LIMIT_BYTES, copy[\.tag_bytes] <= CS_RING_REQUEST_TAG_LIMIT_BYTES
    else { return nil }
    self.init(
      number: copy[\.number], startTime_ns: copy[\.started_ns],
      operation: CleanText.line(copy.text(\.operation, count: copy[\.operation_bytes])),
      id: CleanText.line(copy.text(\.id, count: copy[\.id_bytes])),
      traceID: Self.digits(copy.bytes(\.trace_id, count: 16)), spanID: Self.digits(copy.bytes(\.span_id, count: 8)),
      tags: [String: String](pairs: copy.bytes(\.tags, count: copy[\.tag_bytes])))
  }

  /// Returns an id as hexadecimal digits; empty if all bytes are zero.
  private static func digits(_ bytes: ArraySlice<UInt8>) -> String {
    bytes.allSatisfy { $0 == 0 } ? "" : hexadecimal(bytes)
  }
}

extension [String: String] {
  /// Reads keys and values, each of which ends with a NUL.
  ///
  /// A key without a value is dropped.
  init(pairs bytes: ArraySlice<UInt8>) {
    let texts = bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast().map { CleanText.decode($0) }
    self.init()
    for index in stride(from: 0, to: texts.count - 1, by: 2) where !texts[index].isEmpty {
      self[CleanText.line(texts[index])] = texts[index + 1]
    }
  }
}
