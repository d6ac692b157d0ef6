"""Writes the Swift sources of a program with many known defects, and builds it in several ways.

`defects()` returns the labels (the names of the defects), and for each label the runs that reach the defect.
docs/measurements/grouping.md has the rule for labels. The program is called as `shop ROUTE THREAD NUMBER DEPTH`.
"""

import dataclasses
import pathlib
import random
import struct
import subprocess

DOMAINS = ("Order", "Cart", "User", "Payment", "Stock", "Parcel", "Coupon", "Review")

# A fault computes `result` from `n`, which is at least 0 and unknown to the compiler. K is a constant that differs for
# each defect, so that the optimizer does not merge equal functions.
FAULTS = {
    "index": "let row = table(K); result = row[n &+ K]",
    "unwrap": "let known: [Int: Int] = [K: n]; result = known[n &- K]!",
    "overflow": "result = Int.max - K + (n &+ K &+ 1)",
    "divide": "result = (K &+ n) / nothing()",
    "narrow": "result = Int(UInt8(n &+ 300 &+ K))",
    "range": "for step in (n &+ K)..<nothing() { result &+= step }",
    "cast": "let value: Any = word(K); result = value as! Int",
    "try": "result = try! parsed(word(K))",
    "fatal": 'fatalError("no such state K")',
    "null": "result = UnsafePointer<Int>(bitPattern: nothing() &+ 64)!.pointee &+ K",
    "remove": "var rest = table(0); result = rest.removeFirst() &+ K",
    "text": "let text = word(K); result = Int(Array(text.utf8)[n &+ 50 &+ K])",
    "double": "result = Int(Double(n &+ K) * 1e300)",
    "abort": "result = K; abort()",
}

# The statements of functions beside the fault. Without them, functions would differ only in constants, and the
# optimizer would merge them. A merged function has the name of one of them, and no source lines.
WORK = (
    "for step in 0..<3 { sink(step &* K) }",
    "let title = word(K); if title.utf8.count > 90 { sink(K) }",
    "if table(K % 5 + 1).contains(K) { sink(n) }",
    "sink(table(K % 4 + 1).reduce(0, &+))",
    "switch n % 5 {\ncase 0: sink(K)\ncase 4: sink(K &* 3)\ndefault: sink(n)\n}",
    "var pairs: [String: Int] = [:]; pairs[word(K)] = n; sink(pairs.count)",
    "let upper = word(K).uppercased(); sink(upper.utf8.count &+ n)",
    "while drain % 7 == K % 7 { sink(1) }",
)

