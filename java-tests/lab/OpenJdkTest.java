/*
 * OpenJDK's own test of AsyncGetCallTrace can run unmodified with Vouch's library instead of its
 * native one. It loads an agent of that library's name, calls one native method, and trusts its
 * answer. Vouch compares every field of both walks. It must say yes if the walks agree, and no if
 * they differ.
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
        Files.copy(Vm.labAgent(), folder.resolve("libAsyncGetCallTraceTest.so"));
        // The OpenJDK test itself loads an agent by its name without options.
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
