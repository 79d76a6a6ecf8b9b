/*
 * Ordinary calls: static, virtual, interface and constructor, with a native method in between. Walk
 * and witness must agree on all of them.
 *
 * @test
 * @summary plain calls, walked and witnessed
 * @library /lib
 * @build dev.vouch.test.* dev.vouch.lab.* dev.vouch.Oracle
 * @run main Direct
 */

import dev.vouch.lab.Ask;
import dev.vouch.lab.Lab;
import dev.vouch.lab.Scenario;

public class Direct extends Scenario {
    public static void main(String[] args) throws Throwable {
        Lab.main(new Direct(), args);
    }

    @Override
    protected String[] cases() {
        return new String[] {"static", "interface", "constructor", "other-thread"};
    }

    @Override
    protected void run(String name) throws Throwable {
        switch (name) {
            case "static":
                Ask.truth("Ask.here", "Direct.second", "Direct.first", "Direct.run", "Direct.main");
                first();
                break;
            case "interface":
                Ask.truth("Ask.here", "Direct$Asker.run", "Direct.run", "Direct.main");
                Runnable asker = new Asker();
                asker.run();
                break;
            case "constructor":
                Ask.truth("Ask.here", "Direct$Made.<init>", "Direct.run", "Direct.main");
                new Made();
                break;
            case "other-thread":
                Ask.truth("Ask.here", "Direct$Asker.run", "Thread.run");
                Thread thread = new Thread(new Asker());
                thread.start();
                thread.join();
                break;
            default:
                throw new AssertionError(name);
        }
    }

    private static void first() {
        second();
    }

    private static void second() {
        Ask.here();
    }

    private static final class Asker implements Runnable {
        @Override
        public void run() {
            Ask.here();
        }
    }

    private static final class Made {
        Made() {
            Ask.here();
        }
    }
}
