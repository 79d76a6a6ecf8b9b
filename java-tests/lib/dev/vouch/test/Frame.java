package dev.vouch.test;

/** A frame of a profile: a function and a line. */
public final class Frame {
    /** `package.Class$Inner.method`, or words in brackets for a frame that is not a method. */
    public final String function;
    /** `package/Class.java`, or null. */
    public final String file;
    /** The line that ran; 0 if it is unknown. */
    public final int line;
    /** The function's first line; 0 if it is unknown. */
    public final int firstLine;
    /** The jar, folder or module that the function came from, or null. */
    public final String resource;
    /** Application, Library, JDK, Native, VM, No stack or Other. */
    public final String category;
    public final String subcategory;
    /** True for a Java method. */
    public final boolean java;

    Frame(String function, String file, int line, int firstLine, String resource, String category,
            String subcategory, boolean java) {
        this.function = function;
        this.file = file;
        this.line = line;
        this.firstLine = firstLine;
        this.resource = resource;
        this.category = category;
        this.subcategory = subcategory;
        this.java = java;
    }

    /** The fate of samples with this leaf. A subcategory may add more after a comma. */
    public String fate() {
        return subcategory.split(",")[0];
    }

    /**
     * True if samples with this leaf are proven or plausible. The inlined method on top may be a
     * guess, but its callers are not.
     */
    public boolean holds() {
        return fate().equals("proven") || fate().equals("plausible");
    }

    /** True for a frame of a refuted stack. Only its category differs from other frames. */
    public boolean isRefuted() {
        return category.equals("Refuted");
    }

    /** Checks the category of a frame that is not refuted. */
    public void checkCategory(String expected) {
        Check.that(category.equals(expected) || isRefuted(), "category of " + this + ": expected " + expected + ", came " + category);
    }

    @Override
    public String toString() {
        return function + "(" + file + ":" + line + ")";
    }
}
