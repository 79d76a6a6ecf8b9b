package MyPackage;

/**
 * Replaces the class of this name in OpenJDK's test of AsyncGetCallTrace. It calls the native
 * method of that test and exits with 9 if the answer is no. java-tests/README.md says how to run
 * the real test by hand.
 */
public class ASGCTBaseTest {
    private static native boolean checkAsyncGetCallTraceCall();

    public static void main(String[] args) {
        System.loadLibrary("AsyncGetCallTraceTest");
        System.exit(checkAsyncGetCallTraceCall() ? 0 : 9);
    }
}
