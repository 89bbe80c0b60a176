"""What test runners print: thousands of lines, dots, colours."""

import sys
import unittest

for n in range(2_000):
    print(f"tests/test_add.py::test_{n} \x1b[32mPASSED\x1b[0m", file=sys.stderr if n % 2 else sys.stdout)


class AddTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)


def add(a, b):
    print(".", end="")
    return a + b


unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(AddTest))
