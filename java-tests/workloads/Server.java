import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.logging.Level;
import java.util.logging.Logger;

import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/**
 * Tomcat and Jackson. Four clients post orders as JSON over persistent connections to a shop in the
 * same JVM. The shop binds the orders to objects, adds them up and answers in JSON. Each answer is
 * checked. Arguments: seconds, an output folder.
 */
public final class Server {
    private static final int CLIENTS = 4;
    private static final int REQUESTS = 50;
    private static final int PATIENCE_MS = 60_000;
    private static final ObjectMapper JSON = new ObjectMapper();
    /** Kept in a field, since otherwise the logger and its level would be collected. */
    private static final Logger LOGGER = Logger.getLogger("org.apache");

    /** Jackson binds JSON to this class. */
    public static final class Order {
        public String customer;
        public List<Item> items = new ArrayList<>();
    }

    public static final class Item {
        public String name;
        public int count;
        public long cents;
    }

    private static final class Shop extends HttpServlet {
        private static final long serialVersionUID = 1;

        @Override
        protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
            Order order = JSON.readValue(request.getInputStream(), Order.class);
            TreeMap<String, Long> totals = new TreeMap<>();
            order.items.forEach(item -> totals.merge(item.name, item.count * item.cents, Long::sum));
            ObjectNode answer = JSON.createObjectNode();
            answer.put("customer", order.customer);
            answer.put("total", totals.values().stream().mapToLong(Long::longValue).sum());
            ObjectNode lines = answer.putObject("lines");
            totals.forEach(lines::put);
            response.setContentType("application/json");
            JSON.writeValue(response.getOutputStream(), answer);
        }
    }

    private Server() {}

    public static void main(String[] args) throws Exception {
        LOGGER.setLevel(Level.SEVERE);
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(args[1]);
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "shop", new Shop()).addMapping("/orders");
        tomcat.getConnector();
        tomcat.start();
        URL url = new URL("http", "127.0.0.1", tomcat.getConnector().getLocalPort(), "/orders");
        Rounds.run(args[0], "Tomcat with " + CLIENTS * REQUESTS + " requests",
            () -> Rounds.together(CLIENTS, number -> {
                Random random = new Random(number);
                for (int i = 0; i < REQUESTS; i++) {
                    buy(url, random);
                }
            }));
    }

    private static void buy(URL url, Random random) throws IOException {
        Order order = new Order();
        order.customer = "Zoë \"" + random.nextInt() + "\"";
        long total = 0;
        for (int i = random.nextInt(200); i >= 0; i--) {
            Item item = new Item();
            item.name = "article " + random.nextInt(100);
            item.count = 1 + random.nextInt(9);
            item.cents = random.nextInt(100_000);
            total += item.count * item.cents;
            order.items.add(item);
        }
        JsonNode answer = post(url, order);
        Rounds.same(order.customer, answer.get("customer").textValue(), "the customer");
        Rounds.same(total, answer.get("total").longValue(), "the total");
        long sum = 0;
        for (JsonNode line : answer.get("lines")) {
            sum += line.longValue();
        }
        Rounds.same(total, sum, "the sum of the lines");
    }

    private static JsonNode post(URL url, Order order) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) url.openConnection();
        connection.setConnectTimeout(PATIENCE_MS);
        connection.setReadTimeout(PATIENCE_MS);
        connection.setDoOutput(true);
        connection.setRequestProperty("Content-Type", "application/json");
        try (OutputStream out = connection.getOutputStream()) {
            out.write(JSON.writeValueAsBytes(order));
        }
        Rounds.same(200, connection.getResponseCode(), "the code of the answer");
        try (InputStream in = connection.getInputStream()) {
            return JSON.readTree(in);
        }
    }
}
