package dev.vouch;

import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;

/**
 * What there is to know of a class whose objects tell the profiler something: its fields and what
 * they are called.
 *
 * What it cannot read it leaves out; who keeps what this gives must not outlive the class.
 */
final class Fields {
    /** Of a text so much is kept. */
    static final int LONGEST = 200;

    private static final Method IS_RECORD = find(Class.class, "isRecord");

    private Fields() {}

    /**
     * The fields to read: those of a record, or those that have a label; none if they cannot be
     * read.
     */
    static Field[] of(Class<?> type) {
        List<Field> fields = new ArrayList<>();
        boolean all = answers(IS_RECORD, type);
        for (Class<?> owner = type; owner != null && owner != Object.class; owner = owner.getSuperclass()) {
            for (Field field : owner.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && (all || field.isAnnotationPresent(Label.class))) {
                    fields.add(field);
                }
            }
        }
        Field[] found = fields.toArray(new Field[0]);
        try {
            AccessibleObject.setAccessible(found, true);
        } catch (RuntimeException closed) {
            return new Field[0];
        }
        return found;
    }

    static String label(Field field) {
        Label label = field.getAnnotation(Label.class);
        return label == null ? field.getName() : label.value();
    }

    /** What a class is called: its label, or its name without what it lies in. */
    static String label(Class<?> type) {
        if (type.isArray()) {
            return label(type.getComponentType()) + "[]";
        }
        Label label = type.getAnnotation(Label.class);
        String name = type.getName();
        return label != null ? label.value() : name.substring(Math.max(name.lastIndexOf('.'), name.lastIndexOf('$')) + 1);
    }

    /**
     * What an object says, as far as it is kept; half a letter, which is none, is shown as one that
     * is unknown.
     */
    static String text(Object value) {
        String text = String.valueOf(value);
        if (text.length() > LONGEST) {
            int end = Character.isHighSurrogate(text.charAt(LONGEST - 1)) ? LONGEST - 1 : LONGEST;
            text = text.substring(0, end) + "…";
        }
        StringBuilder mended = null;
        for (int at = 0; at < text.length(); at++) {
            if (!Character.isSurrogate(text.charAt(at))) {
                continue;
            }
            if (Character.isSupplementaryCodePoint(text.codePointAt(at))) {
                at++;
            } else {
                mended = mended == null ? new StringBuilder(text) : mended;
                mended.setCharAt(at, '\uFFFD');
            }
        }
        return mended == null ? text : mended.toString();
    }

    /** What a public method without parameters says, which some JDKs have not: then false. */
    static boolean answers(Method question, Object of) {
        try {
            return question != null && (Boolean) question.invoke(of);
        } catch (ReflectiveOperationException impossible) {
            return false;
        }
    }

    /** A public method; null on a JDK that has none of this name. */
    static Method find(Class<?> type, String name, Class<?>... parameters) {
        try {
            return type.getMethod(name, parameters);
        } catch (NoSuchMethodException absent) {
            return null;
        }
    }
}
