"""Consumers: what a program does with a message that may come again, come too early, or come from the dead."""

import os
import signal

import psycopg2

# What the refusals of idem_accept mean for the message.
REFUSED = {
    "ID030": "early",   # one before it is missing: it has to come again
    "ID031": "fenced",  # its till has started anew since, and sends it again
}


# A sale has the number that its till gave it: new when it is the next one of that till. A payment has an identifier,
# and no order: new when it is seen for the first time.
ACCEPT = {
    "sale": "SELECT outcome FROM idem_accept('sales', %(producer)s, %(epoch)s, %(number)s)",
    "payment": "SELECT outcome FROM idem_accept_id('payments', %(id)s)",
}
WORK = {
    "sale": "UPDATE takings SET sales = sales + 1, cents = cents + %(cents)s WHERE till = %(till)s",
    "payment": "UPDATE account SET payments = payments + 1, cents = cents + %(cents)s",
}


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def handle(connection, message, accident):
    """One message in one transaction: that it was accepted and what it has done are there together, or not at all."""
    kind = "sale" if "till" in message else "payment"
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(ACCEPT[kind], message)
            outcome, = cursor.fetchone()
            if accident == "before COMMIT":
                die()
            if outcome == "accepted":
                cursor.execute(WORK[kind], message)
    except psycopg2.Error as error:
        if error.pgcode not in REFUSED:
            raise
        return REFUSED[error.pgcode]
    if accident == "after COMMIT":
        die()
    return outcome


def consume(pipe):
    """Takes messages from the queue, and answers each with its outcome, until the queue has no more."""
    connection = psycopg2.connect("")
    for message, accident in iter(pipe.recv, None):
        pipe.send(handle(connection, message, accident))
    connection.close()
