import Foundation
import Testing

/// Tests crashd on a full file system.
///
/// A script mounts the file system in a mount namespace that ends with the test.
@Suite("A disk that is full when crashd starts")
struct FullDiskTests {
  /// The script has two arguments: the directory of the built programs, and a scratch directory.
  private static let script = """
    set -u
    mkdir "$2/run" "$2/state"
    # Room for the symbol caches too: crashd writes them as soon as it can.
    mount -t tmpfs -o size=256m tmpfs "$2/state" || exit 77
    dd if=/dev/zero of="$2/state/filler" bs=64k 2>/dev/null
    dd if=/dev/zero bs=4k 2>/dev/null >>"$2/state/filler"
    "$1/crashd" --runtime-directory "$2/run" --state-directory "$2/state" --set retention.keep-free=0 2>"$2/log" &
    crashd=$!
    status() { "$1/crashctl" status --socket "$2/run/io.crashshield.Crashd" 2>/dev/null; }
    # While crashd lives: it listens when it answers, holds the crash when it says so, stores it when it counts it.
    until status "$@" | grep -q '^ *store '; do kill -0 "$crashd" || { cat "$2/log"; exit 1; }; sleep 0.1; done
    CRASHSHIELD_SOCKET="$2/run/attach" CRASHSHIELD_SPOOL="$2/run/spool" "$1/crash-maker" null-write 2>/dev/null
    until status "$@" | grep waiting; do kill -0 "$crashd" || exit 2; sleep 0.1; done
    rm "$2/state/filler"
    until status "$@" | grep '1 stored'; do kill -0 "$crashd" || exit 3; sleep 0.1; done
    kill "$crashd"
    wait "$crashd"
    echo "end $?"
    grep -c 'critical.*reports wait in memory until the store opens' "$2/log"
    """

  private static func run(_ words: [String]) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    process.environment = ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "SWIFT_BACKTRACE": "enable=no"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }

  private static let mayMount = geteuid() == 0 && (try? run(["unshare", "-m", "true"]).status) == 0

  @Test(
    "F16: crashd starts on a full disk, buffers crashes, logs this, and stores them when there is space",
    .enabled(if: mayMount))
  func start() throws {
    let scratch = try Scratch()
    defer { scratch.remove() }
    let products = URL(filePath: try CommandLineTests.product("crashd")).deletingLastPathComponent().path
    let (status, output) = try Self.run([
      "timeout", "--kill-after=5", "300", "unshare", "-m", "sh", "-c", Self.script, "sh", products, scratch.path,
    ])
    // The script exits with 77 if it cannot mount a tmpfs, for example in a container that allows the namespace, but
    // not the mount.
    if status == 77 { return }
    #expect(status == 0, "\(output)")
    let lines = output.split(separator: "\n")
    #expect(lines.count == 4 && lines.suffix(2) == ["end 0", "1"], "\(output)")
    #expect(lines.first?.contains("1 reports, in memory") == true)
  }
}
