import CrashReport
import Glibc
import Testing

@testable import CrashDaemon

/// Tests how crashd reads facts about the machine and about a process.
///
/// The inputs are strings that a kernel wrote, and hostile strings.
@Suite("Facts of machine and process")
struct FactsTests {
  private static let id = String(repeating: "0123456789abcdef", count: 4)

  @Test("the machine's id is the application-specific id that systemd derives, never the machine id itself")
  func machineID() {
    let raw = "0123456789abcdef0123456789abcdef"
    #expect(MachineFacts.derivedID(raw + "\n") == "43c25204487b4810af61a142ae435ea6")
    for wrong in ["", "uninitialized\n", raw.dropLast() + "g", raw + "0", String(repeating: "0", count: 32)] {
      #expect(MachineFacts.derivedID(String(wrong)) == nil, "\(wrong)")
    }
  }

  @Test("HMAC-SHA256 computes the values of the examples in RFC 4231")
  func authentication() {
    let hexadecimal = { (bytes: [UInt8]) in bytes.map { UInt64($0).hexadecimal(digits: 2) }.joined() }
    #expect(
      hexadecimal(SHA256.authentication(of: Array("Hi There".utf8), by: [UInt8](repeating: 0x0b, count: 20)))
        == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
    #expect(
      hexadecimal(SHA256.authentication(of: Array("what do ya want for nothing?".utf8), by: Array("Jefe".utf8)))
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }

  @Test(
    "the distribution is PRETTY_NAME of os-release, with any kind of quotes",
    arguments: [
      ("NAME=a\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=x\n", "Debian GNU/Linux 12 (bookworm)"),
      ("PRETTY_NAME='Alpine Linux v3.22'", "Alpine Linux v3.22"), ("PRETTY_NAME=Arch\n", "Arch"),
      ("PRETTY_NAME=\"a\\\"b", "a"), ("PRETTY_NAME=\"\"\n", nil), ("XPRETTY_NAME=a\n", nil), ("", nil),
      ("PRETTY_NAME=\"a\u{1b}[31m\"", "a␛[31m"),
    ] as [(String, String?)])
  func distribution(text: String, name: String?) { #expect(MachineFacts.distribution(text) == name) }

  @Test("the processor is described by the first entry's model, on arm64 by its implementer and part")
  func processor() {
    let x86 = "processor\t: 0\nmodel name\t: AMD EPYC 7B13\n\nprocessor\t: 1\nmodel name\t: other\n"
    #expect(MachineFacts.processor(x86) == "AMD EPYC 7B13")
    #expect(
      MachineFacts.processor("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n") == "ARM implementer 0x41, part 0xd0c")
    #expect(MachineFacts.processor("model name") == nil && MachineFacts.processor(":\n:::\n") == nil)
    #expect(MachineFacts.processor("model name: " + String(repeating: "x", count: 9_999))?.count ?? 0 < 200)
  }

  @Test("crashd reads this machine's name and kernel, and an id that differs from the machine id")
  func here() {
    let machine = MachineFacts.here
    #expect(machine.host == SmallFile.text(at: "/proc/sys/kernel/hostname")?.prefix { $0 != "\n" }.description)
    #expect(machine.kernel?.hasPrefix("Linux ") == true)
    #expect(machine.memoryBytes ?? 0 > 1 << 20 && machine.processors ?? 0 > 0)
    let raw = SmallFile.text(at: "/etc/machine-id")?.prefix(32)
    #expect(raw == nil || machine.id != raw.map(String.init))
  }

