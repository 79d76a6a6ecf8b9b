package dev.vouch.lab;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;

import dev.vouch.Oracle;

/**
 * What a case says, in the child JVM: where to ask, what must be so for its trigger to have fired.
 *
 * Every line that it writes is one write to stderr, so that it stays whole beside what the JVM prints itself. It must not
 * depend on anything that a scenario tests.
 */
public final class Ask {
    /** Deeper than any stack of an ordinary scenario. */
    public static final int DEEP = 1000;

    private static final FileOutputStream ERR = new FileOutputStream(FileDescriptor.err);
    private static int depth = DEEP;

    private Ask() {}

    /** Asks here and now about the calling thread; while {@link #unarmed}, it only goes through the motions. */
    public static void here() {
        String answer = Oracle.self(depth);
        if (answer != null) {
            say("answer", answer);
        }
    }

    /** Asks about another thread, where it stands. */
    public static void other(Thread thread) {
        say("answer", Oracle.other(thread, depth));
    }

    /** So many answers of these kinds at once, by this way, about other threads; an example of them, or null. */
    public static void tally(String way, String kinds, long count, String example) {
        say("tally", way + "\t" + kinds + "\t" + count);
        if (example != null) {
            say("answer", example);
        }
    }

    /** The kinds that an answer has for a way, joined by commas; null if it has not that way. */
    public static String kinds(String answer, String way) {
        for (String line : answer.split("\n")) {
            String[] words = line.split("\t");
            if (words[0].equals(way)) {
                return words[1];
            }
        }
        return null;
    }

    /** Of each way of an answer the way and its kinds, joined by semicolons. */
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

    /** From here on {@link #here} asks nothing: a case can have its callers compiled first. */
    public static void unarmed() {
        depth = 0;
    }

    /** From here on {@link #here} asks again. */
    public static void armed() {
        depth = DEEP;
    }

    /** From here on a walk has at most this many frames. */
    public static void armed(int frames) {
        depth = frames;
    }

    /**
     * The witness of every question of this case must have frames of these methods ("Class.method", without packages),
     * leaf first, in this order; others may lie between them. `*` is any text, for names that the JVM makes up.
     */
    public static void truth(String... methods) {
        say("truth", String.join(" ", methods));
    }

    /** The JVM's own output must have a line that this regular expression finds: a compilation, a deoptimisation. */
    public static void needs(String regex) {
        say("needs", regex);
    }

    /** The trigger has not fired: the case tells nothing, and is counted as failed. */
    public static void untriggered(String why) {
        say("untriggered", why);
    }

    /** Fails the trigger unless it holds. */
    public static void trigger(boolean fired, String what) {
        if (!fired) {
            untriggered(what);
        }
    }

    /** The case cannot be asked on this JVM. */
    public static void unfit(String why) {
        say("unfit", why);
    }

    /** Has the agent loaded into this running JVM, with these options; the JVM was started without it. */
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

    /** A latch's wait without the checked exception. */
    public static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
