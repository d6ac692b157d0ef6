internal import GRPCCore

/// All parts of a request, including the first part, which has already been read.
struct ReplayedParts<Bytes: GRPCContiguousBytes & Sendable>: AsyncSequence, @unchecked Sendable {
  typealias Element = RPCRequestPart<Bytes>
  typealias Failure = any Error

  private let first: Result<Element?, any Error>
  // Sendable: a stream has one reader, so only one iterator reads the parts.
  private let rest: RPCAsyncSequence<Element, any Error>.AsyncIterator

  /// Waits for the first part of the request.
  init(_ parts: RPCAsyncSequence<Element, any Error>) async {
    var iterator = parts.makeAsyncIterator()
    do { first = .success(try await iterator.next()) } catch { first = .failure(error) }
    rest = iterator
  }

  /// The metadata of the client, or nil if the first part is not metadata.
  var metadata: Metadata? {
    guard case .success(.metadata(let metadata)) = first else { return nil }
    return metadata
  }

  func makeAsyncIterator() -> Iterator { Iterator(first: first, rest: rest) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var first: Result<Element?, any Error>?
    fileprivate var rest: RPCAsyncSequence<Element, any Error>.AsyncIterator

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
      if let first {
        self.first = nil
        return try first.get()
      }
      return try await rest.next(isolation: actor)
    }
  }
}
