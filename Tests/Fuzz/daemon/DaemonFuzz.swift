// The entry point for libFuzzer. The target fuzzes crashd's external inputs other than rings. A complete crashd runs in
// the fuzzing process. The first byte of an input selects what the rest is: a hello (the first message of a process) on
// the attach socket, the bytes of a client on the Varlink socket, a settings file, or a pattern of the scrubber with a
// text. scripts/fuzz/daemon builds this target.
import CLinux
import CShimRing
import CrashSettings
import CrashStore
import Glibc
import LinuxSystem
import Logging

@testable import CrashDaemon
@testable import CrashReport

private let directories = start()

/// Sends the input to its destination.
///
/// A trap, a finding of a sanitizer, or a crashd that stops answering ends the process.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzDaemon(_ data: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
  let bytes = Array(UnsafeBufferPointer(start: data, count: count))
  guard let way = bytes.first else { return 0 }
  switch way % 4 {
  case 0: greet(Array(bytes.dropFirst()))
  case 1: watch(Array(bytes.dropFirst()))
  case 2: readSettings(Array(bytes.dropFirst()))
  default: search(Array(bytes.dropFirst()))
  }
  return 0
}

/// Starts one crashd for all inputs, with its own directories.
private func start() -> Directories {
  // scripts/fuzz/daemon creates and removes the directory.
  guard let path = getenv("TMPDIR") else { fatalError("TMPDIR is not set") }
  let root = String(cString: path)
  let directories = Directories(runtime: "\(root)/run", state: "\(root)/state")
  var settings = Settings()
  settings.retention.age_s = 60
  let configuration = DaemonConfiguration(directories: directories, settings: settings, handlesSignals: false)
  do {
    let daemon = try Daemon(configuration, logger: Logger(label: "fuzz", factory: { _ in SwiftLogNoOpLogHandler() }))
    Task.detached {
      try? await daemon.run()
      fatalError("crashd ended")
    }
  } catch {
    fatalError("\(error)")
  }
  return directories
}

// MARK: The attach socket

/// Sends a hello.
///
/// The second byte of the input selects the number of descriptors, and whether the message begins like a hello.
private func greet(_ input: [UInt8]) {
  guard let shape = input.first else { return }
  var message = Array(input.dropFirst())
  if shape & 0x80 == 0 {
    // The target writes the header itself. With random first words, crashd would refuse the message at once.
    message += [UInt8](repeating: 0, count: max(0, MemoryLayout<cs_attach_hello>.size - message.count))
    message = Array(message.prefix(MemoryLayout<cs_attach_hello>.size))
    put(attachMagic, at: 0, &message)
    put(UInt64(CS_ATTACH_VERSION) | UInt64(CS_RING_VERSION) << 32, at: 8, &message)
    if shape & 0x40 == 0 { put(UInt64(MemoryLayout<cs_ring>.size), at: 16, &message) }
    if shape & 0x20 == 0 { put(UInt64(shape & 7), at: 24, &message) }
  }
  let socket = connected(directories.attachSocket, SOCK_SEQPACKET)
  defer { close(socket) }
  let rings = (0..<Int(shape & 7) + 1).map { ring(isSealed: shape & 0x10 == 0, index: $0) }
  defer { for number in rings { close(number) } }
  // The kernel refuses a message that is too long. crashd then receives only the end of the connection.
  _ = cd_socket_send(socket, message, message.count, rings, rings.count)
  _ = shutdown(socket, Int32(SHUT_WR))
  awaitAnswer(socket, patience_ms: 60_000)
}

/// Creates a file for the descriptor with this index in a hello.
///
/// Descriptor 0 is an empty ring of the right size. The others stand for the files of images (programs and libraries).
private func ring(isSealed: Bool, index: Int) -> Int32 {
  var number: Int32 = -1
  precondition(cd_memory_create(index == 0 ? MemoryLayout<cs_ring>.size : 4096, &number) == 0)
  if isSealed { precondition(cd_memory_seal(number, true) == 0) }
  return number
}

