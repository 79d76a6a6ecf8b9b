package dev.vouch.lab;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;

import dev.vouch.Oracle;

/**
 * The interface of a case in the child JVM: it asks questions and reports trigger conditions.
 *
 * Each line is one write to stderr, so that the JVM's own output cannot split it. This class must
 * not depend on anything that a scenario tests.
 */
public final class Ask {
    /** Exceeds the stack depth of any ordinary scenario, in frames. */
    public static final int DEEP = 1000;

    private static final FileOutputStream ERR = new FileOutputStream(FileDescriptor.err);
    private static int depth = DEEP;

    private Ask() {}

    /**
     * Asks about the calling thread. While {@link #unarmed}, it runs the same path and writes no
     * answer.
     */
    public static void here() {
        String answer = Oracle.self(depth);
        if (answer != null) {
            say("answer", answer);
        }
    }

    /** Asks about another thread at its current position. */
    public static void other(Thread thread) {
        say("answer", Oracle.other(thread, depth));
    }

    /**
     * Adds `count` answers with these kinds, by this way, about other threads. The example may be
     * null.
     */
    public static void tally(String way, String kinds, long count, String example) {
        say("tally", way + "\t" + kinds + "\t" + count);
        if (example != null) {
            say("answer", example);
        }
    }

    /** Returns the kinds of a way in an answer, joined by commas, or null if the way is absent. */
    public static String kinds(String answer, String way) {
        for (String line : answer.split("\n")) {
            String[] words = line.split("\t");
            if (words[0].equals(way)) {
                return words[1];
            }
        }
        return null;
    }

    /** Returns each way of an answer with its kinds, joined by semicolons. */
    public static String heads(String answer) {
        StringBuilder heads = new StringBuilder();
        for (String line : answer.split("\n")) {
            if (!line.startsWith("\t")) {
                String[] words = line.split("\t");
                heads.append(heads.length() > 0 ? ";" : "").append(words[0]).append(' ').append(words[1]);
            }
        }
        return heads.toString();
    }

    /** Makes {@link #here} ask nothing, so that a case can have its callers compiled first. */
    public static void unarmed() {
        depth = 0;
    }

    /** Makes {@link #here} ask again. */
    public static void armed() {
        depth = DEEP;
    }

    /** Makes {@link #here} ask again, and limits a walk to this many frames. */
    public static void armed(int frames) {
        depth = frames;
    }

    /**
     * Requires frames of these methods in the witness of every question of this case. Each is
     * "Class.method" without packages, leaf first and in this order; other frames may come between.
     * `*` matches any text, for names that the JVM generates.
     */
    public static void truth(String... methods) {
        say("truth", String.join(" ", methods));
    }

    /** Requires a line of the JVM's output that matches: a compilation, a deoptimisation. */
    public static void needs(String regex) {
        say("needs", regex);
    }

    /** Reports that the trigger did not fire: the case proves nothing, and counts as failed. */
    public static void untriggered(String why) {
        say("untriggered", why);
    }

    /** Fails the trigger unless `fired` is true. */
    public static void trigger(boolean fired, String what) {
        if (!fired) {
            untriggered(what);
        }
    }

    /** Reports that this JVM cannot run the case. */
    public static void unfit(String why) {
        say("unfit", why);
    }

    /** Loads the agent with these options into this running JVM, which was started without it. */
    public static void attach(String options) throws IOException {
        say("attach", options);
        if (System.in.read() != '+') {
            untriggered("the agent could not be loaded");
        }
    }

    static void say(String what, String text) {
        byte[] line = ("LAB\t" + what + "\t" + text.replace("\n", "\u0001") + "\n").getBytes(StandardCharsets.UTF_8);
        try {
            ERR.write(line);
        } catch (IOException gone) {
            throw new IllegalStateException("stderr is closed", gone);
        }
    }

    /** Waits for a latch without the checked exception. */
    public static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
