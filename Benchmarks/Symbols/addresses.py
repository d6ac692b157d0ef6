"""Selects addresses for comparisons: those of call instructions and of the first bytes of functions. Most are in code
with line information."""

import random
import subprocess


def candidates(image):
    """Returns two lists of addresses in .text: return addresses minus one, and entries of functions."""
    listing = subprocess.Popen(
        ["objdump", "-d", "--no-show-raw-insn", "-j", ".text", image], stdout=subprocess.PIPE, text=True,
        errors="replace")
    entries, returns, after_call = [], [], False
    for line in listing.stdout:
        if line.startswith(" "):
            if after_call:
                returns.append(int(line.split(":", 1)[0], 16) - 1)
            after_call = "\tcall" in line
        elif line.endswith(">:\n"):
            entries.append(int(line.split()[0], 16))
            after_call = False
    if listing.wait() != 0:
        raise SystemExit(f"objdump -d {image} failed")
    return returns, entries


def has_lines(symbolizer, image, addresses):
    answer = subprocess.run(
        [symbolizer, f"--obj={image}", "--no-demangle", "--no-inlines"],
        input="".join(f"{a:#x}\n" for a in addresses), capture_output=True, text=True, errors="replace", check=True)
    return ["/" in block.split("\n")[-1] for block in answer.stdout.strip().split("\n\n")]


def choose(symbolizer, image, count):
    """Selects addresses, always the same for the same image. Nine tenths are in code with line information. There are
    five return addresses for each function entry."""
    generator = random.Random(7)
    returns, entries = candidates(image)
    generator.shuffle(returns)
    generator.shuffle(entries)
    chosen = returns[: count * 5] + entries[:count]
    generator.shuffle(chosen)
    known = has_lines(symbolizer, image, chosen)
    inside = [a for a, k in zip(chosen, known) if k][: count * 9 // 10]
    outside = [a for a, k in zip(chosen, known) if not k][: count - len(inside)]
    result = inside + outside
    generator.shuffle(result)
    return result
