import CShim
import CShimRing

// Adds context to the reports of this process: tags, the user, breadcrumbs.
extension Shield {
  /// Sets a tag, such as the region, that reports of this process show.
  ///
  /// Replaces the previous value of `key`; an empty value removes the tag. A process can have 64 tags. A key can have
  /// 64 bytes and a value 440 bytes of UTF-8; longer keys and values are cut. May be called from any thread, and takes
  /// about a hundred nanoseconds. Do not put secrets into tags.
  ///
  /// Reports show the tags `release`, `environment` and `user` in fields of their own. `CRASHSHIELD_RELEASE` and
  /// `CRASHSHIELD_ENVIRONMENT` take precedence over this call.
  /// ```swift
  /// Shield.setTag("region", to: "eu-central")
  /// ```
  ///
  /// - Returns: False if the key or the value was cut, if 64 other tags are set, if the environment sets this tag, or
  ///   if the shield is not started.
  @discardableResult
  public static func setTag(_ key: String, to value: String) -> Bool {
    unsafe withCharacters(key) { key, keyCount in
      // Invariant: both buffers stay valid until these closures return, and the C function copies their contents.
      unsafe withCharacters(value) { value, valueCount in unsafe cs_shim_annotate(key, keyCount, value, valueCount) }
    }
  }

  /// Sets the user that reports of this process show; nil removes it.
  ///
  /// Call this function in a process that serves one user, such as a worker or a tool. Pass an identifier, not a name
  /// or an address.
  ///
  /// - Returns: False in the cases where `setTag` returns false.
  @discardableResult
  public static func setUser(id: String?) -> Bool { setTag("user", to: id ?? "") }

  /// The level of a breadcrumb, as in swift-log.
  public enum Level: UInt8, Sendable, Hashable, CaseIterable {
    case trace = 1
    case debug = 2
    case info = 3
    case notice = 4
    case warning = 5
    case error = 6
    case critical = 7

    fileprivate var code: cs_ring_level { cs_ring_level(rawValue: rawValue) ?? .CS_RING_LEVEL_NONE }
  }

  /// Records a breadcrumb, such as the current request.
  ///
  /// The report of a later crash shows the breadcrumb with the time at which it was recorded.
  ///
  /// The ring keeps the last 128 breadcrumbs, each with the request in which it was recorded (`withRequest`). Message,
  /// category and metadata share 224 bytes of UTF-8: a long message is cut, and a metadata pair that does not fit is
  /// dropped. The call is lock-free and may be made from any thread. The call takes about a hundred nanoseconds, which
  /// is cheap enough for each request, but not for each iteration of a loop. Does nothing if the shield is not started.
  /// Do not put secrets into breadcrumbs.
  ///
  /// ```swift
  /// Shield.addBreadcrumb("GET /cart/42", level: .info, category: "http", metadata: ["request-id": "7F3A"])
  /// ```
  ///
  /// - Parameters:
  ///   - message: What happened.
  ///   - level: The severity; if nil, the report does not show a severity.
  ///   - category: The part of the program, such as a logger's label, in at most 64 bytes.
  ///   - metadata: Keys and values, recorded in the order of the keys.
  public static func addBreadcrumb(
    _ message: String, level: Level? = nil, category: String? = nil, metadata: [String: String] = [:]
  ) {
    guard isStarted else { return }
    let pairs = metadata.isEmpty ? "" : Self.pairs(metadata)
    unsafe withCharacters(message) { message, messageCount in
      unsafe withCharacters(category ?? "") { category, categoryCount in
        unsafe withCharacters(pairs) { pairs, pairsCount in
          // Invariant: all buffers stay valid until these closures return, and the C function copies their contents.
          unsafe cs_shim_breadcrumb_with(
            cs_shim_text(start: message, bytes: messageCount), level?.code ?? .CS_RING_LEVEL_NONE,
            cs_shim_text(start: category, bytes: categoryCount), cs_shim_text(start: pairs, bytes: pairsCount),
            RequestContext.number)
        }
      }
    }
  }

  /// Encodes keys and values for the ring: a NUL ends each string, and NULs inside a string are removed.
  ///
  /// Skips a pair that does not fit, without reading its characters: a string from a client can be very long.
  private static func pairs(_ metadata: [String: String]) -> String {
    let limitBytes = Int(CS_RING_BREADCRUMB_LIMIT_BYTES)
    var pairs = ""
    for (key, value) in metadata.sorted(by: { $0.key < $1.key })
    where !key.isEmpty && max(key.utf8.count, value.utf8.count) < limitBytes {
      pairs += withoutNUL(key) + "\0" + withoutNUL(value) + "\0"
    }
    return pairs
  }

  private static func withoutNUL(_ text: String) -> String {
    text.utf8.contains(0) ? String(text.unicodeScalars.filter { $0 != "\0" }) : text
  }

  /// Calls `body` with the string's UTF-8 bytes as C's `char`.
  ///
  /// The bytes of an empty string can have no address; `body` then receives the address of an empty C string.
  static func withCharacters<Result>(
    _ text: String, _ body: (UnsafePointer<CChar>, Int) -> Result
  ) -> Result {
    var text = text
    return text.withUTF8 { bytes in
      guard let start = bytes.baseAddress else {
        return unsafe "".withCString { empty in unsafe body(empty, 0) }
      }
      // Invariant: Int8 and UInt8 have the same layout, and the rebinding ends when the call returns.
      return unsafe start.withMemoryRebound(to: CChar.self, capacity: bytes.count) { characters in
        unsafe body(characters, bytes.count)
      }
    }
  }
}
