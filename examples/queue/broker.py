"""A queue that promises at least once, and no more: it reorders, it forgets what was done, and its clients crash."""

import multiprocessing
from multiprocessing.connection import wait

CONSUMERS = 3
ROOM = 24          # waiting messages, beyond which producers get no confirmation yet
DISORDER = 5       # how far a message may overtake others
REPEATED = 0.2     # the share of messages done that come again
ACCIDENTS = 0.08   # the share of deliveries in which the consumer dies
UNCONFIRMED = 0.1  # the share of messages that the queue has taken and does not confirm

PROCESSES = multiprocessing.get_context("fork")


def start(function, *values):
    """A process that gets one end of a pipe, and our end of it."""
    ours, theirs = PROCESSES.Pipe()
    process = PROCESSES.Process(target=function, args=(theirs, *values), daemon=True)
    process.start()
    # The pipe ends with the process, if nobody else holds its end.
    theirs.close()
    return ours, process


class Broker:
    def __init__(self, random, story, consume):
        self.random = random
        self.story = story
        self.consume = consume
        self.waiting = []
        self.early = []      # messages that wait until another one is done
        self.consumers = {}  # the pipe to each, and what it has been given: a message, and an accident or None
        self.producers = {}  # the pipe to each, its process, and what to do when it ends
        self.full = []       # producers whose last message is not confirmed yet

    def add_producer(self, function, *values, at_end):
        pipe, process = start(function, *values)
        self.producers[pipe] = (process, at_end)

    def run(self):
        for _ in range(CONSUMERS):
            self.hire()
        while self.waiting or self.early or self.producers or any(self.consumers.values()):
            if not self.waiting and not any(self.consumers.values()):
                self.bring_back()
            self.deliver()
            self.confirm()
            for pipe in wait([*self.consumers, *self.producers]):
                (self.hear_consumer if pipe in self.consumers else self.hear_producer)(pipe)
        for pipe in self.consumers:
            pipe.send(None)

    def bring_back(self):
        self.waiting += self.early
        self.early = []

    def hire(self):
        pipe, _ = start(self.consume)
        self.consumers[pipe] = None

    def deliver(self):
        for pipe, given in self.consumers.items():
            if given is None and self.waiting:
                message = self.waiting.pop(self.random.randrange(min(DISORDER, len(self.waiting))))
                accident = None
                if self.random.random() < ACCIDENTS:
                    accident = self.random.choice(["before COMMIT", "after COMMIT"])
                self.consumers[pipe] = (message, accident)
                pipe.send((message, accident))

    def hear_consumer(self, pipe):
        message, accident = self.consumers[pipe]
        try:
            outcome = pipe.recv()
            self.consumers[pipe] = None
        except EOFError:
            if accident is None:
                raise RuntimeError("a consumer has failed by itself, and said why") from None
            outcome = accident
            del self.consumers[pipe]
            self.hire()
        self.story.tell(outcome, message)
        if outcome == "early":
            self.early.append(message)
            return
        self.bring_back()
        if outcome in ("accepted", "duplicate") and self.random.random() < REPEATED:
            self.story.tell("repeated", message)
            self.waiting.append(message)
        elif outcome == accident:
            self.waiting.append(message)

    def hear_producer(self, pipe):
        try:
            message = pipe.recv()
        except EOFError:
            process, at_end = self.producers.pop(pipe)
            process.join()
            at_end(process.exitcode)
            return
        if "number" not in message:
            self.story.tell("registered", message)
            return
        self.waiting.append(message)
        self.full.append((pipe, message))

    def confirm(self):
        while self.full and len(self.waiting) + len(self.early) < ROOM:
            pipe, message = self.full.pop(0)
            confirmed = self.random.random() >= UNCONFIRMED
            if not confirmed:
                self.story.tell("unconfirmed", message)
            pipe.send(confirmed)
