/*
 * A plug-in uses its own class for contexts and is unloaded. Vouch must not keep its class loader
 * alive, and the profile must keep the contexts' names.
 *
 * @test
 * @summary a class of contexts can be unloaded, and its contexts keep their names
 * @key newest
 * @library /lib /api/src
 * @build dev.vouch.test.* dev.vouch.Vouch
 * @run main/timeout=200 Unloaded
 */

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.lang.reflect.Constructor;

import dev.vouch.Label;
import dev.vouch.Scope;
import dev.vouch.Vouch;
import dev.vouch.test.Burn;
import dev.vouch.test.Check;
import dev.vouch.test.Run;
import dev.vouch.test.Sample;
import dev.vouch.test.Vm;

public class Unloaded {
    public static void main(String[] args) {
        Run run = Vm.with("interval=1ms").run(Program.class).ok();
        long seen = 0;
        for (Sample sample : run.profile().samples()) {
            seen += "store".equals(sample.says("plugIn")) ? 1 : 0;
        }
        Check.that(seen > 0, "no sample of the plug-in's context");
    }

    public static class Job {
        @Label("plug-in")
        private final String plugIn;

        public Job(String plugIn) {
            this.plugIn = plugIn;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Job && ((Job) other).plugIn.equals(plugIn);
        }

        @Override
        public int hashCode() {
            return plugIn.hashCode();
        }
    }

    static class Program {
        public static void main(String[] args) throws Exception {
            WeakReference<ClassLoader> plugIn = plugIn();
            for (int i = 0; i < 50 && plugIn.get() != null; i++) {
                System.gc();
                Thread.sleep(100);
            }
            Check.that(plugIn.get() == null, "the plug-in's class loader is still there");
        }

        private static WeakReference<ClassLoader> plugIn() throws Exception {
            Own loader = new Own();
            Constructor<?> job = loader.loadClass("Unloaded$Job").getConstructor(String.class);
            try (Scope scope = Vouch.with(job.newInstance("store"))) {
                Burn.millis(50);
            }
            Check.that(job.getDeclaringClass() != Job.class, "the plug-in has its own class");
            return new WeakReference<>(loader);
        }
    }

    /** Defines its own copy of the job's class and delegates all other classes. */
    static final class Own extends ClassLoader {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("Unloaded$Job")) {
                return super.loadClass(name, resolve);
            }
            try (InputStream in = getResourceAsStream("Unloaded$Job.class")) {
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                for (int read = in.read(); read >= 0; read = in.read()) {
                    bytes.write(read);
                }
                return defineClass(name, bytes.toByteArray(), 0, bytes.size());
            } catch (IOException error) {
                throw new ClassNotFoundException(name, error);
            }
        }
    }
}
