// A Swift program that knows nothing of the shield, with a static Swift library.
@inline(never) func price(_ prices: [Int], at index: Int) -> Int { prices[index] }

if CommandLine.arguments.last == "empty" { fatalError("the price list is empty") }
print(price([1], at: CommandLine.arguments.count + 3))
