package dev.vouch;

import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;

/**
 * The fields that Vouch reads from a context or a marker, and their labels.
 *
 * Fields that cannot be read are left out. A cache of these fields must not outlive their class.
 */
final class Fields {
    /** The longest text that is kept, in characters. */
    static final int LONGEST = 200;

    private static final Method IS_RECORD = find(Class.class, "isRecord");

    private Fields() {}

    /**
     * Returns the fields to read: all fields of a record, or those that have a label. Returns none
     * if they are not accessible.
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

    /** Returns the label of a class, or else its simple name. */
    static String label(Class<?> type) {
        if (type.isArray()) {
            return label(type.getComponentType()) + "[]";
        }
        Label label = type.getAnnotation(Label.class);
        String name = type.getName();
        return label != null ? label.value() : name.substring(Math.max(name.lastIndexOf('.'), name.lastIndexOf('$')) + 1);
    }

    /**
     * Returns the text of an object, cut to {@link #LONGEST}. Unpaired surrogates become U+FFFD.
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

    /** Calls a public method that returns a boolean; false on a JDK that lacks the method. */
    static boolean answers(Method question, Object of) {
        try {
            return question != null && (Boolean) question.invoke(of);
        } catch (ReflectiveOperationException impossible) {
            return false;
        }
    }

    /** Finds a public method; null on a JDK that has no method of this name. */
    static Method find(Class<?> type, String name, Class<?>... parameters) {
        try {
            return type.getMethod(name, parameters);
        } catch (NoSuchMethodException absent) {
            return null;
        }
    }
}
