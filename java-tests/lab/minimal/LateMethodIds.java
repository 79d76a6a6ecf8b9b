/*
 * A method whose id nobody has made has none in a walk
 *
 * The walk cannot make method ids, since it runs in a signal handler. So a profiler has to make those of every class as
 * soon as it is prepared (GetClassMethods at the ClassPrepare event); whatever it misses is a null id. Here the agent is
 * told not to make them. GetStackTrace makes them as it goes.
 *
 * Seen in: LateIds.*
 * Shows: null_method on 8-
 * Agent: lab=late-ids
 */

import dev.vouch.Oracle;

public class LateMethodIds {
    public static void main(String[] args) {
        new Nobody().calls();
    }

    static class Nobody {
        void calls() {
            me();
        }

        void me() {
            System.out.println(Oracle.self(100));
        }
    }
}
