/*
 * OpenJDK's own test of AsyncGetCallTrace, unmodified, can be run with our library in the place of its native one: it
 * loads an agent of that library's name, calls one native, and takes its word. Ours compares every field of both walks.
 * So it must say yes where they agree, and no where they do not.
 *
 * @test
 * @summary the library serves OpenJDK's own test under that test's name
 * @library /lib
 * @build dev.vouch.test.* MyPackage.ASGCTBaseTest
 * @run main OpenJdkTest
 */

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

import MyPackage.ASGCTBaseTest;

import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Vm;

public class OpenJdkTest {
    public static void main(String[] args) throws Exception {
        Path folder = Files.createDirectories(Paths.get("native").toAbsolutePath());
        Files.copy(Vm.agent(), folder.resolve("libAsyncGetCallTraceTest.so"));
        // As the test itself does it: an agent by its name, and no options.
        Check.equal(0, run(folder, "").exit, "exit code where walk and witness agree");
        Run broken = run(folder, "=lab,break=wrong_bci");
        Check.equal(9, broken.exit, "exit code where they do not");
        Check.contains(String.join(" ", broken.err), "wrong_bci", "what is said of it");
    }

    private static Run run(Path folder, String options) {
        return Vm.without().env("LD_LIBRARY_PATH", folder.toString())
            .flags("-agentlib:AsyncGetCallTraceTest" + options, "-Djava.library.path=" + folder).run(ASGCTBaseTest.class);
    }
}