  @Test(
    "a container's id is found in the path of its control group, in the form of each engine",
    arguments: [
      ("0::/system.slice/docker-ID.scope\n", "docker"), ("5:memory:/docker/ID\n0::/\n", "docker"),
      ("0::/kubepods.slice/kubepods-pod1_2.slice/cri-containerd-ID.scope\n", "containerd"),
      ("0::/kubepods/burstable/pod1-2/ID\n", nil), ("0::/kubepods.slice/kubepods-pod1.slice/crio-ID.scope\n", "cri-o"),
      ("0::/machine.slice/libpod-ID.scope/container\n", "podman"),
      ("0::/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:ID\n", "containerd"),
      ("0::/../../pod1/cri-containerd-ID.scope\n", "containerd"),
      ("0::/system.slice/docker-ID.scope/init.scope/worker\n", "docker"),
    ] as [(String, String?)])
  func container(text: String, runtime: String?) {
    #expect(
      ContainerName.of(cgroups: text.replacing("ID", with: Self.id))
        == CrashReport.Container(id: Self.id, runtime: runtime, source: "cgroup"))
  }

  @Test(
    "names of other control groups are not read as container ids",
    arguments: [
      "", "\n\n", ":", "0::", "0::/", "0::/user.slice/user-1000.slice/session-2.scope", "0::/docker-ID0.scope",
      "0::/machine.slice/libpod-conmon-ID.scope", "0::/a/crio-conmon-ID.scope", "0::/xID", "0::/docker-ID.service",
      "0::/docker-\u{fffd}.scope", "ID",
    ])
  func noContainer(text: String) { #expect(ContainerName.of(cgroups: text.replacing("ID", with: Self.id)) == nil) }

  @Test("a container's id is found in the source of its /etc/hostname mount, and in no other mount")
  func mounts() {
    let line = { (root: String, point: String) in
      "812 780 8:1 \(root.replacing("ID", with: Self.id)) \(point) rw,relatime - ext4 /dev/sda1 rw\n"
    }
    let other = line("/var/lib/docker/containers/ID/hosts", "/etc/hosts")
    #expect(
      ContainerName.of(mounts: other + line("/var/lib/docker/containers/ID/hostname", "/etc/hostname"))
        == CrashReport.Container(id: Self.id, runtime: "docker", source: "mountinfo"))
    #expect(
      ContainerName.of(
        mounts: line("/c/storage/overlay-containers/ID/userdata/hostname", "/etc/hostname"))?.runtime == "podman")
    for wrong in [other, line("/containers", "/etc/hostname"), line("/containers/ID0", "/etc/hostname"), "", "a b c"] {
      #expect(ContainerName.of(mounts: wrong) == nil, "\(wrong)")
    }
  }

  @Test("the memory limit is the smallest limit of the process's control group and its parents")
  func memoryLimit() throws {
    let limit = try #require(MemoryLimit(cgroups: "0::/a.slice/b.service/c\n"))
    let root = "/sys/fs/cgroup/a.slice"
    let files = [
      root + "/memory.max": "max\n", root + "/b.service/memory.max": "512\n",
      root + "/b.service/c/memory.max": "1024\n",
      root + "/b.service/memory.current": "500\n",
    ]
    #expect(limit.directories == [root + "/b.service/c", root + "/b.service", root, "/sys/fs/cgroup"])
    let found = limit.smallest { files[$0] }
    #expect(found?.bytes == 512 && found?.directory == root + "/b.service")
    #expect(limit.used(in: root + "/b.service") { files[$0] } == 500)
    #expect(limit.smallest { _ in "9223372036854771712\n" } == nil)
    for hostile in ["-1", "99999999999999999999", "", "max", "\u{fffd}", "12x"] {
      #expect(limit.smallest { _ in hostile } == nil, "\(hostile)")
    }
  }

  @Test("version 1 of control groups has other files; a path outside crashd's namespace gives no limit")
  func otherGroups() throws {
    let first = try #require(MemoryLimit(cgroups: "4:cpu,cpuacct:/x\n9:memory:/docker/x\n0::/\n"))
    #expect(first.directories.first == "/sys/fs/cgroup/memory/docker/x" && first.names.limit == "memory.limit_in_bytes")
    // In the cgroup namespace of a container, the container's own group appears as the root group.
    let own = try #require(MemoryLimit(cgroups: "0::/\n"))
    let found = own.smallest { $0 == "/sys/fs/cgroup/memory.max" ? "4096\n" : nil }
    #expect(own.directories == ["/sys/fs/cgroup"] && found?.bytes == 4096)
    for text in ["0::/../x\n", "4:cpu:/x\n", "", "0::" + String(repeating: "/a", count: 9_999)] {
      #expect(MemoryLimit(cgroups: text) == nil)
    }
  }

  @Test("memory and limits are parsed from the kernel's lines; hostile numbers are ignored")
  func figures() {
    let status = "Name:\tVmRSS: 1 kB\nVmHWM:\t    1780 kB\nVmRSS:\t     412 kB\nVmSwap:\t       0 kB\n"
    #expect(ProcessFigures.kibibytes("VmRSS", in: status) == 412 * 1024)
    #expect(ProcessFigures.kibibytes("VmHWM", in: status) == 1780 * 1024)
    for line in ["VmRSS: -1 kB", "VmRSS: 9223372036854775807 kB", "VmRSS: x kB", "VmRSS: 1 MB", "VmRSS:", "VmRSS"] {
      #expect(ProcessFigures.kibibytes("VmRSS", in: line) == nil, "\(line)")
    }
    let limits = """
      Limit                     Soft Limit           Hard Limit           Units
      Max open files            1024                 1048576              files
      Max address space         unlimited            unlimited            bytes

      """
    #expect(ProcessFigures.limit("Max open files", in: limits) == 1024)
    #expect(ProcessFigures.limit("Max address space", in: limits) == nil)
    #expect(ProcessFigures.limit("Max open files", in: "Max open files -3") == nil)
  }

  @Test("for this process, crashd reads resident memory, and fewer open descriptors than their limit")
  func ownFigures() throws {
    let found = ProcessFigures.resources(pid: getpid(), limit: nil, time: .now())
    let resident = try #require(found.residentBytes)
    #expect(resident > 1 << 20 && resident <= found.peakResidentBytes ?? 0)
    #expect(found.descriptorLimit.map { $0 > (found.openDescriptors ?? 0) } == true)
    #expect(ProcessFigures.resources(pid: 1 << 30, limit: nil, time: .now()).residentBytes == nil)
  }

  @Test("the memory limit is that of the control group, or the limit of the address space if the group has none")
  func limitSources() {
    let files = ["/proc/7/limits": "Max address space         4096                 8192                 bytes\n"]
    let bare = ProcessFigures.resources(pid: 7, limit: nil, time: .now(), read: { files[$0] }, descriptors: { _ in 3 })
    #expect(bare.memoryLimitBytes == 4096 && bare.memoryLimitSource == "address space" && bare.openDescriptors == 3)
    let grouped = ProcessFigures.resources(
      pid: 7, limit: MemoryLimit(cgroups: "0::/a\n"), time: .now(),
      read: { files[$0] ?? ($0.hasSuffix("memory.max") ? "100\n" : $0.hasSuffix("memory.current") ? "99\n" : nil) },
      descriptors: { _ in nil })
    #expect(grouped.memoryLimitBytes == 100 && grouped.memoryLimitSource == "cgroup" && grouped.groupBytes == 99)
  }

  @Test("the control group of version 2 is used, or that of version 1 if version 2 has only the root group")
  func cgroup() {
    let named = { ProcessContext(machine: nil, cgroups: $0).cgroup }
    #expect(named("9:name=systemd:/s\n4:memory:/m\n0::/two\n") == "/two")
    #expect(named("9:name=systemd:/s\n4:cpu,memory:/m\n0::/\n") == "/s")
    #expect(named("4:cpu,memory:/m\n0::/\n") == "/m")
    #expect(named("0::/\n") == "/" && named("") == nil)
    #expect(named("0::/a\u{1b}b")?.contains("\u{1b}") == false)
    #expect(named("0::/" + String(repeating: "a", count: 9_999))?.count ?? 0 <= 512)
  }
}

