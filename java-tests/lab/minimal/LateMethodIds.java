/*
 * A method without a method id has none in a walk
 *
 * The walk cannot create method ids, because it runs in a signal handler. So a profiler has to
 * create the ids of every class as soon as the class is prepared (GetClassMethods at the
 * ClassPrepare event). Every method that it misses has a null id in the walk. Here an option keeps
 * the agent from creating ids. GetStackTrace creates them during its own walk.
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