# A shape is the code around the fault. In it, D stands for the domain, V for a verb of the defect, and FAULT for the
# fault.
SHAPES = {
    "method": ("", "try! service.V(n) &+ 1", "func V(_ n: Int) throws -> Int { var result = 0; FAULT; return result }"),
    "closure": ("", "service.V(n) &+ 1",
                "func V(_ n: Int) -> Int { return lines.map { line in var result = line &- line; FAULT; return result }.reduce(0, &+) }"),
    "local": ("", "service.V(n) &+ 1",
              "func V(_ n: Int) -> Int { func step(_ n: Int) -> Int { var result = 0; FAULT; return result }\n return step(n) &+ level }"),
    "getter": ("struct DV { var n: Int\n var amount: Int { var result = 0; FAULT; return result } }",
               "DV(n: n).amount &+ 1", ""),
    "subscript": ("struct DV { subscript(n: Int) -> Int { var result = 0; FAULT; return result } }", "DV()[n] &+ 1", ""),
    "init": ("final class DV { let amount: Int\n init(_ n: Int) { var result = 0; FAULT; amount = result } }",
             "DV(n).amount &+ 1", ""),
    "deinit": ("final class DV { let n: Int\n init(_ n: Int) { self.n = n }\n deinit { var result = 0; FAULT; sink(result) } }",
               "service.V(n) &+ 1",
               "func V(_ n: Int) -> Int { let held = DV(n); sink(held.n); return held.n }"),
    "lazy": ("final class DV { let n: Int\n init(_ n: Int) { self.n = n }\n lazy var rows: Int = { var result = 0; FAULT; return result }() }",
             "DV(n).rows &+ 1", ""),
    "observer": ("final class DV { var level = 0 { didSet { let n = level; var result = 0; FAULT; sink(result) } } }",
                 "service.V(n) &+ 1",
                 "func V(_ n: Int) -> Int { let held = DV(); held.level = n; return held.level }"),
    "existential": ("protocol DVRule { func apply(_ n: Int) -> Int }\nstruct DV: DVRule { func apply(_ n: Int) -> Int { var result = 0; FAULT; return result } }\nstruct DVOther: DVRule { func apply(_ n: Int) -> Int { n &+ K } }\n@inline(never) func makeDV(_ n: Int) -> any DVRule { n >= 0 ? DV() : DVOther() }",
                    "makeDV(n).apply(n) &+ 1", ""),
    "recursion": ("", "service.V(depth, n) &+ 1",
                  "func V(_ depth: Int, _ n: Int) -> Int { var result = 0; if depth <= 0 { FAULT; return result }\n return V(depth &- 1, n) &+ level }"),
    "mutual": ("", "service.V(depth, n) &+ 1",
               "func V(_ depth: Int, _ n: Int) -> Int { if depth <= 0 { return Vleaf(n) &+ level }\n return (depth &+ n) % 3 == 0 ? Vlist(depth &- 1, n) &+ level : Vobject(depth &- 1, n) &+ level }\n func Vlist(_ depth: Int, _ n: Int) -> Int { V(depth, n) &+ level }\n func Vobject(_ depth: Int, _ n: Int) -> Int { V(depth, n) &- level }\n func Vleaf(_ n: Int) -> Int { var result = 0; FAULT; return result }"),
    "generic": ("struct DV<Item> { let item: Item\n func run(_ n: Int) -> Int { var result = 0; FAULT; return result } }",
                "n % 2 == 0 ? DV(item: n).run(n) : DV(item: word(n)).run(n)", ""),
    "comparator": ("", "service.V(n) &+ 1",
                   "func V(_ n: Int) -> Int { var rows = lines; rows.sort { left, right in var result = left; FAULT; return result < right }\n return rows[0] }"),
    "catch": ("", "service.V(n) &+ 1",
              "func V(_ n: Int) -> Int { var result = 0; do { result = try parsed(word(level)) } catch { FAULT }\n return result }"),
    "async": ("", "await service.V(n) &+ 1",
              "func V(_ n: Int) async -> Int { await pause(); var result = 0; FAULT; await pause(); return result }"),
    "group": ("", "await service.V(n) &+ 1",
              "func V(_ n: Int) async -> Int { return await withTaskGroup(of: Int.self) { group in group.addTask { var result = 0; FAULT; return result }\n return await group.reduce(0, &+) } }"),
    "actor": ("actor DV { var level = 1\n func add(_ n: Int) -> Int { var result = level; FAULT; return result } }",
              "await DV().add(n) &+ 1", ""),
}
ASYNCHRONOUS = {"async", "group", "actor"}
SHAPES_OF_A_DOMAIN = 14
# The type of the program header of .eh_frame_hdr.
GNU_EH_FRAME = 0x6474E550

# Helpers that several callers share, by what the rule for labels says of them. OWN: the helper has the defect, so all
# three routes to it have one label. STATED and UTILITY: the caller has the defect, so each of three routes has its own
# label.
OWN = ("index", "unwrap", "overflow", "divide", "narrow", "range", "cast", "try", "null", "text", "double", "remove",
       "fatal", "fatal")
