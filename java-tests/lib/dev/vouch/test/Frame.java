package dev.vouch.test;

/**
 * A function at a line, as the profile shows it.
 */
public final class Frame {
    /** `package.Class$Inner.method`, or words in brackets that stand for something else. */
    public final String function;
    /** `package/Class.java`, or null. */
    public final String file;
    /** The line that was running; 0 if none is known. */
    public final int line;
    /** Where the function begins; 0 if that is not known. */
    public final int firstLine;
    /** The jar, folder or module that the function came from, or null. */
    public final String resource;
    /** Application, Library, JDK, Native, VM, No stack or Other. */
    public final String category;
    public final String subcategory;
    /** A Java method, and not something that stands for one. */
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

    /** The fate of samples with this leaf; a subcategory may say more behind a comma. */
    public String fate() {
        return subcategory.split(",")[0];
    }

    /**
     * The samples with this leaf are proven or plausible. Which inlined method is on top may be a
     * guess, its callers are none.
     */
    public boolean holds() {
        return fate().equals("proven") || fate().equals("plausible");
    }

    /** A frame of a stack that stands apart: it has all that a frame has, but for its category. */
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