/// Tests that crashd removes secrets from a command line before it stores it, and that arguments can contain any bytes.
@Suite("The command line")
struct CommandLineTextTests {
  private func text(_ arguments: [String]) throws -> String? {
    CommandLine.text(arguments.map { $0 + "\0" }.joined(), scrubbedBy: try TextScrubber(PrivacySettings()))
  }

  @Test("arguments are separated by spaces; arguments with a space or a quote are quoted")
  func plain() throws {
    #expect(try text(["/srv/shop", "--port", "80"]) == "/srv/shop --port 80")
    #expect(try text(["sh", "-c", "echo it's", ""]) == #"sh -c 'echo it'\''s' ''"#)
    #expect(try text([]) == nil)
  }

  @Test(
    "the values of secret options, mail addresses and home directories are scrubbed",
    arguments: [
      (["s", "--password", "hunter2", "-v"], "s --password [scrubbed] -v"),
      (["s", "--api-key=hunter2"], "s --api-key=[scrubbed]"),
      (["s", "DB_PASSWORD=hunter2"], "s DB_PASSWORD=[scrubbed]"),
      (["s", "--token", "--verbose", "x"], "s --token --verbose x"), (["s", "a@example.org"], "s [scrubbed]"),
      (["/home/anna/shop"], "/home/[user]/shop"),
      (["s", "-H", "Authorization: Bearer abc"], "s -H 'Authorization: [scrubbed]'"),
      (["s", "-H", "X-Api-Key: a b", "c"], "s -H 'X-Api-Key: [scrubbed]' c"),
      (["sh", "-c", "psql --password hunter2 -v"], "sh -c 'psql --password [scrubbed] -v'"),
      (["sh", "-c", "PGPASSWORD='a b' psql"], "sh -c 'PGPASSWORD=[scrubbed] psql'"),
      (["shop: --password=hunter2 worker"], "'shop: --password=[scrubbed] worker'"),
      (["s", "--set=db.password=hunter2"], "s --set=db.password=[scrubbed]"),
      (["s", "http://h/?a=b&token=hunter2&c=d"], "s http://h/?a=b&token=[scrubbed]"),
      (["s", "postgres://shop:hunter2@db/shop"], "s postgres://[scrubbed]@db/shop"),
      (["s", "a://u:p@h,b://u:p@h"], "s a://[scrubbed]@h,b://[scrubbed]@h"),
      (["s", "--token", "-abc", "x"], "s --token [scrubbed] x"), (["s", "--token", "", "x"], "s --token [scrubbed] x"),
      (["s", "--token", "a b c"], "s --token [scrubbed]"),
      (["s", "--url", "http://h:80/a@b"], "s --url http://h:80/a@b"),
    ])
  func secrets(arguments: [String], wanted: String) throws {
    #expect(try text(arguments) == wanted)
    // An export can have stricter privacy rules than the store. They are applied to the stored command line, whether or
    // not it is already scrubbed.
    var none = PrivacySettings()
    (none.annotations, none.patterns, none.homeDirectories) = ([], [], false)
    let plain = arguments.map { $0 + "\0" }.joined()
    let stored = try #require(CommandLine.text(plain, scrubbedBy: try TextScrubber(none)))
    #expect(try TextScrubber(PrivacySettings()).scrub(commandLine: stored) == wanted)
    #expect(try TextScrubber(PrivacySettings()).scrub(commandLine: wanted) == wanted)
  }

  @Test("the command line from any bytes is one line of bounded length without control characters")
  func hostile() throws {
    let line = try #require(try text(["a\u{1b}]0;x\u{7}\n", String(repeating: "é", count: 9_999)]))
    #expect(line.count <= 1_024 && line.hasSuffix("…"))
    #expect(!line.unicodeScalars.contains(where: CleanText.isUnsafe) && !line.contains("\n"))
    #expect(CommandLine.text("no zero", scrubbedBy: try TextScrubber(PrivacySettings())) == "'no zero'")
    #expect(try text(Array(repeating: "", count: 3_000))?.count ?? 0 <= 1_024)
  }
}
