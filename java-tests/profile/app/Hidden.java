package app;

/** A class that is also defined as a hidden class, which no other class can name. */
public class Hidden implements Runnable {
    @Override
    public void run() {
        // begin Hidden.run
        Program.burn(Program.HIDDEN_MS);
        // end Hidden.run
    }
}
