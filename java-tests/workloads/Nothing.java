/** A program that is over at once: what is left of a run is the JVM's start and its end. */
public final class Nothing {
    private Nothing() {}

    public static void main(String[] args) {
        System.out.println("nothing was done");
    }
}
