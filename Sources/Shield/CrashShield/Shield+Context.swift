import CShim
import CShimRing

// What a report shows of the program: tags, the user, breadcrumbs.
extension Shield {
  /// Sets a tag of this process that its reports show, such as its region.
  ///
  /// Replaces the value that `key` had; an empty value removes it. There is room for 64 keys, a key holds 64 bytes and
  /// a value 440 bytes of UTF-8; longer ones are cut. Any thread; about a hundred nanoseconds. Not for secrets.
  ///
  /// The keys `release`, `environment` and `user` are fields of their own in reports. `CRASHSHIELD_RELEASE` and
  /// `CRASHSHIELD_ENVIRONMENT` take precedence over this call.
  ///
  /// ```swift
  /// Shield.setTag("region", to: "eu-central")
  /// ```
  ///
  /// - Returns: False if a text was cut, if there was no room, if the environment sets the key, or if the shield is not
  ///   started.
  @discardableResult
  public static func setTag(_ key: String, to value: String) -> Bool {
    unsafe withCharacters(key) { key, keyCount in
      // The buffers live as long as these closures; the shim copies them.
      unsafe withCharacters(value) { value, valueCount in unsafe cs_shim_annotate(key, keyCount, value, valueCount) }
    }
  }

  /// Sets the user that reports of this process show; nil removes it.
  ///
  /// For a process that serves one user, such as a worker or a tool. An identifier, not a name or an address.
  ///
  /// - Returns: As `setTag`.
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

  /// Records a breadcrumb, which the report of a later crash shows with its time, such as the request being served.
  ///
  /// The ring keeps the last 128. Message, category and metadata share 232 bytes of UTF-8: a long message is cut, and a
  /// pair of metadata that does not fit is dropped. Lock-free, any thread; about a hundred nanoseconds, so cheap enough
  /// for each request but not for each iteration. Does nothing if the shield is not started. Not for secrets.
  ///
  /// ```swift
  /// Shield.addBreadcrumb("GET /cart/42", level: .info, category: "http", metadata: ["request-id": "7F3A"])
  /// ```
  ///
  /// - Parameters:
  ///   - message: What happened.
  ///   - level: Its severity; nil: the report shows none.
  ///   - category: The part of the program, such as a logger's label; 64 bytes at most.
  ///   - metadata: Keys and values, kept in the order of the keys.
  public static func addBreadcrumb(
    _ message: String, level: Level? = nil, category: String? = nil, metadata: [String: String] = [:]
  ) {
    guard isStarted else { return }
    let pairs = metadata.isEmpty ? "" : Self.pairs(metadata)
    unsafe withCharacters(message) { message, messageCount in
      unsafe withCharacters(category ?? "") { category, categoryCount in
        unsafe withCharacters(pairs) { pairs, pairsCount in
          // The buffers live as long as these closures; the shim copies them.
          unsafe cs_shim_breadcrumb_with(
            cs_shim_text(start: message, bytes: messageCount), level?.code ?? .CS_RING_LEVEL_NONE,
            cs_shim_text(start: category, bytes: categoryCount), cs_shim_text(start: pairs, bytes: pairsCount))
        }
      }
    }
  }

  /// Keys and values as the ring holds them: each followed by a NUL, which a text of them cannot contain.
  ///
  /// Skips what cannot fit before it looks at the characters: a client of the program may have sent them, and many.
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

  /// Calls `body` with UTF-8 as C's `char`; an empty string may have no address, but C gets a valid one.
  private static func withCharacters<Result>(
    _ text: String, _ body: (UnsafePointer<CChar>, Int) -> Result
  ) -> Result {
    var text = text
    return text.withUTF8 { bytes in
      guard let start = bytes.baseAddress else {
        return unsafe "".withCString { empty in unsafe body(empty, 0) }
      }
      // Int8 and UInt8 have the same layout; the rebinding lasts for the call.
      return unsafe start.withMemoryRebound(to: CChar.self, capacity: bytes.count) { characters in
        unsafe body(characters, bytes.count)
      }
    }
  }
}
