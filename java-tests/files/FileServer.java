import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;

import dev.vouch.Label;
import dev.vouch.Marker;
import dev.vouch.Scope;
import dev.vouch.Task;
import dev.vouch.Unit;
import dev.vouch.Vouch;

/**
 * The program of scripts/file-server: a file server on the loopback interface, and three users who
 * store, fetch and search files.
 *
 * It reports to Vouch a context for each request, a group of tasks for each action, and a marker
 * for each stored file. Larry stores more than he searches, moe searches, and curly has the largest
 * files. It needs Java 8, no library but Vouch's, and no input.
 */
public class FileServer {
    private static final long END = System.nanoTime() + Long.getLong("demo.seconds", 5) * 1_000_000_000L;
    private static final Marker<Stored> STORED = Vouch.marker(Stored.class);
    private static final Map<String, byte[]> PACKED = new ConcurrentHashMap<>();

    /** Names the user, the action and the file of a request. */
    static final class Request {
        @Label("user") final String user;
        @Label("action") final String action;
        @Label("file") final String file;

        Request(String user, String action, String file) {
            this.user = user;
            this.action = action;
            this.file = file;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Request && toString().equals(other.toString());
        }

        @Override
        public int hashCode() {
            return toString().hashCode();
        }

        @Override
        public String toString() {
            return user + ' ' + action + ' ' + file;
        }
    }

    @Label(value = "Stored", description = "A file was packed and is kept.")
    static final class Stored {
        @Label("File") final String file;
        @Label(value = "Size", unit = Unit.BYTES) final long size;
        @Label(value = "Packed", unit = Unit.BYTES) final long packed;

        Stored(String file, long size, long packed) {
            this.file = file;
            this.size = size;
            this.packed = packed;
        }
    }

    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        ExecutorService workers = Executors.newFixedThreadPool(2);
        server.setExecutor(workers);
        server.createContext("/", FileServer::serve);
        server.start();
        List<User> users = new ArrayList<>();
        users.add(new User("larry", server.getAddress(), 100_000, 6));
        users.add(new User("moe", server.getAddress(), 100_000, 2));
        users.add(new User("curly", server.getAddress(), 300_000, 4));
        for (User user : users) {
            user.start();
        }
        long requests = 0;
        for (User user : users) {
            user.join();
            requests += user.requests;
        }
        server.stop(0);
        workers.shutdown();
        System.out.println("the file server has ended: " + requests + " requests");
    }

    private static void serve(HttpExchange exchange) throws IOException {
        String[] path = exchange.getRequestURI().getPath().split("/");
        Request request = new Request(path[1], path[2], path[3]);
        byte[] answer;
        try (Scope scope = Vouch.with(request); Task task = Vouch.group(request.action).enter()) {
            byte[] body = read(exchange.getRequestBody());
            answer = act(request, body);
        }
        exchange.sendResponseHeaders(200, answer.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(answer);
        }
    }

    private static byte[] act(Request request, byte[] body) {
        String name = request.user + '/' + request.file;
        switch (request.action) {
            case "store":
                return store(name, body);
            case "fetch":
                return fetch(name);
            default:
                return search(name);
        }
    }

    static byte[] store(String name, byte[] file) {
        long began = STORED.begin();
        Deflater deflater = new Deflater(Deflater.BEST_COMPRESSION);
        deflater.setInput(file);
        deflater.finish();
        byte[] packed = new byte[file.length + 100];
        int length = deflater.deflate(packed);
        deflater.end();
        PACKED.put(name, Arrays.copyOf(packed, length));
        STORED.commit(began, new Stored(name, file.length, length));
        return new byte[0];
    }

    static byte[] fetch(String name) {
        return unpack(name);
    }

    static byte[] search(String name) {
        int found = 0;
        byte[] file = unpack(name);
        for (int at = 0; at < file.length; at++) {
            int same = 0;
            while (same < 16 && at + same < file.length && file[at + same] == file[same]) {
                same++;
            }
            found += same > 2 ? 1 : 0;
        }
        return Integer.toString(found).getBytes();
    }

    private static byte[] unpack(String name) {
        byte[] packed = PACKED.getOrDefault(name, new byte[0]);
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        Inflater inflater = new Inflater();
        inflater.setInput(packed);
        byte[] part = new byte[8192];
        try {
            while (packed.length > 0 && !inflater.finished()) {
                file.write(part, 0, inflater.inflate(part));
            }
        } catch (DataFormatException impossible) {
            throw new IllegalStateException(impossible);
        } finally {
            inflater.end();
        }
        return file.toByteArray();
    }

    private static byte[] read(InputStream in) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        byte[] part = new byte[8192];
        for (int length; (length = in.read(part)) >= 0; ) {
            all.write(part, 0, length);
        }
        return all.toByteArray();
    }

    /** A user with some files: of ten requests, `stores` are to store one. */
    private static final class User extends Thread {
        private static final int FILES = 4;
        private final InetSocketAddress server;
        private final int size;
        private final int stores;
        private final Random random = new Random(1);
        long requests;

        User(String name, InetSocketAddress server, int size, int stores) {
            super(name);
            this.server = server;
            this.size = size;
            this.stores = stores;
        }

        @Override
        public void run() {
            try {
                for (int n = 0; n < FILES; n++) {
                    ask("store", n);
                }
                while (System.nanoTime() < END) {
                    boolean store = random.nextInt(10) < stores;
                    ask(store ? "store" : random.nextBoolean() ? "fetch" : "search", random.nextInt(FILES));
                }
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }

        private void ask(String action, int number) throws IOException {
            String path = "/" + getName() + "/" + action + "/photo-" + number;
            URL url = new URL("http", server.getAddress().getHostAddress(), server.getPort(), path);
            HttpURLConnection connection = (HttpURLConnection) url.openConnection();
            if (action.equals("store")) {
                byte[] file = new byte[size];
                for (int at = 0; at < size; at++) {
                    file[at] = (byte) (random.nextInt(1 + at % 7) + at / 1000);
                }
                connection.setDoOutput(true);
                connection.getOutputStream().write(file);
            }
            read(connection.getInputStream());
            requests++;
        }
    }
}
