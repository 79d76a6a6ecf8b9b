package dev.vouch.lab;

/**
 * How the JVM runs the scenarios' code. In each of them compilation is done before the call goes on, so that what is
 * compiled depends on the program alone.
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

    /** The mode's name in the expectations and in the table. */
    public String word() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }

    /** True if the JVM compiles what runs often, or all. */
    public boolean compiles() {
        return this != XINT;
    }
}
