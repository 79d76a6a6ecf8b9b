/*
 * Compiles and runs the program of docs/markers.md as a reader would. Its profile must show what
 * the page says.
 *
 * @test
 * @summary the program of docs/markers.md works, and its profile has the documented markers
 * @key newest
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 DocsMarkers
 */

import java.io.IOException;
import java.util.List;

import dev.vouch.test.Check;
import dev.vouch.test.DocsProgram;
import dev.vouch.test.Mark;
import dev.vouch.test.Run;

public class DocsMarkers {
    public static void main(String[] args) throws IOException {
        DocsProgram.run("markers.md", "Uploads", DocsMarkers::check);
    }

    private static void check(Run run) {
        List<Mark> uploads = run.profile().marks("marker:Uploads$Upload");
        Check.equal(40, uploads.size(), "uploads");
        for (Mark upload : uploads) {
            double packed = upload.data.get("packed").getAsDouble();
            Check.that(packed > 0 && packed < 1, "packed to " + packed);
            Check.that(upload.number("size") % 200_000 == 0, "size " + upload.number("size"));
        }
        List<Mark> retries = run.profile().marks("marker:Uploads$Retry");
        Check.equal(8, retries.size(), "retries");
        for (Mark retry : retries) {
            Check.equal("Uploads.upload", retry.stack.leaf().function, "where one was told");
        }
    }
}
