"""A producer: it numbers its messages, repeats them until they are confirmed, and starts anew when it has crashed."""

import os
import signal

import psycopg2


def register(name):
    """A life of its own for this process, and the number that the last one came to."""
    connection = psycopg2.connect("")
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT producer_id, epoch, last_seq FROM idem_producer(%s, 'sales')", (name,))
        life = cursor.fetchone()
    connection.close()
    return life


def send_sales(pipe, name, sales, crash_at):
    """Sends the sales in their order. What a till has sold is in its own journal, so nothing is lost with it."""
    producer, epoch, last = register(name)
    pipe.send({"till": name, "epoch": epoch, "last": last})
    for number in range(last + 1, len(sales) + 1):
        if number == crash_at:
            os.kill(os.getpid(), signal.SIGKILL)
        confirmed = False
        while not confirmed:
            pipe.send({"till": name, "producer": producer, "epoch": epoch, "number": number,
                       "cents": sales[number - 1]})
            confirmed = pipe.recv()
