import javax.persistence.Column;
import javax.persistence.Entity;
import javax.persistence.GeneratedValue;
import javax.persistence.GenerationType;
import javax.persistence.Id;
import javax.persistence.MappedSuperclass;
import javax.persistence.SequenceGenerator;
import javax.persistence.Version;
import org.hibernate.annotations.Generated;
import org.hibernate.annotations.GenerationTime;
import org.hibernate.annotations.OptimisticLock;
import org.hibernate.annotations.Proxy;

/** An account, and below the tables that have one kind of version each. */
@MappedSuperclass
abstract class Account {
    @Id
    @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "account_id")
    @SequenceGenerator(name = "account_id", sequenceName = "account_id", allocationSize = 1)
    int id;

    String owner;
    int balance;

    @OptimisticLock(excluded = true)
    int seen;

    abstract int version();

    /** Counts by itself, as JPA has it: starts at 0, writes n + 1 where it is n. */
    @MappedSuperclass
    abstract static class Counting extends Account {
        @Version
        int version;

        @Override
        int version() {
            return version;
        }
    }

    @Entity(name = "CountedWhere")
    @Proxy(lazy = false)
    static class CountedWhere extends Counting {}

    @Entity(name = "CountedClient")
    @Proxy(lazy = false)
    static class CountedClient extends Counting {}

    /** Leaves counting to the server, and reads what it has stored. */
    @Entity(name = "Generated")
    @Proxy(lazy = false)
    static class ByServer extends Account {
        @Version
        @Generated(GenerationTime.ALWAYS)
        @Column(insertable = false, updatable = false)
        int version;

        @Override
        int version() {
            return version;
        }
    }
}
