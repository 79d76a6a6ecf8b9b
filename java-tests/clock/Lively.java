import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * For `cargo xtask page jfr-events`: causes most kinds of JFR events once. The catalogue's examples
 * come from this recording. The program's actions have no meaning beyond the events.
 */
public final class Lively {
    private static final Object LOCK = new Object();
    static volatile Object kept;

    private Lively() {}

    public static void main(String[] args) throws Exception {
        for (int round = 0; round < 3; round++) {
            locks();
            files();
            sockets();
            objects();
            failures();
            System.gc();
        }
        new ProcessBuilder("true").start().waitFor();
        if (args.length > 0) {
            virtualThreads();
        }
    }

    private static void locks() throws InterruptedException {
        Thread other = new Thread(() -> {
            synchronized (LOCK) {
                LockSupport.parkNanos(30_000_000);
                LOCK.notifyAll();
            }
        }, "other");
        other.start();
        synchronized (LOCK) {
            LOCK.wait(40);
        }
        other.join();
        Thread.sleep(25);
        // Locks an Integer on purpose: some JDKs emit an event for locks on value-based classes.
        Object number = args();
        synchronized (number) {
            kept = number;
        }
    }

    private static Object args() {
        return Integer.valueOf(1_000_000);
    }

    private static void files() throws Exception {
        try (FileOutputStream out = new FileOutputStream("lively.bin")) {
            out.write(new byte[1 << 20]);
            out.getChannel().force(true);
        }
        try (FileInputStream in = new FileInputStream("lively.bin")) {
            in.read(new byte[1 << 20]);
        }
        kept = ByteBuffer.allocateDirect(1 << 20);
    }

    private static void sockets() throws Exception {
        try (ServerSocket server = new ServerSocket(0); Socket client = new Socket("localhost", server.getLocalPort());
            Socket served = server.accept()) {
            served.getOutputStream().write(new byte[1_000]);
            client.getInputStream().read(new byte[1_000]);
        }
    }

    private static void objects() throws Exception {
        List<Object> all = new ArrayList<>();
        for (int i = 0; i < 2_000_000; i++) {
            all.add(new byte[10]);
            if (all.size() > 500_000) {
                all.clear();
            }
        }
        kept = new byte[8 << 20];
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new ObjectOutputStream(bytes).writeObject("text");
        kept = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
    }

    private static void failures() {
        for (int i = 0; i < 20_000; i++) {
            try {
                kept = Integer.parseInt(i % 100 == 0 ? "no number" : "7");
            } catch (NumberFormatException expected) {
                kept = expected;
            }
        }
        try {
            throw new AssertionError("on purpose");
        } catch (AssertionError expected) {
            kept = expected;
        }
    }

    /** Uses reflection, since old JDKs compile this file too. */
    private static void virtualThreads() throws Exception {
        Runnable held = () -> {
            synchronized (LOCK) {
                LockSupport.parkNanos(30_000_000);
            }
        };
        Thread thread = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, held);
        thread.join();
    }
}
