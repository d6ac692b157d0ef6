import CrashMaker
import Glibc
import TestKit
import Testing

/// Tests which dynamic libraries the programs link.
@Suite
struct LinkageTests {
  @Test("an optimized crash-maker links neither libunwind nor Foundation", Binaries.ofRelease)
  func crashMaker() async throws {
    let libraries = try await libraries(of: Binaries.optimizedCrashMaker())
    #expect(libraries.contains("libc.so"))
    #expect(!libraries.contains("libunwind"))
    #expect(!libraries.contains("Foundation"))
  }

  @Test("the demo server links no libunwind")
  func demoServer() async throws {
    let libraries = try await libraries(of: Binaries.path("DemoServer"))
    #expect(libraries.contains("libc.so"))
    #expect(!libraries.contains("libunwind"))
  }

  @Test("only crash-analyse links libunwind", arguments: ["crashd", "crashctl", "crash-maker", "DemoServer"])
  func libunwind(program: String) async throws {
    let ofHost = "libunwind-\(Architecture.current.rawValue).so"
    #expect(try await libraries(of: Binaries.path("crash-analyse")).contains(ofHost))
    #expect(try await !libraries(of: Binaries.path(program)).contains("libunwind"))
  }

  @Test("the tests do not load libunwind, whose symbols would replace those of libgcc")
  func testRunner() throws {
    let maps = try contents(of: "/proc/self/maps")
    #expect(maps.contains("libgcc_s.so"))
    #expect(!maps.contains("libunwind"))
  }

  /// Returns the output of ldd.
  private func libraries(of program: String) async throws -> String {
    let directory = try TestDirectory()
    let path = directory.path + "/libraries"
    let output = try FileDescriptor(unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600), from: "open '\(path)'")
    let child = try ChildProcess.start("/usr/bin/ldd", [program], ChildProcess.Options(output: output.number))
    #expect(try await child.wait().code == 0)
    return try contents(of: path)
  }
}
