import dev.vouch.Scope;
import dev.vouch.Vouch;
import java.util.Random;

/**
 * Eight parts of work, which the optimising compiler inlines into one method. Before each part the
 * program enters a context with the part's name. So every sample has the name of the part that its
 * thread was in.
 *
 * The name of a part is also that of its method, and the names of what that method calls begin with
 * it. A part calls nothing else, so a sample of a part with another part's method is wrong.
 *
 * Arguments: seconds, and how often the loop of a part goes round, on average. With 500 rounds a
 * part takes about a microsecond. With 8 rounds it is as short as the code that enters a context.
 */
public final class Parts {
    /** The parts. */
    enum Part {
        shifted, divided, counted, stored, chased, branched, checked, mixed
    }

    private static final int SIZE = 1 << 10;
    private static volatile int counter;
    private static volatile long result;

    private final Random random = new Random(7);
    private final int[] next = new int[SIZE];
    private final Object[] old = new Object[SIZE];
    private final Object[] shapes = new Object[SIZE];
    private final byte[] bytes = new byte[SIZE];

    private Parts() {
        random.nextBytes(bytes);
        for (int at = 0; at < SIZE; at++) {
            next[at] = (at * 37 + 11) % SIZE;
            shapes[at] = at % 3 == 0 ? new Square(at) : new Circle(at);
        }
    }

    public static void main(String[] arguments) {
        long end = System.nanoTime() + Integer.parseInt(arguments[0]) * 1_000_000_000L;
        int rounds = Integer.parseInt(arguments[1]);
        Parts parts = new Parts();
        while (System.nanoTime() < end) {
            for (int times = 0; times < 1_000; times++) {
                result += parts.turn(result, rounds / 2 + parts.random.nextInt(rounds));
            }
        }
    }

    private long turn(long seed, int times) {
        long state = seed;
        try (Scope part = Vouch.with(Part.shifted)) {
            state += shifted(state, times);
        }
        try (Scope part = Vouch.with(Part.divided)) {
            state += divided(state, times / 4);
        }
        try (Scope part = Vouch.with(Part.counted)) {
            state += counted(times / 4);
        }
        try (Scope part = Vouch.with(Part.stored)) {
            state += stored(state, times);
        }
        try (Scope part = Vouch.with(Part.chased)) {
            state += chased(state, times);
        }
        try (Scope part = Vouch.with(Part.branched)) {
            state += branched(state, times / 2);
        }
        try (Scope part = Vouch.with(Part.checked)) {
            state += checked(times);
        }
        try (Scope part = Vouch.with(Part.mixed)) {
            state += mixed(state, times);
        }
        return state;
    }

    private static long shifted(long seed, int times) {
        long state = seed;
        for (int at = 0; at < times; at++) {
            state ^= state << 13 ^ at;
            state ^= state >>> 7;
        }
        return state;
    }

    private static long divided(long seed, int times) {
        long sum = seed;
        for (int at = 1; at <= times; at++) {
            sum += (Long.MAX_VALUE - at) / (3 + (sum & 7));
        }
        return sum;
    }

    private static long counted(int times) {
        for (int at = 0; at < times; at++) {
            counter++;
        }
        return counter;
    }

    private long stored(long state, int times) {
        Object made = new int[] {(int) state};
        for (int at = 0; at < times; at++) {
            old[at * 31 & SIZE - 1] = made;
        }
        return old.length;
    }

    private long chased(long state, int times) {
        int place = (int) state & SIZE - 1;
        for (int at = 0; at < times; at++) {
            place = next[place];
        }
        return place;
    }

    private long branched(long state, int times) {
        int found = 0;
        int from = (int) state & 127;
        for (int at = from; at < from + times; at++) {
            found += branchedOn(bytes[at]);
        }
        return found;
    }

    private static int branchedOn(byte value) {
        if (value < 0) {
            return value < -64 ? value >> 1 : value * 3;
        }
        switch (value & 3) {
            case 0:
                return value > 90 ? 5 : 1;
            case 1:
                return value ^ 21;
            default:
                return value - 7;
        }
    }

    private long checked(int times) {
        long area = 0;
        for (int at = 0; at < times; at++) {
            area += checkedArea(shapes[at]);
        }
        return area;
    }

    private static long checkedArea(Object shape) {
        if (shape instanceof Square) {
            Square square = (Square) shape;
            return (long) square.side * square.side;
        }
        return ((Circle) shape).radius * 3L;
    }

    private static long mixed(long seed, int times) {
        long state = seed;
        for (int at = 0; at < times; at++) {
            state = mixedOnce(state, at);
        }
        return state;
    }

    private static long mixedOnce(long state, int at) {
        long product = state * 0x9E3779B97F4A7C15L + at;
        return product ^ product >>> 32;
    }

    private static final class Square {
        final int side;

        Square(int side) {
            this.side = side;
        }
    }

    private static final class Circle {
        final int radius;

        Circle(int radius) {
            this.radius = radius;
        }
    }
}
