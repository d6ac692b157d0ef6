import CrashProtocol
import CrashReport
import FoundationEssentials
import Testing

@Suite("Release, environment, user and facts of the machine")
struct FactsTextTests {
  @Test("well-known annotations are also fields, and all annotations are tags; the text shows each value once")
  func lifting() {
    let sample = Sample.indexOutOfRange
    let report = CrashReport(
      id: "a", time: sample.time, process: sample.process, signal: sample.signal, reason: "",
      diagnosis: sample.diagnosis, threads: [], images: [],
      annotations: ["release": "shop@1", "environment": "test", "user": "17", "region": "eu"], group: sample.group)
    #expect(report.release == "shop@1" && report.environment == "test" && report.user == "17")
    #expect(report.annotations == ["release": "shop@1", "environment": "test", "user": "17", "region": "eu"])
    #expect(report.otherAnnotations == ["region": "eu"])
    #expect(TextRenderer().render(report).ranges(of: "shop@1").count == 1)
    #expect(HTMLRenderer().render(report).ranges(of: "shop@1").count == 1)
    #expect(report.tags == ["release": "shop@1", "environment": "test", "user": "17", "region": "eu"])
  }

  @Test("in a report of an older crashd, the well-known values are read from the annotations")
  func older() {
    var report = Sample.indexOutOfRange
    report.annotations = ["release": "shop@1", "region": "eu"]
    #expect(report[.release] == "shop@1" && report[.user] == nil && report.tags == report.annotations)
    #expect(TextRenderer().render(report).contains("\nrelease shop@1\n"))
  }

  @Test("host, pod, release, environment and user are in the header of text and HTML")
  func header() {
    let origins = [
      "on web-3", "pod cart-7c5", "release cart@2.4.1", "environment production", "user customer 17",
    ]
    #expect(TextRenderer().render(Sample.everything).contains("\n\(origins.joined(separator: " · "))\n"))
    // Each part is isolated (<bdi>), because it can be in a right-to-left script.
    let parts = origins.map { "<bdi>\($0)</bdi>" }.joined(separator: " · ")
    #expect(HTMLRenderer().render(Sample.everything).contains("</time> · \(parts)</p>"))
  }

  @Test("a hostile host name or release cannot inject control sequences or markup")
  func hostile() {
    var report = Sample.everything
    report.machine?.host = "a\u{1b}[31m\n"
    report.release = "<script>\u{202e}"
    report.process.commandLine = "\u{9b}31m</dd><script>"
    report.container?.runtime = "<b>"
    for text in [TextRenderer(verbose: true).render(report), AppleRenderer().render(report)] {
      #expect(!text.unicodeScalars.contains(where: CleanText.isUnsafe))
    }
    #expect(!HTMLRenderer().render(report).contains("<script>"))
    #expect(!HTMLRenderer().render(report).contains("<b>"))
  }

  @Test("the pod is in text and HTML, with a note that the process claims its names")
  func pod() {
    var report = Sample.everything
    let line =
      "cart-7c5 in shop on node-2, container web (claimed by the process), uid 28478e30-384f-41e5-9d85-eae249ae8506"
    #expect(TextRenderer(width: 200).render(report).contains(line))
    #expect(HTMLRenderer().render(report).contains(line))
    report.container = CrashReport.Container(id: "c0ff", podUID: report.container?.podUID)
    report.container?.name = "web"
    #expect(TextRenderer(width: 200).render(report).contains(" container web, uid 28478e30"))
    report.container = CrashReport.Container(podUID: "2f7a")
    #expect(TextRenderer(width: 200).render(report).contains(" uid 2f7a\n"))
  }