STATED = {
    "Money.subtracting": "enum Money { @inline(never) static func subtracting(_ n: Int) -> Int { precondition(n &+ 3 < zero, \"the balance is too small\"); return n } }",
    "Quantity.checked": "struct Quantity { var amount: Int\n @inline(never) func checked(_ n: Int) -> Int { precondition(amount < n, \"the amount is too large\"); return n } }",
    "Page.range": "enum Page { @inline(never) static func range(_ n: Int) -> Int { precondition(n < zero && n > -100); return n } }",
    "Token.decoded": "enum Token { @inline(never) static func decoded(_ n: Int) -> Int { guard n &* 2 < zero else { preconditionFailure(\"no token\") }\n return n } }",
    "Slug.validated": "struct Slug { @inline(never) func validated(_ n: Int) -> Int { precondition(n &+ 5 < zero, \"the slug has \\(n) blanks\"); return n } }",
    "Validator.required": "enum Validator { @inline(never) static func required(_ n: Int) -> Int { guard n < zero else { fatalError(\"the parameter \\(n) is missing\") }\n return n } }",
    "Validator2.limited": "enum Validator2 { @inline(never) static func limited(_ n: Int) -> Int { if n &+ 7 >= zero { fail(\"limit\", n) }\n return n }\n @inline(never) static func fail(_ text: String, _ n: Int) -> Never { fatalError(\"invalid \\(text) \\(n)\") } }",
    "Gate.opened": "enum Gate { @inline(never) static func opened(_ n: Int) -> Int { if n &+ 11 >= zero { Gate.refuse(n) }\n return n }\n @inline(never) static func refuse(_ n: Int) -> Never { preconditionFailure(\"closed\") } }",
}
STATED_CALLS = {
    "Money.subtracting": "Money.subtracting(n)", "Quantity.checked": "Quantity(amount: n &+ 9).checked(n)",
    "Page.range": "Page.range(n)", "Token.decoded": "Token.decoded(n)", "Slug.validated": "Slug().validated(n)",
    "Validator.required": "Validator.required(n)", "Validator2.limited": "Validator2.limited(n)",
    "Gate.opened": "Gate.opened(n)",
}
UTILITY = {
    "Array.required": ("extension Array { @inline(never) func required(at n: Int) -> Element { self[n] } }",
                       "table(K).required(at: n &+ K)"),
    "Dictionary.must": ("extension Dictionary { @inline(never) func must(_ key: Key) -> Value { self[key]! } }",
                        "[K: n].must(n &- K)"),
    "unwrapped": ("@inline(never) func unwrapped<Value>(_ value: Value?) -> Value { value! }",
                  "unwrapped(table(0).first) &+ K"),
}
# Two defects in one function: first with equal kinds of faults, then with different kinds.
PAIRS = (("index", "index"), ("unwrap", "unwrap"), ("index", "divide"), ("unwrap", "overflow"), ("null", "cast"))

SUPPORT = """
#if canImport(Glibc)
import Glibc
#endif
struct ShopError: Error { let code: Int }
nonisolated(unsafe) var zero = 0
nonisolated(unsafe) var drain = 0
nonisolated(unsafe) var threadBody: () -> Void = {}
@inline(never) func nothing() -> Int { zero }
@inline(never) func sink(_ value: Int) { drain = drain &+ value }
@inline(never) func table(_ count: Int) -> [Int] { (0..<count).map { $0 &+ zero } }
@inline(never) func word(_ number: Int) -> String { "item \\(number &+ zero)" }
@inline(never) func parsed(_ text: String) throws -> Int {
  guard let value = Int(text) else { throw ShopError(code: zero) }
  return value
}
@inline(never) func pause() async { await Task.yield() }
struct Request { let number: Int; let depth: Int }
"""

