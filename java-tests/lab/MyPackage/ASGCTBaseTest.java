package MyPackage;

/**
 * A stand-in for the class of this name in OpenJDK's test of AsyncGetCallTrace: it declares the native that the test calls
 * and fails if the answer is no. The real one is run by hand, as java-tests/README.md tells.
 */
public class ASGCTBaseTest {
    private static native boolean checkAsyncGetCallTraceCall();

    public static void main(String[] args) {
        System.loadLibrary("AsyncGetCallTraceTest");
        System.exit(checkAsyncGetCallTraceCall() ? 0 : 9);
    }
}
