package dev.vouch;

import java.lang.reflect.Field;
import java.util.Arrays;

/**
 * Passes the objects of a class to the agent as markers: their fields as numbers, fractions or
 * texts.
 *
 * Errors in the class must not reach the program; then there is no marker.
 */
final class MarkerClass {
    /**
     * How many fields a marker has at most; further fields are left out. The agent has the same
     * limit.
     */
    private static final int MOST = 8;

    // The shapes of values. The agent has the same constants.
    private static final int TEXT = 0;
    private static final int COUNT = 1;
    private static final int BYTES = 2;
    private static final int NANOSECONDS = 3;
    private static final int DECIMAL = 4;
    private static final int PERCENTAGE = 5;

    /**
     * True while the calling thread commits a marker. A {@code toString()} that commits markers
     * would otherwise never end.
     */
    private static final ThreadLocal<boolean[]> TELLING = ThreadLocal.withInitial(() -> new boolean[1]);

    private final Class<?> type;
    /**
     * The class's fields. They are read at the first marker, so that a program without the agent
     * pays nothing.
     */
    private volatile Known known;

    /** A class that has been registered with the agent. */
    private static final class Known {
        /** The fields that are read. Without fields, the object's {@code toString()} is read. */
        private final Field[] fields;
        private final int[] shapes;
        /** The number of fields that are texts. */
        private final int texts;
        /** The factor that turns each field into nanoseconds. */
        private final long[] times;
        /** The agent's number of the class; 0 if it has none. */
        private final int number;

        /** Creates the entry of a class without a number. */
        private Known() {
            fields = new Field[0];
            shapes = new int[0];
            times = new long[0];
            texts = 0;
            number = 0;
        }

        private Known(Class<?> type) {
            Field[] all = Fields.of(type);
            fields = all.length <= MOST ? all : Arrays.copyOf(all, MOST);
            shapes = new int[Math.max(1, fields.length)];
            times = new long[shapes.length];
            for (int at = 0; at < fields.length; at++) {
                Label label = fields[at].getAnnotation(Label.class);
                Unit unit = label == null ? Unit.NONE : label.unit();
                shapes[at] = shape(fields[at].getType(), unit);
                times[at] = unit.times;
            }
            texts = (int) Arrays.stream(shapes).filter(shape -> shape == TEXT).count();
            number = ask(type, fields, shapes);
        }
    }

    MarkerClass(Class<?> type) {
        this.type = type;
    }

    private static int shape(Class<?> type, Unit unit) {
        if (!type.isPrimitive() || type == boolean.class || type == char.class) {
            return TEXT;
        }
        if (unit == Unit.PERCENTAGE) {
            return PERCENTAGE;
        }
        if (unit.isTime()) {
            return NANOSECONDS;
        }
        if (type == float.class || type == double.class) {
            return DECIMAL;
        }
        return unit == Unit.BYTES ? BYTES : COUNT;
    }

    /** Commits a marker on the calling thread. */
    void commit(long began, long ended, Object what, boolean stack) {
        if (what == null || began == 0 || ended == 0) {
            return;
        }
        // Without the agent, the program's classes would not be called here, so their exceptions
        // are caught.
        try {
            boolean[] telling = TELLING.get();
            if (telling[0]) {
                return;
            }
            telling[0] = true;
            try {
                Known known = known();
                Agent.mark(known.number, began, ended, numbers(known, what), texts(known, what), stack);
            } finally {
                // An assignment needs no stack, so it cannot fail.
                telling[0] = false;
            }
        } catch (Throwable mistake) {
            // The marker is left out.
        }
    }

    private Known known() {
        Known known = this.known;
        if (known == null) {
            try {
                known = new Known(type);
            } catch (Throwable mistake) {
                // There is no second attempt.
                known = new Known();
            }
            this.known = known;
        }
        return known;
    }

    private static long[] numbers(Known known, Object what) throws IllegalAccessException {
        long[] numbers = new long[known.shapes.length];
        for (int at = 0; at < known.fields.length; at++) {
            Field field = known.fields[at];
            int shape = known.shapes[at];
            if (shape == DECIMAL || shape == PERCENTAGE) {
                numbers[at] = Double.doubleToLongBits(field.getDouble(what));
            } else if (shape == NANOSECONDS) {
                numbers[at] = nanoseconds(field, what, known.times[at]);
            } else if (shape != TEXT) {
                numbers[at] = field.getLong(what);
            }
        }
        return numbers;
    }

    private static String[] texts(Known known, Object what) throws IllegalAccessException {
        String[] texts = new String[known.texts];
        if (known.fields.length == 0 && texts.length > 0) {
            texts[0] = Fields.text(what);
        }
        int text = 0;
        for (int at = 0; at < known.fields.length; at++) {
            if (known.shapes[at] == TEXT) {
                texts[text++] = Fields.text(known.fields[at].get(what));
            }
        }
        return texts;
    }

    private static long nanoseconds(Field field, Object of, long times) throws IllegalAccessException {
        Class<?> type = field.getType();
        if (type == float.class || type == double.class) {
            return Math.round(field.getDouble(of) * times);
        }
        long value = field.getLong(of);
        // Values that would overflow are clamped.
        long most = Long.MAX_VALUE / times;
        return Math.max(-most, Math.min(value, most)) * times;
    }

    private static int ask(Class<?> type, Field[] fields, int[] shapes) {
        String[] keys = {"value"};
        String[] labels = keys;
        StringBuilder description = new StringBuilder();
        describe(description, "", type.getAnnotation(Label.class));
        if (fields.length > 0) {
            keys = new String[fields.length];
            labels = new String[fields.length];
            for (int at = 0; at < fields.length; at++) {
                keys[at] = fields[at].getName();
                labels[at] = Fields.label(fields[at]);
                describe(description, labels[at] + ": ", fields[at].getAnnotation(Label.class));
            }
        }
        return Agent.marker(type.getName(), Fields.label(type), description.toString(), keys, labels, shapes);
    }

    private static void describe(StringBuilder description, String of, Label label) {
        if (label != null && !label.description().isEmpty()) {
            description.append(description.length() == 0 ? "" : " ").append(of).append(label.description());
        }
    }
}
