"""Tells what happens: the first event of each kind in words, the others as numbers."""

import textwrap
from collections import Counter

WORDS = {
    "registered": "{name} starts as epoch {epoch} and goes on after {last}",
    "crashed": "{name} crashes (kill -9) while it sends",
    "unconfirmed": "{name} gets no confirmation, and sends again",
    "accepted": "{name} is counted",
    "duplicate": "{name} has come again, and is not counted",
    "early": "{name} comes before its turn (ID030), and waits in the queue",
    "fenced": "{name} of epoch {epoch}, which has ended (ID031), is thrown away",
    "before COMMIT": "the consumer of {name} is killed before COMMIT:\n    nothing is left of it, and it comes again",
    "after COMMIT": "the consumer of {name} is killed after COMMIT:\n    it comes again, and must not count twice",
    "repeated": "the queue forgets that {name} was done, and delivers it again",
}

# How many events of a kind are worth reading.
TOLD = {"registered": 99, "crashed": 99, "early": 2, "duplicate": 2}


class Story:
    def __init__(self, title):
        self.counts = Counter()
        print(f"\n{title}\n")

    def tell(self, event, message):
        self.counts[event] += 1
        if self.counts[event] <= TOLD.get(event, 1):
            print("  " + WORDS[event].format(name=name_of(message), **message))

    def close(self):
        counts = "in all: " + ", ".join(f"{count} {event}" for event, count in self.counts.items())
        print("\n" + textwrap.fill(counts, width=78, initial_indent="  ", subsequent_indent="    "))


def name_of(message):
    if "id" in message:
        return f"payment {message['id']}"
    return f"{message['till']}, sale {message['number']}" if "number" in message else message["till"]
