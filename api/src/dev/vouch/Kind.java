package dev.vouch;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A class of contexts: what its objects say, and which of them the agent knows.
 *
 * It lives as long as the class, and keeps none of its objects for longer. It must never keep more
 * of them than the agent knows, nor a class loader that could go: neither the program's, nor its
 * own, of which there may be one in each of many applications.
 */
final class Kind {
    /** Kinds of classes that outlive this one; of all others, with the class. */
    private static final ConcurrentHashMap<Class<?>, Kind> OF_OLDER = new ConcurrentHashMap<>();
    /** Those of the JDK's whose objects refer to nobody, beside enums. */
    private static final List<Class<?>> PLAIN = Arrays.asList(
        String.class, Character.class, Boolean.class, Byte.class, Short.class, Integer.class, Long.class, Float.class, Double.class);
    private static final ClassValue<Kind> OF = new ClassValue<Kind>() {
        @Override
        protected Kind computeValue(Class<?> type) {
            return new Kind(type);
        }
    };

    private static final ClassLoader OWN = Kind.class.getClassLoader();
    private static final ClassLoader PARENT = OWN == null ? null : OWN.getParent();

    private static final Method IS_VIRTUAL = Fields.find(Thread.class, "isVirtual");

    /** By their numbers, those that this class loader's Vouch has made. */
    private static volatile Scope[] scopes = new Scope[64];
    /** The agent has told that there are too many. */
    private static volatile boolean full;

    private final int number;
    /** What is read of a context; none: its text. */
    private final Field[] fields;
    /** Two of them are one if they are equal; else, if they say the same. */
    private final boolean byEquals;
    private final ConcurrentHashMap<Object, Known> known = new ConcurrentHashMap<>();
    /** Of those. */
    private final Set<Integer> numbers = ConcurrentHashMap.newKeySet();

    /** A context that has been met, wherever that was. */
    private static final class Known {
        /** The last scope of it, which is mostly the next one, too. */
        private volatile Scope last;
        private final ConcurrentHashMap<Integer, Scope> byOuter = new ConcurrentHashMap<>(2);
    }

    private Kind(Class<?> type) {
        fields = Fields.of(type);
        boolean plain = type.getClassLoader() != null || PLAIN.contains(type) || type.isEnum();
        byEquals = plain && Fields.find(type, "equals", Object.class).getDeclaringClass() != Object.class;
        String[] keys = {"value"};
        String[] labels = keys;
        if (fields.length > 0) {
            keys = Arrays.stream(fields).map(Field::getName).toArray(String[]::new);
            labels = Arrays.stream(fields).map(Fields::label).toArray(String[]::new);
        }
        number = Agent.kind(type.getName(), Fields.label(type), keys, labels);
    }

    static Kind of(Object context) {
        Class<?> type = context instanceof Enum ? ((Enum<?>) context).getDeclaringClass() : context.getClass();
        Kind known = OF_OLDER.get(type);
        if (known != null) {
            return known;
        }
        return isOlder(type.getClassLoader()) ? OF_OLDER.computeIfAbsent(type, Kind::new) : OF.get(type);
    }

    /** True if a class loader is this class's own, or was there before. */
    private static boolean isOlder(ClassLoader loader) {
        if (loader == null || loader == OWN) {
            return true;
        }
        for (ClassLoader parent = PARENT; parent != null; parent = parent.getParent()) {
            if (parent == loader) {
                return true;
            }
        }
        return false;
    }

    /**
     * The scope of this context inside of another one; {@link Scope#NONE} if there are too many.
     */
    Scope scope(Object context, int outer) {
        Object key = byEquals && !isLong(context) ? context : Arrays.asList(values(context));
        Known met = known.get(key);
        if (met != null) {
            Scope last = met.last;
            if (last != null && last.outer == outer) {
                return last;
            }
            Scope scope = met.byOuter.get(outer);
            if (scope != null) {
                met.last = scope;
                return scope;
            }
        }
        return learn(context, key, outer);
    }

    private Scope learn(Object context, Object key, int outer) {
        int made = full || number == 0 ? 0 : Agent.context(outer, number, values(context));
        if (made <= 0) {
            full |= made == Agent.FULL;
            Agent.lost();
            return Scope.NONE;
        }
        Scope scope = numbered(made, outer);
        // Where another object says the same and is not its equal, this one is not kept.
        if (numbers.add(made) || known.containsKey(key)) {
            Known met = known.computeIfAbsent(key, added -> new Known());
            met.byOuter.put(outer, scope);
            met.last = scope;
        }
        return scope;
    }

    /** A text that is not kept whole. */
    private static boolean isLong(Object context) {
        return context instanceof String && ((String) context).length() > Fields.LONGEST;
    }

    /** The one scope of this number. */
    private static synchronized Scope numbered(int number, int outer) {
        Scope[] all = scopes;
        if (number >= all.length) {
            all = Arrays.copyOf(all, Math.max(number + 1, 2 * all.length));
        }
        if (all[number] == null) {
            all[number] = new Scope(number, outer);
        }
        scopes = all;
        return all[number];
    }

    /** True if this context lies somewhere inside of another one. */
    static boolean isInside(int context, int other) {
        Scope[] all = scopes;
        while (context != 0 && context != other) {
            if (context >= all.length || all[context] == null) {
                // It is of another class loader's Vouch.
                return Agent.inside(context, other) != 0;
            }
            context = all[context].outer;
        }
        return context != 0;
    }

    /** What a context says, in the order of its fields. */
    private String[] values(Object context) {
        if (fields.length == 0) {
            return new String[] {Fields.text(context)};
        }
        String[] values = new String[fields.length];
        for (int i = 0; i < values.length; i++) {
            try {
                values[i] = Fields.text(fields[i].get(context));
            } catch (IllegalAccessException closed) {
                throw new IllegalStateException(closed);
            }
        }
        return values;
    }

    static boolean isVirtual(Thread thread) {
        return Fields.answers(IS_VIRTUAL, thread);
    }
}
