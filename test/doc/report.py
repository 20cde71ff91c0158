"""Counts checks and prints what dev/test expects as the last line."""

import sys


class Report:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, holds, message):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {message}")
        return holds

    def same(self, expected, actual, what):
        """Two collections of names that must hold the same ones."""
        for name in sorted(set(expected) - set(actual)):
            self.check(False, f"{what}: {name} is missing")
        for name in sorted(set(actual) - set(expected)):
            self.check(False, f"{what}: {name} does not exist")
        self.check(expected, f"{what}: there is nothing to compare with")
        self.passed += len(set(expected) & set(actual))

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed or not self.passed else 0)