MAIN = """
import Dispatch
#if canImport(Glibc)
import Glibc
#endif
// The launch is a function of its own. Closures of top-level code are isolated to the main actor, and could not run on
// other threads.
launch(CommandLine.arguments)
@inline(never) func launch(_ words: [String]) {
  zero = words.count &- 5
  let request = Request(number: Int(words[3]) ?? 0, depth: Int(words[4]) ?? 0)
  let route = words[1]
  if let handler = asynchronousRoutes[route] {
    let done = DispatchSemaphore(value: 0)
    Task.detached { sink(await handler(request)); done.signal() }
    done.wait()
    exit(3)
  }
  guard let handler = routes[route] else { exit(4) }
  switch words[2] {
  case "dispatch":
    let done = DispatchSemaphore(value: 0)
    DispatchQueue(label: "requests").async { sink(handler(request)); done.signal() }
    done.wait()
  case "task":
    let done = DispatchSemaphore(value: 0)
    Task.detached { sink(await answer(handler, request)); done.signal() }
    done.wait()
  case "pthread":
    var thread = pthread_t()
    threadBody = { sink(handler(request)) }
    pthread_create(&thread, nil, { _ in threadBody(); return nil }, nil)
    pthread_join(thread, nil)
  default: sink(handler(request))
  }
  exit(3)
}
@inline(never) func answer(_ handler: @Sendable (Request) -> Int, _ request: Request) async -> Int {
  await pause()
  let value = handler(request)
  await pause()
  return value
}
"""


@dataclasses.dataclass
class Defect:
    """A label, the routes that reach it, and what the runs may vary."""
    label: str
    routes: list[str]
    is_async: bool = False
    numbers: tuple[int, ...] = (0, 1, 2, 3)


@dataclasses.dataclass
class Variant:
    """A build of the program."""
    name: str
    flags: tuple[str, ...]
    lines: int = 0
    has_closures: bool = False
    # Selects the functions that the source forces to be inlined or not: those whose defect number modulo 3 is this
    # value.
    inlined: int | None = None
    has_no_frame_table: bool = False


VARIANTS = (
    Variant("debug", ("-Onone",)),
    Variant("optimized", ("-O",)),
    Variant("size", ("-Osize", "-wmo")),
    Variant("lines-debug", ("-Onone",), lines=7),
    Variant("closures-optimized", ("-O", "-wmo"), lines=3, has_closures=True),
    Variant("closures-debug", ("-Onone",), lines=11, has_closures=True),
    Variant("inlined", ("-O", "-wmo"), lines=1, inlined=0),
    Variant("static", ("-O", "-wmo", "-static-stdlib"), lines=2),
    Variant("static-debug", ("-Onone", "-static-stdlib"), has_closures=True, inlined=1),
    Variant("no-frame-table", ("-O",), has_no_frame_table=True),
)


def work(seed: int, count: int = 3) -> str:
    """Statements that no other function has in this order."""
    chosen = random.Random(seed).sample(WORK, count)
    return "; ".join(chosen).replace("K", str(seed)) + "; "


def formatted(text: str) -> str:
    """Source text with a statement per line, indented by its depth, as people write it."""
    lines, depth = [], 0
    for line in text.replace("; ", "\n").splitlines():
        line = line.strip()
        closing = len(line) - len(line.lstrip("}"))
        lines.append("  " * max(0, depth - closing) + line)
        depth += line.count("{") - line.count("}")
    return "\n".join(lines) + "\n"


def declaration(text: str, domain: str, verb: str, fault: str, constant: int) -> str:
    text = text.replace("FAULT", fault).replace("DV", domain + verb.capitalize())
    return text.replace("V(", verb + "(").replace("Vl", verb + "L").replace("Vo", verb + "O").replace("K", str(constant))