  @Test("the container and its pod are tags under OpenTelemetry's names, and annotations of these names appear once")
  func podTags() {
    var report = Sample.everything
    report.annotations = ["k8s.pod.name": "cart-7c5", "k8s.node.name": "changed", "container.id": "claimed"]
    #expect(report.tags["k8s.pod.name"] == "cart-7c5" && report.tags["k8s.namespace.name"] == "shop")
    #expect(report.tags["container.id"] == report.container?.id)
    #expect(report.tags["k8s.pod.uid"] == report.container?.podUID && report.tags["k8s.container.name"] == "web")
    #expect(report.otherAnnotations == ["k8s.node.name": "changed", "container.id": "claimed"])
    #expect(report.container?.id == report.container?.added(to: CrashReport.Container(id: "other")).id)
  }

  @Test("the names of the pod are scrubbed like annotations, and its uid and the container's id are kept")
  func podScrubbing() throws {
    let json = try #require(JSONValue(parsing: Array(ReportCoding.encode(Sample.everything).utf8)))
    var rules = PrivacySettings()
    (rules.annotations, rules.patterns) = (["namespace"], ["cart-[0-9]"])
    let container = try #require(try TextScrubber(rules).scrub(report: json)["container"])
    #expect(container["pod"] == .string("[scrubbed]c5") && container["namespace"] == .string("[scrubbed]"))
    #expect(container["name"] == .string("web") && container["id"] == json["container"]?["id"])
  }

  @Test("the report of a killed process shows its last known memory use, and the age of this reading")
  func killed() {
    var report = Sample.everything
    report.death = CrashReport.Death(signal: 9)
    report.resources?.time = "2026-11-21T08:13:03.000000Z"
    let text = TextRenderer(width: 200).render(report)
    #expect(
      text.contains(
        "430.0 MiB resident (498.0 MiB at most, 3.0 MiB in swap); the limit is 512.0 MiB (cgroup, 511.0 MiB used), "
          + "4s before the end\n"))
    report.resources = nil
    #expect(!TextRenderer(width: 200).render(report).contains("resident"))
  }

  @Test("a minidump has the kernel and the command line; Apple's format has the system, processor and release")
  func otherForms() throws {
    let bytes = MinidumpRenderer().render(Sample.everything)
    let kernel = "Linux 6.1.0-28-amd64".utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
    #expect(bytes.contains(kernel) && bytes.contains(Array("/srv/bin/CartServer --port 80 --token [scrubbed]\0".utf8)))
    let apple = AppleRenderer().render(Sample.everything)
    #expect(apple.contains("OS Version:            Debian GNU/Linux 12 (bookworm) (Linux 6.1.0-28-amd64)\n"))
    #expect(apple.contains("Hardware Model:        AMD EPYC 7B13\n") && apple.contains("  cart@2.4.1 (cb2411d9"))
  }

  @Test("fields with the values of annotations are scrubbed like annotations: by their key and by every pattern")
  func scrubbing() throws {
    let json = try #require(JSONValue(parsing: Array(ReportCoding.encode(Sample.everything).utf8)))
    var rules = PrivacySettings()
    rules.annotations = ["user"]
    rules.patterns = ["cart@", "web-[0-9]"]
    let scrubbed = try TextScrubber(rules).scrub(report: json)
    #expect(scrubbed["user"] == .string("[scrubbed]") && scrubbed["release"] == .string("[scrubbed]2.4.1"))
    #expect(scrubbed["environment"] == .string("production"))
    #expect(scrubbed["machine"]?["host"] == .string("[scrubbed]"))
    #expect(scrubbed["machine"]?["id"] == json["machine"]?["id"])
  }

  @Test("a tag is KEY=VALUE, and its value may have an equals sign")
  func tags() {
    #expect(ReportFilter.tag("a=b=c")?.key == "a" && ReportFilter.tag("a=b=c")?.value == "b=c")
    for wrong in ["", "a", "a=", "=b", "="] { #expect(ReportFilter.tag(wrong) == nil, "\(wrong)") }
    #expect(!ReportFilter(tags: Array(repeating: "a=b", count: 9)).hasGoodTags)
    #expect(ReportFilter(release: "a", tags: ["a=b", "release=a", "a=b"]).wantedTags.map(\.key) == ["release", "a"])
  }
}
