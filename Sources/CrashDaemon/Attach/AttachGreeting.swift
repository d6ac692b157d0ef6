import CrashRing

/// The first message of a process, with its ring and its images.
enum AttachGreeting {
  /// Checks everything that a process says of itself.
  /// - Throws: `AttachRefusal`; the descriptors of the message are closed with it.
  static func check(
    _ message: AttachSocket.Message, from peer: Peer, number: UInt64
  ) throws(AttachRefusal) -> (AttachedProcess, [ImageFile]) {
    let hello = try AttachHello(
      message: message.bytes, descriptorCount: message.descriptors.count, isTruncated: message.isTruncated)
    guard let memory = message.descriptors.first else { throw .malformed("no ring came with the hello") }
    let ring: RingSource
    do {
      ring = try RingSource(memory: memory)
    } catch {
      throw AttachRefusal(error)
    }
    let contents = ring.mapping.contents()
    var descriptors: [Int: Descriptor] = [:]
    for (index, descriptor) in zip(hello.images, message.descriptors.dropFirst()) {
      descriptors[index] = descriptor
    }
    let process = AttachedProcess(
      number: number,
      facts: ProcessFacts(
        contents, peer: peer, unit: ProcessUnit.of(pid: peer.pid), memory: MemoryEvents.of(pid: peer.pid)), ring: ring)
    return (process, ImageFile.list(contents.images, descriptors: descriptors))
  }
}

extension ProcessFacts {
  init(_ contents: RingContents, peer: Peer, unit: String?, memory: MemoryEvents? = nil) {
    self.init(
      peer: peer, identity: contents.identity,
      buildID: contents.images.first { $0.isExecutable }?.buildID ?? "", unit: unit, memory: memory)
  }
}