class Source:
    """The sources of one variant, and the labels, which are the same in each variant."""

    def __init__(self, variant: Variant):
        self.variant = variant
        self.defects: list[Defect] = []
        self.types: dict[str, list[str]] = {domain: [] for domain in DOMAINS}
        self.methods: dict[str, list[str]] = {domain: [] for domain in DOMAINS}
        self.handlers: dict[str, list[str]] = {domain: [] for domain in DOMAINS}
        self.routes: list[tuple[str, bool]] = []
        self.helpers: list[str] = []
        self.constant = 2
        # The seeds for the callers' statements. They differ from the constants of the defects.
        self.seed = 1_000
        self.of_domains()
        self.of_helpers()

    def attribute(self) -> str:
        """The source's inlining attribute of the next function, which differs between the variants."""
        if self.variant.inlined is None or self.constant % 3 != self.variant.inlined:
            return ""
        return "@inline(__always) " if self.constant % 2 else "@inline(never) "

    def noise(self) -> str:
        lines = "".join(f"// line {number}\n" for number in range(self.variant.lines))
        return lines

    def closures(self) -> str:
        """Closures in front of a function's code, so that its own closures get other numbers."""
        if not self.variant.has_closures:
            return ""
        return "let early = [n].map { $0 &+ 1 }.filter { $0 > zero &- 9 }; sink(early.count); "

    def callers_work(self) -> str:
        self.seed += 1
        return work(self.seed)

    def route(self, domain: str, verb: str, call: str, is_async: bool) -> str:
        name = f"{domain.lower()}/{verb}"
        words = " async" if is_async else ""
        self.handlers[domain].append(
            f"{self.noise()}  func {verb}Route(_ request: Request){words} -> Int {{\n"
            f"    let n = request.number; let depth = request.depth; sink(depth); {self.callers_work()}return {call}\n  }}")
        self.routes.append((name, is_async))
        return name

    def of_domains(self):
        for position, domain in enumerate(DOMAINS):
            shapes = list(SHAPES)[position * 3 % len(SHAPES):] + list(SHAPES)[:position * 3 % len(SHAPES)]
            for number, shape in enumerate(shapes[:SHAPES_OF_A_DOMAIN]):
                kind = list(FAULTS)[(number * 5 + position * 3) % len(FAULTS)]
                self.constant += 1
                verb = f"{shape}{kind.capitalize()}"
                types, call, method = SHAPES[shape]
                fault = work(self.constant) + FAULTS[kind]
                values = (domain, verb, fault, self.constant)
                self.types[domain].append(self.noise() + declaration(types, *values))
                if method:
                    code = declaration(method, *values)
                    code = code.replace("Int {", "Int { " + self.closures(), 1)
                    self.methods[domain].append(f"{self.noise()}  {self.attribute()}{code}")
                call = declaration(call, *values)
                call = call.replace("V(", verb + "(")
                route = self.route(domain, verb, call, shape in ASYNCHRONOUS)
                self.defects.append(Defect(f"{domain}.{shape}.{kind}", [route], shape in ASYNCHRONOUS))

    def callers(self, name: str, call: str, number: int) -> list[str]:
        """Three routes in three domains, each with a method of the service that calls the helper."""
        routes = []
        for turn in range(3):
            domain = DOMAINS[(number * 3 + turn * 2) % len(DOMAINS)]
            self.constant += 1
            verb = name + "By" + domain
            own = call.replace("K", str(self.constant))
            self.methods[domain].append(
                f"{self.noise()}  {self.attribute()}func {verb}(_ n: Int) -> Int {{ {self.closures()}{self.callers_work()}return {own} &+ level }}")
            routes.append(self.route(domain, verb, f"service.{verb}(n) &+ 1", False))
        return routes

    def of_helpers(self):
        for number, kind in enumerate(OWN):
            self.constant += 1
            name = f"Helper{number}{kind.capitalize()}"
            fault = work(self.constant) + FAULTS[kind].replace("K", str(self.constant))
            self.helpers.append(
                f"{self.noise()}final class {name} {{ var level = zero\n @inline(never) func value(_ n: Int) -> Int {{ "
                f"var result = level; {self.closures()}{fault}; return result }} }}")
            routes = self.callers(f"own{number}", f"{name}().value(n)", number)
            self.defects.append(Defect(f"own.{number}.{kind}", routes))
        for number, (name, code) in enumerate(STATED.items()):
            self.helpers.append(self.noise() + code)
            for route in self.callers(f"stated{number}", STATED_CALLS[name], number):
                self.defects.append(Defect(f"stated.{name}.{route}", [route]))
        for number, (name, (code, call)) in enumerate(UTILITY.items()):
            self.helpers.append(self.noise() + code)
            for route in self.callers(f"utility{number}", call, number):
                self.defects.append(Defect(f"utility.{name}.{route}", [route]))
        for number, (one, other) in enumerate(PAIRS):
            self.constant += 2
            domain = DOMAINS[number]
            first = FAULTS[one].replace("K", str(self.constant))
            second = FAULTS[other].replace("K", str(self.constant + 1)).replace("let row", "let rows").replace(
                "row[", "rows[").replace("let known", "let seen").replace("known[", "seen[")
            verb = f"two{number}"
            self.methods[domain].append(
                f"{self.noise()}  func {verb}(_ n: Int) -> Int {{ {self.closures()}{self.callers_work()}var result = 0; "
                f"if n % 2 == 0 {{ {first} }} else {{ {second} }}\n return result &+ level }}")
            route = self.route(domain, verb, f"service.{verb}(n) &+ 1", False)
            self.defects.append(Defect(f"two.{number}.{one}", [route], numbers=(0, 2)))
            self.defects.append(Defect(f"two.{number}.{other}.second", [route], numbers=(1, 3)))

    def files(self) -> dict[str, str]:
        files = {"Support.swift": SUPPORT, "Helpers.swift": "import Glibc\n" + "\n".join(self.helpers)}
        for domain in DOMAINS:
            files[f"{domain}.swift"] = "import Glibc\n" + "\n".join(
                self.types[domain]
                + [f"final class {domain}Service: Sendable {{\n  var lines: [Int] {{ table(3) }}\n  var level: Int {{ zero &+ 1 }}"]
                + self.methods[domain]
                + [f"}}\nstruct {domain}Handler: Sendable {{\n  let service = {domain}Service()"]
                + self.handlers[domain] + ["}\n"])
        entries: dict[bool, list[str]] = {False: [], True: []}
        for name, is_async in self.routes:
            domain = next(domain for domain in DOMAINS if domain.lower() == name.split("/")[0])
            mark = "await " if is_async else ""
            entries[is_async].append(f'  "{name}": {{ request in {mark}{domain}Handler().{name.split("/")[1]}Route(request) }},')
        files["Routes.swift"] = (
            "let routes: [String: @Sendable (Request) -> Int] = [\n" + "\n".join(entries[False]) + "\n]\n"
            "let asynchronousRoutes: [String: @Sendable (Request) async -> Int] = [\n" + "\n".join(entries[True]) + "\n]\n")
        files["main.swift"] = MAIN
        return files


