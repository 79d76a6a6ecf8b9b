package dev.vouch;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A class of contexts: its fields, and the contexts of it that have a number in the agent.
 *
 * It lives as long as the class, and keeps no object of the class for longer. It must never keep
 * more objects than the agent has numbers. It must also not keep a class loader that could be
 * unloaded: neither the program's, nor its own, as each application may have its own copy of this
 * class.
 */
final class Kind {
    /** Kinds of classes that outlive this one. All other kinds live as long as their class. */
    private static final ConcurrentHashMap<Class<?>, Kind> OF_OLDER = new ConcurrentHashMap<>();
    /**
     * Classes of the JDK with objects that refer to nothing of the program. Enums count as well.
     */
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

    /** The scopes that this class loader's Vouch has created, by number. */
    private static volatile Scope[] scopes = new Scope[64];
    /** True once the agent has no numbers left. */
    private static volatile boolean full;

    private final int number;
    /** The fields that are read. Without fields, the context's {@code toString()} is read. */
    private final Field[] fields;
    /** True if contexts are compared by {@code equals}, false if by their texts. */
    private final boolean byEquals;
    private final ConcurrentHashMap<Object, Known> known = new ConcurrentHashMap<>();
    /** The numbers of the known contexts. */
    private final Set<Integer> numbers = ConcurrentHashMap.newKeySet();

    /** A context that has been entered before, inside any other context. */
    private static final class Known {
        /** The scope that was used last. It is usually the next one, too. */
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

    /** True if a class loader is this class's own or one of its parents. */
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
     * Returns the scope of this context inside another one; {@link Scope#NONE} if there are too
     * many.
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
        // If an unequal object has the same text, this one is not kept.
        if (numbers.add(made) || known.containsKey(key)) {
            Known met = known.computeIfAbsent(key, added -> new Known());
            met.byOuter.put(outer, scope);
            met.last = scope;
        }
        return scope;
    }

    /** True for a text that is too long to be kept whole. */
    private static boolean isLong(Object context) {
        return context instanceof String && ((String) context).length() > Fields.LONGEST;
    }

    /** Returns the only scope of this number. */
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

    /** True if this context is nested in another one at any depth. */
    static boolean isInside(int context, int other) {
        Scope[] all = scopes;
        while (context != 0 && context != other) {
            if (context >= all.length || all[context] == null) {
                // Another class loader's Vouch has created it.
                return Agent.inside(context, other) != 0;
            }
            context = all[context].outer;
        }
        return context != 0;
    }

    /** Returns the texts of a context, in the order of its fields. */
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
