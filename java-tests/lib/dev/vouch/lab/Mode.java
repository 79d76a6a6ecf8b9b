package dev.vouch.lab;

/**
 * How the JVM runs the scenarios' code. In each mode, compilation is synchronous, so that the
 * compiled methods depend on the program alone.
 */
public enum Mode {
    MIXED("-XX:-BackgroundCompilation"),
    XINT("-Xint"),
    XCOMP("-Xcomp"),
    C1("-XX:-BackgroundCompilation", "-XX:TieredStopAtLevel=1"),
    HIDDEN("-XX:-BackgroundCompilation", "-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames");

    final String[] flags;

    Mode(String... flags) {
        this.flags = flags;
    }

    /** Returns the mode's name in the expectations and in the table. */
    public String word() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }

    /** True if the JVM compiles hot methods, or all methods. */
    public boolean compiles() {
        return this != XINT;
    }
}