def build(variant: Variant, folder: pathlib.Path) -> pathlib.Path:
    """Writes and compiles one variant, unless an earlier run did; returns the program."""
    sources = folder / variant.name
    sources.mkdir(parents=True, exist_ok=True)
    names, is_new = [], False
    program = sources / "shop"
    for name, text in Source(variant).files().items():
        file = sources / name
        text = formatted(text)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
            is_new = True
        names.append(file)
    if program.exists() and not is_new:
        return program
    subprocess.run(
        ["swiftc", "-g", "-swift-version", "6", "-module-name", "shop", "-suppress-warnings", *variant.flags,
         "-Xlinker", "--build-id", *names, "-o", program], check=True, cwd=sources)
    if variant.has_no_frame_table:
        # Without call frame information, the unwinder loses callers, so stacks end early.
        subprocess.run(
            ["objcopy", "--remove-section", ".eh_frame", "--remove-section", ".eh_frame_hdr", program], check=True)
        forget_frame_table(program)
    return program


def forget_frame_table(program: pathlib.Path):
    """Removes the program header of the removed section, which the runtime would read when it prints a stack."""
    image = bytearray(program.read_bytes())
    start, size, count = struct.unpack_from("<Q", image, 32)[0], *struct.unpack_from("<HH", image, 54)
    for header in range(start, start + size * count, size):
        if struct.unpack_from("<I", image, header)[0] == GNU_EH_FRAME:
            struct.pack_into("<I", image, header, 0)
    program.write_bytes(image)


def defects() -> list[Defect]:
    return Source(VARIANTS[0]).defects
