"""expression_vectors.py > expression_vectors.txt: expressions, names and what Python's evaluator makes of them, for the C++ one to agree with.

A line: expression | name=value ... | value, or `error`.
"""
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "kernels" / "python"))

from kbench_kernels.expressions import evaluate  # noqa: E402

# As launches have them.
REAL = [
    "1", "rows", "cdiv(n, 4096)", "cdiv(m, 128) * cdiv(n, 256)", "max(1, min(4 * multiprocessors, cdiv(n, 4096)))", "h // hkv",
    "cdiv(s, 128) * b * h", "n < 2147483648 and n % 16 == 0", "m % 128 == 0 and n % 64 == 0 and k % 16 == 0",
    "cols > 512 and cols <= 1024 and cols % 16 == 0", "max(m, max(n, k)) <= 4194304", "b * h * s < 2147483648", "d == 64 and causal == 1",
    "(h // hkv) < 2147483648",
]
# Precedence, association, spaces, Python's division of what is negative.
FORMS = [
    "m - n - k", "m - (n - k)", "m + n * k", "(m + n) * k", "m // n // 2", "m // (n // 2 + 1)", "m * n % 7", "m % n * 7", "(m - n) // 3",
    "(m - n) % 3", "cdiv(m - n, 3)", "(m - n) // (0 - 3)", "(m - n) % (0 - 3)", "cdiv(m - n, 0 - 3)", "m  <n", "m<=n and n>=k and k==k", "m == n",
    "m > n", "(m < n) + (n < k)", "min(m < n, 5)", "m and n", "(m and n) + 1", "0 and n", "m   ", "min(m, n) - max(m, n)",
]
WRONG = [
    "", "m +", "+ m", "m ** 2", "m / 2", "-m", "f(m, 2)", "cdiv(m)", "cdiv(m, 2, 3)", "min(m, key=2)", "m.real", "m[0]", "'m'", "1.5", "True",
    "m or n", "1 < m < 3", "m != n", "(m", "m)", "(m, n)", "missing", "m // 0", "cdiv(m, 0)", "m % (n - n)", "m n", "m and", "and m", "12abc",
    "min", "min(m n)",
]
SHAPES = ["{} + {}", "{} - {}", "{} * {}", "{} // {}", "{} % {}", "({} + {})", "({} - {})", "cdiv({}, {})", "min({}, {})", "max({}, {})"]


def random_expression(source, depth):
    if depth == 0 or source.random() < 0.15:
        return source.choice(["m", "n", "k", str(source.randrange(1, 5000))])
    left, right = random_expression(source, depth - 1), random_expression(source, depth - 1)
    return source.choice(SHAPES).format(left, right)


def lines():
    source = random.Random(1)
    names = [{"m": 4096, "n": 4095, "k": 17}, {"m": 1, "n": 1, "k": 1}, {"m": 7, "n": 1000003, "k": 64}]
    extents = {"rows": 33, "cols": 1000, "multiprocessors": 132, "s": 8192, "b": 4, "h": 16, "hkv": 4, "d": 64, "causal": 1}
    cases = [(expression, {**extents, **one}) for expression in REAL for one in names]
    cases += [(expression, one) for expression in FORMS for one in names] + [(expression, names[0]) for expression in WRONG]
    cases += [(random_expression(source, 4), source.choice(names)) for _ in range(200)]
    for expression, values in cases:
        try:
            value = evaluate(expression, values)
        except ValueError:
            value = "error"
        if value == "error" or abs(value) < 2**40:  # C++ has 64 bits
            yield f"{expression} | {' '.join(f'{name}={one}' for name, one in values.items())} | {value}"


def main():
    for line in lines():
        print(line)


if __name__ == "__main__":
    main()