// MARK: The Varlink socket

private nonisolated(unsafe) var calls = 0
/// The maximum CPU time of crashd for each KiB of a call: ten times that of a normal call under the sanitizer.
private let callLimit_ns: UInt64 = 50_000_000

/// Sends a call, and checks crashd's CPU time for it, which does not depend on the machine's load.
///
/// A call that takes too long is sent up to twice more, because crashd may have done other work during the call.
private func watch(_ bytes: [UInt8]) {
  let limit_ns = callLimit_ns * UInt64(bytes.count / 1024 + 1)
  let isCheap = (0..<3).contains { _ in
    let before_ns = processTime_ns()
    call(bytes)
    return processTime_ns() - before_ns <= limit_ns
  }
  precondition(isCheap, "a call of \(bytes.count) bytes costs more than \(limit_ns / 1_000_000) ms of CPU time")
}

private func processTime_ns() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Sends the bytes unchanged, with a NUL at the end, as a call.
///
/// After every 64th call, checks that another client still gets an answer.
private func call(_ bytes: [UInt8]) {
  let socket = connected(directories.varlinkSocket, SOCK_STREAM)
  defer { close(socket) }
  write(bytes + [0], socket)
  _ = shutdown(socket, Int32(SHUT_WR))
  // A missing reply is not a failure here, because the call can wait for an event that never occurs.
  awaitAnswer(socket, patience_ms: 20, mayTakeLonger: true)
  calls += 1
  guard calls % 64 == 0 else { return }
  let other = connected(directories.varlinkSocket, SOCK_STREAM)
  defer { close(other) }
  write(Array(#"{"method":"org.varlink.service.GetInfo"}"#.utf8) + [0], other)
  _ = shutdown(other, Int32(SHUT_WR))
  awaitAnswer(other, patience_ms: 60_000)
}

private func write(_ bytes: [UInt8], _ socket: Int32) {
  // crashd can close the connection while this client still sends its call.
  _ = bytes.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
}

// MARK: Texts

private func readSettings(_ bytes: [UInt8]) {
  var reader = SettingsReader()
  do throws(SettingsError) {
    try reader.read(yaml: String(decoding: bytes, as: UTF8.self), at: "crashd.yaml")
    precondition(!SettingsReader.text(reader.settings).isEmpty)
  } catch {
    precondition(!error.description.isEmpty)
  }
}

/// Parses the input as a pattern, a NUL, and the text to scrub.
private func search(_ bytes: [UInt8]) {
  let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
  guard parts.count == 2 else { return }
  do throws(PatternProblem) {
    let pattern = try TextPattern(String(decoding: parts[0], as: UTF8.self))
    let text = Array(parts[1])
    var end = 0
    for range in pattern.ranges(in: text) ?? [] {
      precondition(range.lowerBound >= end && !range.isEmpty && range.upperBound <= text.count)
      end = range.upperBound
    }
  } catch {
    precondition(!error.reason.isEmpty)
  }
}

// MARK: Sockets

private func connected(_ path: String, _ type: __socket_type) -> Int32 {
  let socket = socket(AF_UNIX, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
  precondition(socket >= 0)
  let result = UnixAddress(path: path)?.connect(socket)
  precondition(result == 0, "crashd does not listen: \(errno)")
  return socket
}

/// Reads crashd's replies until it closes the connection.
private func awaitAnswer(_ socket: Int32, patience_ms: Int32, mayTakeLonger: Bool = false) {
  var buffer = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    var poll = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    guard Glibc.poll(&poll, 1, patience_ms) > 0 else {
      precondition(mayTakeLonger, "crashd does not answer")
      return
    }
    let count = buffer.withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
    if count <= 0 { return }
  }
}

private func put(_ value: UInt64, at offset: Int, _ bytes: inout [UInt8]) {
  for index in 0..<8 { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index)) }
}
