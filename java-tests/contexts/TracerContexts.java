/*
 * A tracer publishes its traces in OpenTelemetry's thread context record (OTEP 4947). The record is
 * a thread-local variable of a native library, in both ways in which a linker can lay it out. Each
 * trace has its own method, so the stack shows the true trace. A sample must not have another
 * trace, a half-written one, or one that has ended.
 *
 * @test
 * @summary each sample is in the trace that a tracer publishes for its thread
 * @key newest
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=300 TracerContexts
 */

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import dev.vouch.Trace;
import dev.vouch.Vouch;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.FixedWork;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Skip;
import dev.vouch.test.Vm;

public class TracerContexts {
    /**
     * The record is so long that no page ends in it: the reader may read a word further than what
     * it needs.
     */
    private static final String[] LIBRARY = {
        "#include <stdint.h>",
        "struct record { uint8_t trace[16], span[8], valid, reserved; uint16_t length; uint8_t data[36]; };",
        "__attribute__((visibility(\"default\"))) __thread struct record *volatile otel_thread_ctx_v1;",
        "static __thread struct record own;",
        "static void big(volatile uint8_t *to, int64_t number) { for (int n = 0; n < 8; n++) to[n] = (uint64_t) number >> (56 - 8 * n); }",
        "void Java_TracerContexts_00024Tracer_enter(void *env, void *type, int64_t high, int64_t low, int64_t span) {",
        "  volatile struct record *record = &own;",
        "  record->valid = 0; big(record->trace, high); big(record->trace + 8, low); big(record->span, span); record->valid = 1;",
        "  otel_thread_ctx_v1 = &own;",
        "}",
        "void Java_TracerContexts_00024Tracer_leave(void *env, void *type) { ((volatile struct record *) &own)->valid = 0; }",
        "void Java_TracerContexts_00024Tracer_detach(void *env, void *type) { otel_thread_ctx_v1 = 0; }",
    };

    public static void main(String[] args) throws Exception {
        boolean isX86 = System.getProperty("os.arch").equals("amd64");
        published("fixed", isX86 ? "-mtls-dialect=gnu2" : "-mtls-dialect=desc");
        published("made when it is used", isX86 ? "-mtls-dialect=gnu" : "-mtls-dialect=trad");
    }

    private static void published(String how, String dialect) throws Exception {
        Path library = library(dialect);
        Run run = Vm.with("interval=1ms").run(Tracer.class, library.toString()).ok();
        Map<String, Long> seen = new HashMap<>();
        for (String thread : new String[] {"before", "after"}) {
            judge(how + ", " + thread, run.profile().track(thread).samples, seen);
        }
        Check.equal(5, seen.size(), how + ": kinds of work with samples: " + seen);
        // Two threads do this work, and most of it is in these two traces. Signals may come only at
        // the kernel's ticks.
        Check.atLeast(run.report().signalsIn(2 * Tracer.MILLIS) / 4, seen.get("cart") + seen.get("pay"), how + ": samples in a trace of " + seen);
    }

    private static void judge(String how, List<Sample> samples, Map<String, Long> seen) {
        // The agent finds the library some time after its load; earlier samples have no trace.
        boolean isMet = false;
        for (Sample sample : samples) {
            String trace = sample.says("trace_id");
            isMet |= trace != null && trace.startsWith(Tracer.id(5));
            for (String work : new String[] {"cart", "pay", "nobody", "detached", "own"}) {
                long number = Arrays.asList("cart", "pay").indexOf(work) + 1;
                if (sample.leaf().isRefuted() || !sample.has("TracerContexts$Tracer." + work) || trace == null && number > 0 && !isMet) {
                    continue;
                }
                String expected = work.equals("own") ? Tracer.id(7) + Tracer.id(9) : number == 0 ? null : Tracer.id(5) + Tracer.id(number);
                Check.equal(expected, trace, how + ": trace of " + sample);
                Check.equal(expected == null ? null : expected.substring(16), sample.says("span_id"), how + ": span of " + sample);
                seen.merge(work, 1L, Long::sum);
            }
        }
        Check.that(isMet, how + ": no sample is in a published trace");
    }

    private static Path library(String dialect) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory(Paths.get("."), "library").toAbsolutePath();
        Path source = folder.resolve("tracer.c");
        Path library = folder.resolve("libtracer.so");
        Files.write(source, Arrays.asList(LIBRARY));
        List<String> command = new ArrayList<>(Arrays.asList("cc", "-shared", "-fPIC", "-O1", dialect));
        command.addAll(Arrays.asList("-o", library.toString(), source.toString()));
        Process compiler;
        try {
            compiler = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException none) {
            Skip.unless(false, "there is no C compiler: " + none.getMessage());
            return null;
        }
        Check.that(compiler.waitFor(1, TimeUnit.MINUTES) && compiler.exitValue() == 0, "the library cannot be built: " + command);
        return library;
    }

    static class Tracer {
        private static final long MILLIS = 400;

        static native void enter(long high, long low, long span);

        static native void leave();

        static native void detach();

        static String id(long number) {
            return String.format("%016x", number);
        }

        public static void main(String[] args) throws Exception {
            // One thread starts before the library is loaded, and one after it.
            Thread before = new Thread(Tracer::serve, "before");
            synchronized (Tracer.class) {
                before.start();
                System.load(args[0]);
            }
            Thread after = new Thread(Tracer::serve, "after");
            after.start();
            before.join();
            after.join();
        }

        private static void serve() {
            synchronized (Tracer.class) {
                Burn.sink = 0;
            }
            for (FixedWork fixedWork = new FixedWork(MILLIS); fixedWork.isOn();) {
                enter(5, 1, 1);
                cart();
                // Changes from one trace to the next without a pause.
                enter(5, 2, 2);
                pay();
                leave();
                nobody();
                enter(5, 1, 1);
                try (Trace trace = Vouch.trace(7, 9, 9)) {
                    own();
                }
                detach();
                detached();
            }
        }

        private static void cart() {
            Burn.sink += Burn.work(300_000);
        }

        private static void pay() {
            Burn.sink += Burn.work(300_001);
        }

        private static void nobody() {
            Burn.sink += Burn.work(100_000);
        }

        private static void detached() {
            Burn.sink += Burn.work(100_001);
        }

        private static void own() {
            Burn.sink += Burn.work(100_002);
        }
    }
}
