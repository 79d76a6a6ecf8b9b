import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Statement;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The H2 database in memory, through JDBC. Four threads transfer money in transactions, and request
 * reports with joins and aggregates. Each round has a separate bank, and no money may be lost in
 * it. Arguments: seconds.
 */
public final class Database {
    private static final int THREADS = 4;
    private static final int ACCOUNTS = 2_000;
    private static final int BRANCHES = 20;
    private static final int TRANSFERS = 400;
    private static final int START = 1_000;
    private static final String[] TABLES = {
        "CREATE TABLE branch (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL)",
        "CREATE TABLE account (id INT PRIMARY KEY, branch INT NOT NULL REFERENCES branch, owner VARCHAR(40), balance BIGINT)",
        "CREATE TABLE entry (id IDENTITY PRIMARY KEY, account INT NOT NULL REFERENCES account, amount BIGINT, note VARCHAR(80))",
        "CREATE INDEX entries_of ON entry (account)"};
    private static final String REPORT = "SELECT b.name, COUNT(DISTINCT a.id), COUNT(e.id), COALESCE(SUM(e.amount), 0)"
        + " FROM branch b JOIN account a ON a.branch = b.id LEFT JOIN entry e ON e.account = a.id"
        + " WHERE b.name LIKE ? GROUP BY b.name HAVING COUNT(a.id) > 0 ORDER BY b.name DESC";
    private static final String WRONG = "SELECT COUNT(*) FROM account a WHERE a.balance <> " + START
        + " + COALESCE((SELECT SUM(e.amount) FROM entry e WHERE e.account = a.id), 0)";

    private Database() {}

    public static void main(String[] args) {
        AtomicInteger banks = new AtomicInteger();
        Rounds.run(args[0], "H2 with " + THREADS * TRANSFERS + " transfers", () -> {
            String url = "jdbc:h2:mem:bank" + banks.incrementAndGet() + ";LOCK_TIMEOUT=2000";
            // The database exists as long as this connection.
            try (Connection keeper = DriverManager.getConnection(url, "sa", "")) {
                open(keeper);
                Rounds.together(THREADS, number -> work(url, new Random(number)));
                audit(keeper);
            }
        });
    }

    private static void open(Connection bank) throws SQLException {
        try (Statement statement = bank.createStatement()) {
            for (String table : TABLES) {
                statement.execute(table);
            }
        }
        try (PreparedStatement branch = bank.prepareStatement("INSERT INTO branch VALUES (?, ?)");
             PreparedStatement account = bank.prepareStatement("INSERT INTO account VALUES (?, ?, ?, ?)")) {
            for (int i = 0; i < BRANCHES; i++) {
                branch.setInt(1, i);
                branch.setString(2, "Branch " + i);
                branch.addBatch();
            }
            branch.executeBatch();
            for (int i = 0; i < ACCOUNTS; i++) {
                account.setInt(1, i);
                account.setInt(2, i % BRANCHES);
                account.setString(3, "Owner " + Integer.toString(i * 7919, 36));
                account.setLong(4, START);
                account.addBatch();
            }
            account.executeBatch();
        }
    }

    private static void work(String url, Random random) throws SQLException {
        try (Connection bank = DriverManager.getConnection(url, "sa", "")) {
            bank.setAutoCommit(false);
            for (int done = 0; done < TRANSFERS; ) {
                try {
                    transfer(bank, random.nextInt(ACCOUNTS), random.nextInt(ACCOUNTS), 1 + random.nextInt(50));
                    bank.commit();
                    done++;
                } catch (SQLTransactionRollbackException deadlock) {
                    bank.rollback(); // two transfers met: once more, with others
                    continue;
                }
                if (done % 50 == 0) {
                    report(bank, "Branch _" + random.nextInt(10));
                    bank.commit();
                }
            }
        }
    }

    private static void transfer(Connection bank, int from, int to, long amount) throws SQLException {
        try (PreparedStatement change = bank.prepareStatement("UPDATE account SET balance = balance + ? WHERE id = ?");
             PreparedStatement entry = bank.prepareStatement("INSERT INTO entry (account, amount, note) VALUES (?, ?, ?)")) {
            for (int side = 0; side < 2; side++) {
                int account = side == 0 ? from : to;
                long signed = side == 0 ? -amount : amount;
                change.setLong(1, signed);
                change.setInt(2, account);
                Rounds.same(1, change.executeUpdate(), "accounts changed");
                entry.setInt(1, account);
                entry.setLong(2, signed);
                entry.setString(3, "from " + from + " to " + to);
                entry.executeUpdate();
            }
        }
    }

    private static void report(Connection bank, String pattern) throws SQLException {
        try (PreparedStatement report = bank.prepareStatement(REPORT)) {
            report.setString(1, pattern);
            try (ResultSet rows = report.executeQuery()) {
                int count = 0;
                for (; rows.next(); count++) {
                    Rounds.same(ACCOUNTS / BRANCHES, rows.getInt(2), "accounts of " + rows.getString(1));
                }
                Rounds.same(1, count, "branches like " + pattern);
            }
        }
    }

    private static void audit(Connection bank) throws SQLException {
        Rounds.same((long) ACCOUNTS * START, number(bank, "SELECT SUM(balance) FROM account"), "the money of all");
        Rounds.same(2L * THREADS * TRANSFERS, number(bank, "SELECT COUNT(*) FROM entry"), "entries");
        Rounds.same(0L, number(bank, WRONG), "accounts that differ from their entries");
    }

    private static long number(Connection bank, String query) throws SQLException {
        try (Statement statement = bank.createStatement(); ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        }
    }
}
