import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.hibernate.JDBCException;
import org.hibernate.SQLQuery;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.StaleStateException;
import org.hibernate.Transaction;
import org.hibernate.cfg.Configuration;

/** Hibernate's @Version on tables with kept versions. */
public class Versions {
    private static final int WORKERS = 4;
    private static final int ROUNDS = 10;

    private static SessionFactory factory;
    private static int passed;
    private static int failed;

    private final Class<? extends Account> type;
    private final String table;
    private final boolean clientCounts;
    private final int first;
    private final String what;

    private Versions(Class<? extends Account> type, String table, String mode, int first) {
        this.type = type;
        this.table = table;
        this.clientCounts = mode.equals("client");
        this.first = first;
        this.what = table + ", mode " + mode + ": ";
        in(session -> sql(session, "SELECT CAST(idem_version_attach(CAST('" + table + "' AS regclass), mode => '" + mode
            + "', ignore => '{seen}') AS text)").uniqueResult());
    }

    public static void main(String[] arguments) throws Exception {
        String socket = System.getenv("PGHOST") + "/.s.PGSQL." + System.getenv("PGPORT");
        factory = new Configuration()
            .addAnnotatedClass(Account.CountedWhere.class)
            .addAnnotatedClass(Account.CountedClient.class)
            .addAnnotatedClass(Account.ByServer.class)
            .setProperty("hibernate.dialect", "org.hibernate.dialect.PostgreSQLDialect")
            .setProperty("hibernate.connection.driver_class", "org.postgresql.Driver")
            .setProperty("hibernate.connection.url", "jdbc:postgresql://localhost/hibernate?sslmode=disable"
                + "&socketFactory=UnixSockets&socketFactoryArg=" + socket)
            .setProperty("hibernate.connection.username", System.getenv("PGUSER"))
            .setProperty("hibernate.connection.pool_size", "8")
            .setProperty("hibernate.temp.use_jdbc_metadata_defaults", "false")
            .setProperty("hibernate.bytecode.use_reflection_optimizer", "false")
            .setProperty("hibernate.jdbc.batch_size", "10")
            .setProperty("hibernate.jdbc.batch_versioned_data", "true")
            .buildSessionFactory();
        new Versions(Account.CountedWhere.class, "CountedWhere", "where", 0).run();
        new Versions(Account.CountedClient.class, "CountedClient", "client", 0).run();
        new Versions(Account.ByServer.class, "Generated", "expect", 1).run();
        factory.close();
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 && passed > 0 ? 0 : 1);
    }

    private void run() throws Exception {
        keepsWhatItBelieves();
        refusesAStaleSave();
        refusesAStaleDelete();
        refusesAllOfABatch();
        losesNoUpdate();
        countsBulkUpdates();
        isNotDisturbedByIgnoredColumns();
    }

    private void keepsWhatItBelieves() {
        Account row = add("a");
        check(row.version() == first && stored(row).equals("0 " + first + " 0"), "an insert keeps its version");
        for (int balance : new int[] {10, 20}) {
            row.balance = balance;
            save(row);
            check(stored(row).equals(balance + " " + row.version() + " 0"), "the version is known after a save");
        }
        check(row.version() == first + 2, "each save counts once");
    }

    private void refusesAStaleSave() {
        Account one = add("b");
        Account other = load(one.id);
        one.balance = 10;
        save(one);
        other.balance = 20;
        check(thrown(() -> save(other)) instanceof StaleStateException, "a stale save is refused");
        check(stored(one).equals("10 " + (first + 1) + " 0"), "and has not written");
    }

    private void refusesAStaleDelete() {
        Account one = add("c");
        Account other = load(one.id);
        one.balance = 10;
        save(one);
        check(thrown(() -> in(session -> { session.delete(other); return null; })) instanceof StaleStateException,
            "a stale delete is refused");
    }

    private void refusesAllOfABatch() {
        List<Account> rows = new ArrayList<>();
        for (int i = 0; i < 5; i++) rows.add(add("d"));
        Account stale = load(rows.get(2).id);
        stale.balance = 5;
        save(stale);
        for (Account row : rows) row.balance = 1;
        check(thrown(() -> save(rows.toArray(new Account[0]))) instanceof StaleStateException,
            "one stale row stops the batch");
        check(stored(rows.get(0)).equals("0 " + first + " 0"), "and nothing of the batch is left");
    }

    private void losesNoUpdate() throws Exception {
        int id = add("e").id;
        ExecutorService workers = Executors.newFixedThreadPool(WORKERS);
        List<Future<Void>> ends = new ArrayList<>();
        for (int i = 0; i < WORKERS; i++) ends.add(workers.submit((Callable<Void>) () -> deposit(id)));
        for (Future<Void> end : ends) end.get(180, TimeUnit.SECONDS);
        workers.shutdown();
        int total = WORKERS * ROUNDS;
        String found = stored(load(id));
        check(found.equals(total + " " + (first + total) + " 0"), found + " after " + total + " updates");
    }

    private Void deposit(int id) {
        for (int done = 0; done < ROUNDS;) {
            Account row = load(id);
            row.balance++;
            Throwable error = thrown(() -> save(row));
            if (error != null && !(error instanceof StaleStateException)) throw new IllegalStateException(error);
            if (error == null) done++;
        }
        return null;
    }

    /** HQL says nothing of the version, unless it is told to. */
    private void countsBulkUpdates() {
        Account row = add("f");
        String update = "update " + table + " set balance = balance + 7 where owner = 'f'";
        Throwable error = thrown(() -> hql(update));
        check(clientCounts ? "ID010".equals(sqlstate(error)) : error == null, "a bulk update counts or ends with ID010");
        // Where the server counts, there is nothing that Hibernate could write.
        if (clientCounts) hql(update.replace("update ", "update versioned "));
        check(stored(row).equals("7 " + (first + 1) + " 0"), "a bulk update counts once");
        row.balance = 8;
        check(thrown(() -> save(row)) instanceof StaleStateException, "who held the row from before is refused");
    }

    private void isNotDisturbedByIgnoredColumns() {
        Account row = add("g");
        // In one session: a row of another one is saved as a whole, because nobody knows what was changed.
        Throwable error = thrown(() -> in(session -> ((Account) session.get(type, row.id)).seen = 1));
        // Hibernate writes the version along, and who writes it in this mode has to count.
        check(clientCounts ? "ID010".equals(sqlstate(error)) : stored(row).equals("0 " + first + " 1"),
            "an excluded column does not count, or ends with ID010");
        in(session -> sql(session, "UPDATE " + table + " SET seen = 2 WHERE id = " + row.id).executeUpdate());
        row.balance = 10;
        check(thrown(() -> save(row)) == null, "and breaks no holder");
        check(load(row.id).version() == row.version() && row.version() == first + 1, "whose save counts");
    }

    private Account add(String owner) {
        return in(session -> {
            try {
                Account row = type.getDeclaredConstructor().newInstance();
                row.owner = owner;
                session.save(row);
                return row;
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        });
    }

    private Account load(int id) {
        return in(session -> (Account) session.get(type, id));
    }

    private static void save(Account... rows) {
        in(session -> {
            for (Account row : rows) session.update(row);
            return null;
        });
    }

    private static void hql(String statement) {
        in(session -> session.createQuery(statement).executeUpdate());
    }

    /** A cast in it is written as CAST, because a colon begins a parameter. */
    private static SQLQuery sql(Session session, String statement) {
        return session.createSQLQuery(statement);
    }

    /** "balance version seen" of an account, as they are stored. */
    private String stored(Account row) {
        return in(session -> (String) sql(session, "SELECT balance || ' ' || version || ' ' || seen FROM " + table
            + " WHERE id = " + row.id).uniqueResult());
    }

    private static <T> T in(Function<Session, T> work) {
        Session session = factory.openSession();
        try {
            Transaction transaction = session.beginTransaction();
            T result = work.apply(session);
            transaction.commit();
            return result;
        } catch (RuntimeException error) {
            session.getTransaction().rollback();
            throw error;
        } finally {
            session.close();
        }
    }

    private static Throwable thrown(Runnable work) {
        try {
            work.run();
            return null;
        } catch (RuntimeException error) {
            return error;
        }
    }

    private static String sqlstate(Throwable error) {
        return error instanceof JDBCException ? ((JDBCException) error).getSQLException().getSQLState() : null;
    }

    private void check(boolean holds, String message) {
        if (holds) {
            passed++;
        } else {
            failed++;
            System.out.println("FAILED: " + what + message);
        }
    }
}
