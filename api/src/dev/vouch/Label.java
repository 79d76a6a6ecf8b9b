package dev.vouch;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** What a context, a marker, or one of its fields, is called by those who read the profile. */
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
     * What it tells, in a sentence. Markers show it; contexts do not.
     *
     * @return the sentence, or an empty one
     */
    String description() default "";

    /**
     * In what a marker's field is counted, if that is a number.
     *
     * @return the unit
     */
    Unit unit() default Unit.NONE;
}
