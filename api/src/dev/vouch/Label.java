package dev.vouch;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Sets the name that the profile shows for a context, a marker, or one of their fields. */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.FIELD})
public @interface Label {
    /**
     * The name to show.
     *
     * @return the name
     */
    String value();

    /**
     * A description, in one sentence. Profiles show it for markers, not for contexts.
     *
     * @return the sentence, or an empty text
     */
    String description() default "";

    /**
     * The unit of a marker's field, if the field is a number.
     *
     * @return the unit
     */
    Unit unit() default Unit.NONE;
}
